package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mockserver/config"

	"mockserver/internal/harness"
	"mockserver/internal/harness/volume"
)

// benched runs the command to its end and returns its exit code and both outputs.
func benched(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	p := Launch(t, nil, append([]string{"bench"}, args...)...)
	select {
	case <-p.Exited:
	case <-time.After(6 * harness.Patience): // with the race detector on a busy machine
		t.Fatal("bench does not exit")
	}
	p.Mu.Lock()
	defer p.Mu.Unlock()
	return p.Cmd.ProcessState.ExitCode(), p.Stdout.String(), p.Stderr.String()
}

// benchRound contains the sides of a round by their names.
type benchRound struct {
	Sides map[string]struct{ Requests int }
}

// benchResult contains the fields of the JSON form that these tests read.
type benchResult struct {
	Complete bool
	Results  []struct {
		Name, Void string
		Rounds     []benchRound
	}
	NotMeasured []struct{ Endpoint, Why string } `json:"not_measured"`
}

func readBench(t *testing.T, file string) benchResult {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r benchResult
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return r
}

func TestBench_RefusesBadArguments(t *testing.T) {
	NeedsProcess(t)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--rte", "5"}, 2, "--rte: no such flag (did you mean --rate?)"},
		{[]string{"--scenario", "statik"}, 2, `did you mean "static"?`},
		{[]string{"-c", "missing.yml"}, 1, "missing.yml"},
		{[]string{"--target", "http://127.0.0.1:1"}, 2, "--target: no such flag"},
		{[]string{"--scenario", "static", "--", "--prot", "7"}, 1, "did you mean --port?"},
	} {
		code, stdout, stderr := benched(t, c.args...)
		if code != c.code || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("bench %q: exit %d\n%s%s\nwant exit %d and %q", c.args, code, stdout, stderr, c.code, c.want)
		}
	}
	if code, _, stderr := Refused(t, nil, "-c", "a.yml", "bench"); code != 2 || !strings.Contains(stderr, "bench comes before its flags") {
		t.Errorf("bench after a flag: exit %d, %s", code, stderr)
	}
}

func TestBench_MeasuresEveryScenario(t *testing.T) {
	volume.Only(t)
	NeedsProcess(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "r.json")
	code, stdout, stderr := benched(t, "--rounds", "1", "--duration", "200ms", "--connections", "4", "--json", file)
	if code != 0 {
		t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
	}
	got := readBench(t, file)
	if !got.Complete || len(got.Results) != 11 {
		t.Fatalf("complete %v, %d results:\n%s", got.Complete, len(got.Results), stdout)
	}
	baseline, candidate := 0, 0 // on a busy machine, one of the two may have answered no request
	for _, r := range got.Results {
		if r.Void != "" || len(r.Rounds) != 1 {
			t.Fatalf("%s: void %q, %d rounds", r.Name, r.Void, len(r.Rounds))
		}
		baseline, candidate = baseline+r.Rounds[0].Sides["bare"].Requests, candidate+r.Rounds[0].Sides["server"].Requests
		if !strings.Contains(stdout, "\n"+r.Name+" ") {
			t.Errorf("the table has no row for %s:\n%s", r.Name, stdout)
		}
	}
	if baseline == 0 || candidate == 0 {
		t.Errorf("%d requests were answered by the baseline, %d by the server", baseline, candidate)
	}
}

func TestBench_FindsWrongResponses(t *testing.T) {
	NeedsProcess(t)
	file := harness.WriteFile(t, t.TempDir(), "rival.yml", `
- endpoint: {path: /*rest, response: {body: from the rival}}
- endpoint: {path: /users/user-7, response: {status: 418, body: not here}}
`)
	rival := "rival=exec " + Program(t) + " " + file + " --host 127.0.0.1 --port {port}"
	code, stdout, stderr := benched(t, "--rival", rival, "--scenario", "path", "--rounds", "1", "--duration", "50ms")
	for _, want := range []string{"wrong answer to GET /users/user-7", "expected: status 200", "got:      status 418", "not here"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("standard error lacks %q:\n%s", want, stderr)
		}
	}
	if code != 1 || stdout != "" {
		t.Errorf("exit %d with a result:\n%s", code, stdout)
	}
}

