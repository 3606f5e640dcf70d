package e2e_test

import (
	"fmt"
	"html"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"mockserver/internal/harness"
)

// runOf runs mockserver run with the arguments and a shell script as the command, and returns its exit
// code, its output, and the directory with its reports.
func runOf(t *testing.T, script string, args ...string) (code int, stdout, stderr, dir string) {
	t.Helper()
	need(t, "sh", "curl")
	dir = t.TempDir()
	args = append([]string{"run", "--report", dir}, args...)
	env := []string{"MOCKSERVER_FLEET=127.0.0.1:1", "MOCKSERVER_FLEET_EXPECT=3", "MOCKSERVER_FLEET_CA=none.pem"} // of another run
	code, stdout, stderr = Refused(t, env, append(args, "--", "sh", "-c", script)...)
	return code, stdout, stderr, dir
}

// servedBy returns the arguments of a server with five requests that are either always trusted or never.
func servedBy(verdict, file string, args ...string) []string {
	return append([]string{file, "--port", "0", "--verdict", verdict}, args...)
}

const fiveRequests = `for i in 1 2 3 4 5; do curl -s "$MOCK_URL%s" >/dev/null; done; echo done; exit %d`

func script(path string, code int) string {
	return fmt.Sprintf(fiveRequests, path, code)
}

// run serves whatever the program reads, for as long as the command runs, and reports exactly its requests.
func TestRun_ServesForTheCommand(t *testing.T) {
	t.Parallel()
	db := harness.WriteFile(t, t.TempDir(), "db.json", `{"posts": [{"id": 1}]}`)
	for _, c := range []struct {
		name, path string
		args       []string
		endpoint   string
	}{
		{"a configuration", "/tasks/7", []string{File("examples/tasks.yml")}, "GET /tasks/:id|int"},
		{"a database of json-server", "/posts/1", []string{db}, "GET /posts/:id"},
		{"an OpenAPI document", "/v1/pets", []string{"--mocks", File("examples/petstore.yml")}, "GET /v1/pets"},
		{"TLS at an admin address that is not a loopback address", "/tasks/7", []string{"-c", File("examples/tasks.yml"), "--admin", ":0", "--admin-tls", "auto"}, "GET /tasks/:id|int"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr, dir := runOf(t, script(c.path, 0), append(c.args, "--port", "0", "--verdict", trusts, "--name", "check out/1")...)
			if code != 0 || stdout != "done\n" {
				t.Errorf("got %d, %q, %s", code, stdout, stderr)
			}
			for path, report := range reportsIn(t, dir) {
				if report.Name != "check out/1" || report.Total.Requests != 5 || !report.Final || len(report.Endpoints) != 1 || report.Endpoints[0].Endpoint != c.endpoint {
					t.Errorf("the report is of %q, %d requests to %+v", report.Name, report.Total.Requests, report.Endpoints)
				}
				if filepath.Base(path) != "check-out-1-"+report.ID+".json" || len(report.Replicas) != 0 {
					t.Errorf("the report is %s, with %d replicas", path, len(report.Replicas))
				}
				end := fmt.Sprintf("run: 5 requests, [0-9.]+ a second\\. The timing of this run can be trusted\\.\nrun: report: %s\\.html and \\.json\nrun: ID: %s\n$",
					regexp.QuoteMeta(strings.TrimSuffix(path, ".json")), report.ID)
				if !regexp.MustCompile(end).MatchString(stderr) {
					t.Errorf("it ends with %s; want %s", stderr, end)
				}
				return
			}
			t.Errorf("no report: %s", stderr)
		})
	}
}

// The load of the README pays: its requests are the ones that the stand-in declines and sends webhooks for.
func TestRun_TheLoadOfTheREADMEPays(t *testing.T) {
	t.Parallel()
	need(t, "wrk")
	dir := t.TempDir()
	_, texts := blocks(t, "README.md", "A payment service that behaves like the real one")
	payments := harness.WriteFile(t, dir, "payments.yml", texts[0])
	languages, texts := blocks(t, "README.md", "A load test, and whether the mock distorted it")
	lua := harness.WriteFile(t, dir, "pay.lua", texts[slices.Index(languages, "lua")])
	command := regexp.MustCompile(`run payments\.yml -- (wrk .*)`).FindStringSubmatch(strings.Join(texts, ""))
	if command == nil {
		t.Fatal("there is no command of wrk")
	}
	load := strings.NewReplacer("-d60s", "-d1s", "pay.lua", lua, "http://127.0.0.1:8000", "$MOCK_URL").Replace(command[1])
	code, stdout, stderr, dir := runOf(t, load, payments, "--port", "0", "--verdict", "machine=off")
	for _, report := range reportsIn(t, dir) {
		for _, e := range report.Endpoints {
			for status, n := range e.Statuses {
				if n > 0 && (e.Endpoint != "POST /payments" || !slices.Contains([]int{201, 402, 499}, status)) { // wrk leaves at its end
					t.Errorf("%s has %d times the status %d", e.Endpoint, n, status)
				}
			}
		}
	}
	if code != 0 && code != 3 {
		t.Errorf("got %d, %s%s", code, stdout, stderr)
	}
}