// withTemporary runs bench with its own directory for temporary files. The name of the directory
// appears in the arguments of the processes that bench starts.
func withTemporary(t *testing.T) (p *Process, dir string) {
	t.Helper()
	dir = t.TempDir()
	p = Launch(t, []string{"TMPDIR=" + dir}, "bench", "--scenario", "static,path", "--rounds", "1000", "--duration", "1m")
	p.WaitLine(0, "static:")
	if runtime.GOOS == "linux" {
		harness.Until(t, "server and baseline run", func() bool { return len(processesOf(t, dir)) == 2 })
	}
	return p, dir
}

// processesOf returns the files /proc/PID/cmdline of the processes whose arguments contain a text.
// It works only on Linux.
func processesOf(t *testing.T, text string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(files, func(file string) bool {
		line, err := os.ReadFile(file) // the process may have exited
		return err != nil || !bytes.Contains(line, []byte(text))
	})
}

func TestBench_StopsCleanly(t *testing.T) {
	NeedsProcess(t)
	for _, c := range []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGINT, 130}, {syscall.SIGTERM, 143}} {
		p, dir := withTemporary(t)
		p.Signal(c.signal)
		if code := p.Exit(); code != c.code {
			t.Errorf("%v: exit %d; want %d", c.signal, code, c.code)
		}
		if left := processesOf(t, dir); len(left) > 0 {
			t.Errorf("%v: processes are left: %v", c.signal, left)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%v: files are left: %v, %v", c.signal, left, err)
		}
		if !containsAll(p.Stderr.String(), []string{"incomplete"}) {
			t.Errorf("%v: the output does not say that it is incomplete: %s", c.signal, p.Stderr.String())
		}
	}
}

func TestBench_LeavesNoProcessWhenKilled(t *testing.T) {
	NeedsProcess(t)
	if runtime.GOOS != "linux" {
		t.Skip("processes are looked for in /proc")
	}
	p, dir := withTemporary(t)
	if err := p.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	harness.Until(t, "the processes that it started exit", func() bool { return len(processesOf(t, dir)) == 0 })
}

// If the server dies under load, the error contains the last lines of its log.
func TestBench_TellsOfServerThatDies(t *testing.T) {
	NeedsProcess(t)
	if runtime.GOOS != "linux" {
		t.Skip("processes are looked for in /proc")
	}
	p, dir := withTemporary(t)
	for _, file := range processesOf(t, dir) {
		line, err := os.ReadFile(file)
		var pid int
		if _, scanned := fmt.Sscanf(file, "/proc/%d/", &pid); err != nil || scanned != nil {
			t.Fatal(file, err, scanned)
		}
		if bytes.Contains(line, []byte("\x00serve\x00")) {
			victim, err := os.FindProcess(pid)
			if err == nil {
				err = victim.Kill()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if code := p.Exit(); code != 1 || !containsAll(p.Stderr.String(), []string{"the server exited unexpectedly", "killed", "listening"}) {
		t.Errorf("exit %d\n%s", code, p.Stderr.String())
	}
}

func TestBench_MeasuresConfiguration(t *testing.T) {
	NeedsProcess(t)
	var called atomic.Int64
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called.Add(1) }))
	defer target.Close()
	dir := t.TempDir()
	file := harness.WriteFile(t, dir, "api.yml", `
- endpoint: {path: "/users/:id|int", response: {body: "{{path-params.id}}"}}
- endpoint:
    method: POST
    path: /orders
    if: json-params.amount > 100
    response: {status: 201}
    webhook: {method: POST, url: "`+target.URL+`", sleep-time: 0}
- endpoint: {method: POST, path: /orders, response: {status: 422}}
- endpoint: {path: /odd, if: remote-addr = 127.0.0.1 and query-params.key|base64 = "aGk=", response: {status: 202}}
- endpoint: {path: /gone, response: {external-body: {provider: json, path: "http://127.0.0.1:1/x"}}}
- websocket: {path: /chat}
`)
	result := filepath.Join(dir, "r.json")
	args := []string{"-c", file, "--rounds", "1", "--duration", "50ms", "--json", result}
	code, stdout, stderr := benched(t, args...)
	if code != 0 {
		t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
	}
	got := readBench(t, result)
	var names, without []string
	for _, r := range got.Results {
		names = append(names, r.Name)
	}
	for _, u := range got.NotMeasured {
		without = append(without, u.Endpoint)
	}
	if want := []string{"GET /users/:id|int", "POST /orders"}; !slices.Equal(names, want) {
		t.Errorf("measured %q\nwant     %q", names, want)
	}
	for i, want := range []struct{ endpoint, why string }{
		{"POST /orders if json-params.amount > 100", "its answer to the request made from its declaration, POST /orders, is not the declared one: status 422"},
		{"GET /odd if", "status 404"},
		{"GET /gone", "502"},
		{"WebSocket /chat", "not WebSockets"},
	} {
		if len(without) != 4 || !strings.HasPrefix(without[i], want.endpoint) || !strings.Contains(got.NotMeasured[i].Why, want.why) {
			t.Fatalf("not measured: %+v", got.NotMeasured)
		}
	}
	if n := called.Load(); n != 0 {
		t.Errorf("%d webhooks were sent to the real target", n)
	}
}