func TestRun_ExitCodes(t *testing.T) {
	t.Parallel()
	tasks := File("examples/tasks.yml")
	for _, c := range []struct {
		name, verdict, path string
		exit, code          int
		says                []string
	}{
		{"trusted", trusts, "/tasks/7", 0, 0, []string{"can be trusted"}},
		{"not trusted", trustsNot, "/tasks/7", 0, 3, []string{"cannot be trusted", "\n  own-p99: ", "run: exit code 3: the timing cannot be trusted"}},
		{"the command failed", trustsNot, "/tasks/7", 7, 7, []string{"cannot be trusted", "run: exit code 7, that of the command"}},
		{"unmatched", trusts, "/none", 0, 0, []string{"  5 requests matched no endpoint, such as GET /none: no endpoint is declared"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			code, _, stderr, _ := runOf(t, script(c.path, c.exit), servedBy(c.verdict, tasks)...)
			if code != c.code || !containsAll(stderr, c.says) {
				t.Errorf("got %d, want %d with %q: %s", code, c.code, c.says, stderr)
			}
		})
	}
}

// Each mistake is named before anything runs.
func TestRun_RefusesMistakes(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	_, port, _ := net.SplitHostPort(busy.Addr().String())
	ran := filepath.Join(t.TempDir(), "ran")
	touch := []string{"--", "touch", ran}
	tasks := File("examples/tasks.yml")
	wrong := harness.WriteFile(t, t.TempDir(), "wrong.yml", "- endpoint: {path: /, response: {statsu: 1}}\n")
	nowhere := unusedAddresses(t, 1)[0]
	for name, c := range map[string]struct {
		args, command []string
		code          int
		says          string
	}{
		"no command":           {[]string{"run", tasks}, nil, 2, "missing command; put it after --"},
		"no dashes":            {[]string{"run", "k6", "run", "test.js"}, nil, 2, `"k6": no such file; put a command after --`},
		"no such command":      {[]string{"run", tasks}, []string{"--", "no-such-command"}, 127, "no-such-command"},
		"no such file":         {[]string{"run", "nowhere.yml"}, touch, 2, "nowhere.yml: there is no such file"},
		"an error in the file": {[]string{"run", wrong}, touch, 2, "wrong.yml:1:34"},
		"a port in use":        {[]string{"run", tasks, "--host", "127.0.0.1", "--port", port}, touch, 1, "in use"},
		"a misspelt flag":      {[]string{"run", tasks, "--prot", "1"}, touch, 2, "did you mean --port?"},
		"a bad value":          {[]string{"run", tasks, "--port", "x"}, touch, 2, `--port: "x" is not valid; expected an integer`},
		"a flag of no server":  {[]string{"run", "--port", "1"}, touch, 2, "--port: has no effect without a FILE"},
		"no server":            {[]string{"run", "--admin", nowhere, "--wait", "1ms"}, touch, 1, "mockserver api.yml --admin " + nowhere + ", or the file for a server that run starts"},
		"replicas of a server": {[]string{"run", tasks, "--expect", "2"}, touch, 2, "--expect: has no effect if run starts the server"},
		"a process alone":      {[]string{"run", tasks, "--process", "poisson"}, touch, 2, "--process: missing --rate"},
		"one run":              {[]string{"compare", "a"}, nil, 2, "got 1 run; expected two"},
		"unknown runs":         {[]string{"compare", "a", "b", "--admin", nowhere}, nil, 1, "b: not a file, nor the ID or name of a report in ."},
		"no report":            {[]string{"compare", tasks, tasks}, nil, 1, "tasks.yml: not a report"},
		"a command to compare": {[]string{"compare", "a", "b"}, touch, 2, "compare does not take a command"},
	} {
		code, stdout, stderr := Refused(t, nil, append(c.args, c.command...)...)
		if code != c.code || stdout != "" || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: got %d, %q, %s; want %d with %q", name, code, stdout, stderr, c.code, c.says)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Fatalf("%s: the command ran", name)
		}
	}
}