// Every endpoint of an example is measured or listed.
func TestBench_ExamplesAreMeasured(t *testing.T) {
	volume.Only(t)
	NeedsProcess(t)
	for _, name := range []string{"basic.yml", "tasks.yml"} {
		file := File("examples", name)
		result := filepath.Join(t.TempDir(), "r.json")
		code, stdout, stderr := benched(t, "-c", file, "--rounds", "1", "--duration", "10ms", "--connections", "4", "--json", result)
		got := readBench(t, result)
		if want := len(config.Load(file).Endpoints); code != 0 || len(got.Results)+len(got.NotMeasured) != want {
			t.Errorf("%s: exit %d; %d measured and %d listed of %d\n%s%s", name, code, len(got.Results), len(got.NotMeasured), want, stdout, stderr)
		}
		for _, u := range got.NotMeasured {
			if !strings.Contains(u.Why, "the request made from its declaration") {
				t.Errorf("%s: %+v", name, u)
			}
		}
	}
}

// Rivals are loaded at the same time as the others, and exit with bench, however bench exits.
func TestBench_Rivals(t *testing.T) {
	volume.Only(t)
	NeedsProcess(t)
	if runtime.GOOS != "linux" {
		t.Skip("rivals are compared by their CPU time")
	}
	dir := t.TempDir()
	file := harness.WriteFile(t, dir, "rival.yml", "- endpoint: {path: '/*rest', response: {body: from the rival}}\n")
	rival := "rival=exec " + Program(t) + " -m " + file + " --host 127.0.0.1 --port {port}"
	args := []string{"--scenario", "static", "--rounds", "2", "--duration", "100ms", "--connections", "4"}
	result := filepath.Join(dir, "r.json")
	code, stdout, stderr := benched(t, append(args, "--rival", rival, "--json", result)...)
	if code != 0 {
		t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
	}
	var got struct {
		Results []struct {
			Rounds []benchRound
		}
	}
	text, err := os.ReadFile(result)
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	if err != nil || len(got.Results) != 1 || len(got.Results[0].Rounds) != 2 {
		t.Fatalf("%v: %s", err, text)
	}
	for _, r := range got.Results[0].Rounds {
		if r.Sides["bare"].Requests == 0 || r.Sides["server"].Requests == 0 || r.Sides["rival"].Requests == 0 || len(r.Sides) != 4 {
			t.Errorf("%+v", r)
		}
	}
	for _, row := range []string{"\nstatic ", "\n  rival "} {
		if !strings.Contains(stdout, row) {
			t.Errorf("no row %q in\n%s", row, stdout)
		}
	}
	for rival, want := range map[string]string{
		"other=" + Program(t) + " -m " + harness.WriteFile(t, dir, "other.yml", "- endpoint: {path: /other, response: {}}\n") + " --port {port}": "other: wrong answer to GET /hello-world",
		"none=echo {port} cannot be had; exit 3": "none exited unexpectedly (exit status 3); last lines of its log:\n  ",
	} {
		if code, stdout, stderr := benched(t, append(args, "--rival", rival)...); code != 1 || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit %d\n%s%s", rival, code, stdout, stderr)
		}
	}
	outcomes := harness.WriteFile(t, dir, "outcomes.yml", "- endpoint: {path: /a, responses: [{weight: 1, body: a}, {weight: 1, status: 503, body: b}]}\n")
	both := "both=" + Program(t) + " -m " + outcomes + " --host 127.0.0.1 --port {port}"
	if code, stdout, stderr := benched(t, "-c", outcomes, "--rounds", "1", "--duration", "100ms", "--rival", both); code != 0 || !strings.Contains(stdout, "\n  both ") {
		t.Errorf("an endpoint with two outcomes: exit %d\n%s%s", code, stdout, stderr)
	}
	const deaf = "exec sleep 98765432"
	deafly := "rival=sh -c 'trap \"\" TERM; " + deaf + "' & " + strings.TrimPrefix(rival, "rival=")
	if code, stdout, stderr := benched(t, append(args, "--rival", deafly)...); code != 0 {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	harness.Until(t, "the process that ignores SIGTERM exits", func() bool { return len(processesOf(t, "sleep\x0098765432")) == 0 })
	p := Launch(t, nil, "bench", "--rival", rival, "--duration", "1m")
	harness.Until(t, "the rival runs", func() bool { return len(processesOf(t, "-m\x00"+file)) == 1 })
	if err := p.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	harness.Until(t, "the rival exits", func() bool { return len(processesOf(t, "-m\x00"+file)) == 0 })
}