// A run of a server that is already there: signals reach the command, and the report is written.
func TestRun_PassesSignalsOn(t *testing.T) {
	t.Parallel()
	need(t, "sh")
	_, admin := loaded(t, trusts)
	address := strings.TrimPrefix(admin.URL, "http://")
	dir := t.TempDir()
	p := Launch(t, nil, "run", "--admin", address, "--report", dir, "--name", "cut", "--", "sh", "-c", `trap "exit 5" INT; echo begun; while :; do read -t 1 x 2>/dev/null || sleep 0.05; done`)
	p.WaitLine(0, "begun")
	p.Signal(syscall.SIGINT)
	if code := p.Exit(); code != 5 {
		t.Errorf("got %d: %q", code, p.Output())
	}
	all := reportsIn(t, dir)
	for _, report := range all {
		// The server itself still knows the run, by its ID.
		code, stdout, stderr := Refused(t, nil, "compare", report.ID, report.ID, "--admin", address)
		if code != 0 || !strings.Contains(stdout, "a and b are the same run") {
			t.Errorf("got %d, %s, %s", code, stdout, stderr)
		}
	}
	if len(all) != 1 {
		t.Errorf("got %d reports: %q", len(all), p.Output())
	}
}

// A signal before the command has started: it does not start, and neither a run nor a report is left.
func TestRun_ASignalBeforeTheCommand(t *testing.T) {
	t.Parallel()
	_, admin := loaded(t, trusts)
	for name, server := range map[string][]string{
		"a server of its own": {File("examples/tasks.yml"), "--port", "0"},
		"another server":      {"--admin", strings.TrimPrefix(admin.URL, "http://")},
	} {
		dir, signals := t.TempDir(), make(chan os.Signal, 8)
		signals <- syscall.SIGINT
		args := append([]string{"run", "--report", dir}, server...)
		code := inside(append(args, "--", "touch", filepath.Join(dir, "ran")), variables(t), signals, io.Discard, io.Discard)
		if left, err := os.ReadDir(dir); code != 1 || err != nil || len(left) > 0 {
			t.Errorf("%s: exit code %d, want 1; left are %v, %v", name, code, left, err)
		}
	}
	var list struct{ Runs []struct{ ID string } }
	if admin.Get("/__admin/runs").Into(t, 200, &list); len(list.Runs) > 0 {
		t.Errorf("the server still has the runs %v", list.Runs)
	}
}

// Reports of one name lie next to each other, and are compared by file, ID and name.
func TestCompare_FindsReports(t *testing.T) {
	t.Parallel()
	need(t, "sh", "curl")
	dir := t.TempDir()
	for _, name := range []string{"one", "same", "same"} {
		args := append([]string{"run", "--report", dir, "--name", name}, servedBy(trusts, File("examples/tasks.yml"))...)
		if code, _, stderr := Refused(t, nil, append(args, "--", "sh", "-c", script("/tasks/7", 0))...); code != 0 {
			t.Fatal(stderr)
		}
	}
	ids, paths := map[string][]string{}, map[string]string{}
	for path, report := range reportsIn(t, dir) {
		paths[report.ID] = path
		all := append(ids[report.Name], report.ID)
		if len(all) == 2 && reportsIn(t, dir)[paths[all[0]]].Begin.After(report.Begin) {
			all[0], all[1] = all[1], all[0]
		}
		ids[report.Name] = all
	}
	if len(ids["one"]) != 1 || len(ids["same"]) != 2 {
		t.Fatalf("got the reports %v", paths)
	}
	one, earlier, later := ids["one"][0], ids["same"][0], ids["same"][1]
	page := filepath.Join(dir, "compare.html")
	for _, c := range [][4]string{{paths[one], paths[later], one, later}, {one, "same", one, later}, {"same", "same", earlier, later}, {later, earlier, later, earlier}} {
		code, stdout, stderr := Refused(t, nil, "compare", c[0], c[1], "--report", dir, "-o", page)
		if code != 0 || !containsAll(stdout, []string{"a: ", " (" + c[2] + "), ", "b: ", " (" + c[3] + "), ", ", 5 requests\n", "\nRequests  ", "\nResponse time p50  "}) {
			t.Fatalf("%q: got %d, %s, %s", c[:2], code, stdout, stderr)
		}
		headline := strings.Split(stdout, "\n")[3] // what it says depends on how fast the machine was
		if text, err := os.ReadFile(page); err != nil || headline == "" || !containsAll(html.UnescapeString(string(text)), []string{"</html>", headline}) {
			t.Errorf("the page: %v; want %q", err, headline)
		}
	}
}