func TestNoWebhooks_SendsNone(t *testing.T) {
	NeedsProcess(t)
	var called atomic.Int64
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called.Add(1) }))
	defer target.Close()
	configuration := "- endpoint: {path: /a, response: {body: a}, webhook: {method: POST, url: '" + target.URL + "', sleep-time: 0}}\n"
	for _, c := range []struct {
		args []string
		want int64
	}{{nil, 1}, {[]string{"--no-webhooks"}, 0}} {
		called.Store(0)
		p := Serving(t, configuration, c.args...)
		p.Get("/a").Want(t, 200, "a")
		p.Signal(syscall.SIGTERM) // webhooks that are due are sent before it exits
		if code := p.Exit(); code != 0 || called.Load() != c.want {
			t.Errorf("%q: exit %d, %d webhooks; want %d", c.args, code, called.Load(), c.want)
		}
	}
	file := harness.WriteFile(t, t.TempDir(), "a.yml", strings.Replace(configuration, "method: POST", "method: SEND", 1))
	if code, _, stderr := Refused(t, nil, "validate", "-c", file, "--no-webhooks"); code != 2 || !strings.Contains(stderr, "webhook.method") {
		t.Errorf("an error in a webhook that is not sent: exit %d, %s", code, stderr)
	}
}

// Bench lists limited endpoints with the reason. It measures endpoints that declare delays or
// faults without the delays and faults.
func TestBench_LeavesOutWhatIsNotTheMachines(t *testing.T) {
	NeedsProcess(t)
	dir := t.TempDir()
	file := harness.WriteFile(t, dir, "api.yml", `
- endpoint: {path: /limited, response: {}, rate-limit: {max-requests: 2}}
- endpoint: {path: /narrow, response: {}, capacity: {concurrent: 1}}
- endpoint: {path: /failing, response: {}, fault: {type: reset}}
- endpoint: {path: /slow, response: {}, latency: {min: 2s, failure-rate: 10%, timeout-rate: 10%}}
- endpoint: {path: /mixed, responses: [{}, {status: 500}]}
- endpoint: {path: /wide, response: {}, capacity: {concurrent: 4}}
- endpoint: {path: /alike, responses: [{status: 201, body: a}, {status: 201, body: bb}], select: sequence}
`)
	result := filepath.Join(dir, "r.json")
	code, stdout, stderr := benched(t, "-c", file, "--rounds", "1", "--duration", "50ms", "--connections", "4", "--json", result)
	if code != 0 {
		t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
	}
	got := readBench(t, result)
	var measured []string
	for _, r := range got.Results {
		measured = append(measured, r.Name)
	}
	if want := []string{"GET /failing", "GET /slow", "GET /mixed", "GET /wide", "GET /alike"}; !slices.Equal(measured, want) {
		t.Errorf("measured %q, want %q", measured, want)
	}
	for _, want := range []string{
		"GET /limited: not measured: its rate-limit answers 429", "GET /narrow: not measured: its capacity has room for 1", "GET /failing: measured without its faults",
		"GET /slow: measured without waiting for its latency", "GET /mixed: its statuses are 200 500: the figures cover all of them",
		"GET /wide: 4 of its requests are served at once",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is missing in\n%s", want, stdout)
		}
	}
}
