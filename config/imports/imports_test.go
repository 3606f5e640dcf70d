package imports_test

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mockserver/config"
	"mockserver/config/imports"
	"mockserver/config/imports/draft"
	"mockserver/listener"
	"mockserver/listener/listenertest"
)

// recording writes a recording of exchanges, one line each, and returns its name.
func recording(t testing.TB, lines ...string) string {
	t.Helper()
	return file(t, "real-0001.ndjson", `{"mockserver":"recording","version":1,"upstream":"real"}`+"\n"+strings.Join(lines, "\n")+"\n")
}

func file(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// exchange returns a line of a recording: a GET request at the n-th millisecond, which is answered
// after the given time.
func exchange(n int, url string, status int, first time.Duration, body string) string {
	at := time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Millisecond)
	return fmt.Sprintf(`{"time":%q,"method":"GET","url":%q,"status":%d,"first_us":%d,"last_us":%d,"under_way":3,"connection":1,`+
		`"request":{"headers":[["Accept","*/*"]]},"response":{"headers":[["Content-Type","application/json"],["Date","now"]],"size":%d,"body":%q}}`,
		at.Format(time.RFC3339Nano), "http://localhost:8000"+url, status, first.Microseconds(), first.Microseconds()+100, len(body), body)
}

// made imports files, and returns the draft and the configuration, which was written and read back.
func made(t testing.TB, opts draft.Options, files ...string) (*draft.Draft, *config.Spec, string) {
	t.Helper()
	d, err := imports.Make(files, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	dir := t.TempDir()
	if err := imports.Write(d, dir, false); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, imports.Name)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	spec := config.Load(path)
	if err := listener.Check(spec, listener.Options{}).Err(); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return d, spec, string(text)
}

// near reports whether two durations agree within 1 % or 1 ms.
func near(a, b time.Duration) bool {
	return math.Abs(float64(a-b)) <= max(float64(time.Millisecond), 0.01*float64(b))
}

// A server with known latencies and outcomes is recorded, and the recording is imported: the served
// latencies have the recorded percentiles, which agree with the true ones within their confidence
// intervals, and the outcomes have the recorded shares.
func TestRecordedOutcomesAreServedWithTheirSharesAndPercentiles(t *testing.T) {
	const n = 20_000
	random := rand.New(rand.NewPCG(7, 7))
	quantile := func(part float64) time.Duration { // log-normal
		return time.Duration(20 * float64(time.Millisecond) * math.Exp(0.5*math.Sqrt2*math.Erfinv(2*part-1)))
	}
	var lines []string
	var recorded []time.Duration
	failed := 0
	for i := range n {
		if random.Float64() < 0.016 {
			failed++
			lines = append(lines, exchange(i, "/pay", 503, 300*time.Millisecond+time.Duration(random.IntN(1000))*time.Microsecond, `{"error":"busy"}`))
			continue
		}
		length := quantile(random.Float64()).Truncate(time.Microsecond)
		recorded = append(recorded, length)
		lines = append(lines, exchange(i, "/pay", 200, length, `{"paid":true}`))
	}
	d, spec, text := made(t, draft.Options{}, recording(t, lines...))
	if len(spec.Endpoints) != 1 || len(spec.Endpoints[0].Responses) != 2 || d.Count(draft.Exact) != 1 {
		t.Fatalf("imported as:\n%s", text)
	}
	good, bad := spec.Endpoints[0].Responses[0], spec.Endpoints[0].Responses[1]
	if good.Weight != float64(n-failed) || bad.Weight != float64(failed) || good.Response.Status != 200 || bad.Response.Status != 503 {
		t.Errorf("weights %v and %v of %d failed:\n%s", good.Weight, bad.Weight, failed, text)
	}
	slices.Sort(recorded)
	declared := good.Latency.Lengths()
	for _, rank := range []float64{50, 75, 90, 95, 99, 99.9} {
		part := rank / 100
		got := declared(part)
		if want := recorded[int(math.Ceil(part*float64(len(recorded))))-1]; !near(got, want) {
			t.Errorf("p%v is declared %v, was recorded %v", rank, got, want)
		}
		// The rank of a sample quantile is binomially distributed. The range covers five standard
		// deviations around it.
		spread := 5 * math.Sqrt(part*(1-part)/float64(len(recorded)))
		if low, high := quantile(part-spread), quantile(min(1-1e-9, part+spread)); got < low || got > high {
			t.Errorf("p%v is declared %v, the truth is between %v and %v", rank, got, low, high)
		}
	}
	if !strings.Contains(text, "# GET /pay: 20,000 requests, 2026-11-25 10:00, at most 3 under way") {
		t.Errorf("the source of the numbers is missing:\n%s", text[:min(len(text), 2000)])
	}

	seed := uint64(1)
	server := listenertest.Start(t, spec, listener.Options{NoLatency: true, Seed: &seed})
	counts := map[int]int{}
	const asked = 3000
	for range asked {
		status, body := get(t, server.URL()+"/pay")
		counts[status]++
		if want := map[int]string{200: `{"paid":true}`, 503: `{"error":"busy"}`}[status]; body != want {
			t.Fatalf("%d with %q", status, body)
		}
	}
	share := float64(failed) / n
	if spread := 5 * math.Sqrt(share*(1-share)*asked); math.Abs(float64(counts[503])-share*asked) > spread {
		t.Errorf("%d of %d failed, want %v ± %v", counts[503], asked, share*asked, spread)
	}
}

func get(t testing.TB, url string) (int, string) {
	t.Helper()
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// Many recorded URLs become one endpoint that looks up its answers.
func TestManyResponsesAreOneEndpoint(t *testing.T) {
	const n = 5000
	var lines []string
	for i := range n {
		status, body := 200, fmt.Sprintf(`{"id": %d, "text": "{{not a tag}} é <&>"}`, i)
		if i%100 == 7 {
			status, body = 404, `{"error":"gone"}`
		}
		lines = append(lines, exchange(i, fmt.Sprintf("/items/%d?lang=en", i), status, 5*time.Millisecond, body))
	}
	d, spec, text := made(t, draft.Options{}, recording(t, lines...))
	if len(spec.Endpoints) != 2 || len(spec.Data) != 1 || d.Count(draft.Exact) != 1 || len(d.Asks) == 0 {
		t.Fatalf("%d endpoints, %d sets:\n%s", len(spec.Endpoints), len(spec.Data), text)
	}
	if got := spec.Endpoints[0].Path.Value; got != "/items/:id|int" {
		t.Errorf("the path is %s", got)
	}
	server := listenertest.Start(t, spec, listener.Options{NoLatency: true})
	for _, i := range []int{0, 1, 99, 4999} {
		if status, body := get(t, fmt.Sprintf("%s/items/%d", server.URL(), i)); status != 200 || body != fmt.Sprintf(`{"id": %d, "text": "{{not a tag}} é <&>"}`, i) {
			t.Errorf("%d: %d %s", i, status, body)
		}
	}
	if status, body := get(t, server.URL()+"/items/107"); status != 404 || body != `{"error":"gone"}` {
		t.Errorf("a recorded 404: %d %s", status, body)
	}
	if status, body := get(t, server.URL()+"/items/5000"); status != 404 || !strings.Contains(body, "endpoint_not_found") {
		t.Errorf("a request that was not recorded: %d %s", status, body)
	}
}

// Failures under load affect requests at random: a parameter whose values never repeat is not taken
// as their cause.
func TestFailuresAreNotBlamedOnAParameterThatNeverComesTwice(t *testing.T) {
	var lines []string
	for i := range 2000 {
		status, body := 200, "ok"
		if i%50 == 0 {
			status, body = 503, "busy"
		}
		lines = append(lines, exchange(i, fmt.Sprintf("/ping?nonce=%d", i*7919), status, time.Millisecond, body))
	}
	_, spec, text := made(t, draft.Options{}, recording(t, lines...))
	if len(spec.Endpoints) != 1 || len(spec.Data) != 0 || len(spec.Endpoints[0].Responses) != 2 {
		t.Errorf("want one endpoint with two outcomes:\n%s", text[:min(len(text), 3000)])
	}
}

func TestResponsesComeInTheirOrder(t *testing.T) {
	var lines []string
	for i, state := range []string{"new", "new", "paid"} {
		for _, id := range []string{"7", "8", "9"} {
			lines = append(lines, exchange(i, "/orders/"+id, 200, time.Millisecond, `{"id":`+id+`,"state":"`+state+`"}`))
		}
	}
	_, spec, _ := made(t, draft.Options{}, recording(t, lines...))
	server := listenertest.Start(t, spec, listener.Options{NoLatency: true})
	for _, id := range []string{"7", "8"} {
		for _, state := range []string{"new", "new", "paid", "new"} {
			if _, body := get(t, server.URL()+"/orders/"+id); body != `{"id":`+id+`,"state":"`+state+`"}` {
				t.Errorf("%s: got %s, want %s", id, body, state)
			}
		}
	}
}

func TestWhatTheUserSaysOfPathsAndLatencies(t *testing.T) {
	lines := []string{exchange(0, "/a/x", 200, 12*time.Millisecond, "1"), exchange(1, "/a/y", 200, 14*time.Millisecond, "1")}
	_, spec, text := made(t, draft.Options{Paths: []string{"/a/:name"}, Subtract: 2 * time.Millisecond}, recording(t, lines...))
	if len(spec.Endpoints) != 1 || spec.Endpoints[0].Path.Value != "/a/:name" {
		t.Fatal(text)
	}
	if l := spec.Endpoints[0].Latency; l == nil || l.Min != 10*time.Millisecond || l.Lengths()(0.5) != 11*time.Millisecond {
		t.Errorf("the latency is %+v", l)
	}
	_, spec, _ = made(t, draft.Options{Last: true}, recording(t, lines[0]))
	if l := spec.Endpoints[0].Latency; l == nil || l.Min != 12100*time.Microsecond {
		t.Errorf("to the last byte: %+v", l)
	}
}

func TestErrorsHaveTheirPlace(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"unknown":          {file(t, "x.txt", "hello"), "x.txt: the format is unknown; expected one of a recording, a HAR, curl commands"},
		"missing":          {filepath.Join(t.TempDir(), "none.har"), "none.har: no such file or directory"},
		"HAR cut off":      {file(t, "x.har", "{\"log\": {\"entries\": [\n {\"a\": 1},\n"), "the JSON is not valid from here on: unexpected EOF"},
		"HAR broken":       {file(t, "x.har", "{\"log\": {\n \"entries\": [{\"a\": }]}}"), "x.har:2:14: the JSON is not valid from here on: invalid character"},
		"HAR without list": {file(t, "x.har", `{"log": {"entries": 3}}`), "x.har:1:1: is not a HAR: expected log.entries, a list"},
		"HAR empty":        {file(t, "x.har", `{"log": {"entries": []}}`), "x.har: there is no exchange in "},
		"a line":           {recording(t, "{"), "real-0001.ndjson:2:1: is not an exchange: unexpected end of JSON input"},
		"empty recording":  {recording(t), "real-0001.ndjson: there is no exchange in "},
	} {
		_, err := imports.Make([]string{c.file}, draft.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

// An incomplete end, which a killed process left in its last file, does not cause the loss of the
// complete exchanges before it.
func TestARecordingThatWasCutOff(t *testing.T) {
	whole := exchange(0, "/a", 200, time.Millisecond, "1")
	path := recording(t, whole, whole[:len(whole)/2])
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text[:len(text)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, spec, _ := made(t, draft.Options{}, path); len(spec.Endpoints) != 1 {
		t.Errorf("%d endpoints, want 1", len(spec.Endpoints))
	}
}

func TestNothingIsOverwritten(t *testing.T) {
	d, err := imports.Make([]string{recording(t, exchange(0, "/a", 200, time.Millisecond, strings.Repeat("x", 100_000)))}, draft.Options{})
	if err != nil || len(d.Files) != 1 {
		t.Fatal(err, len(d.Files))
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, imports.Name), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := imports.Write(d, dir, false); err == nil || !strings.Contains(err.Error(), "already exists; --force overwrites it") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "bodies")); err == nil {
		t.Error("files were written anyway")
	}
	if err := imports.Write(d, dir, true); err != nil {
		t.Error(err)
	}
}

// checked imports data from a file with the given name. It fails the test if the import succeeds
// but does not result in a valid configuration.
func checked(t *testing.T, name string, data []byte) {
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := imports.Make([]string{path}, draft.Options{})
	if err != nil {
		return
	}
	defer d.Close()
	dir := t.TempDir()
	if err := imports.Write(d, dir, false); err != nil {
		t.Fatal(err)
	}
	if err := listener.Check(config.Load(filepath.Join(dir, imports.Name)), listener.Options{}).Err(); err != nil {
		text, _ := os.ReadFile(filepath.Join(dir, imports.Name))
		t.Fatalf("%v in:\n%s", err, text)
	}
}

func FuzzHAR(f *testing.F) {
	entry := `{"startedDateTime":"2026-11-25T10:00:00Z","request":{"method":"GET","url":"http://a/b/1?c=d","headers":[]},` +
		`"response":{"status":200,"headers":[{"name":"X","value":"{{y}}"}],"content":{"size":1,"mimeType":"text/html","text":"<p>{{x}}"}},"timings":{"send":1,"wait":2,"receive":3}}`
	f.Add([]byte(`{"log":{"version":"1.2","entries":[` + entry + `]}}`))
	f.Add([]byte(`{"log":{"entries":[` + entry + `,` + strings.Replace(entry, "<p>", "[1]", 1) + `,` + strings.ReplaceAll(entry, "b/1", "b/2") + `]}}`))
	f.Add([]byte(`{"log":{"entries":[{"request":{"method":"POST","url":"http://a/%zz"},"response":{"status":201,"content":{"text":"AA==","encoding":"base64"}}}, null, 3]}}`))
	f.Fuzz(func(t *testing.T, data []byte) { checked(t, "x.har", data) })
}

func FuzzRecording(f *testing.F) {
	f.Add([]byte(exchange(0, "/users/1?a=b", 200, time.Millisecond, `{"a":1}`) + "\n" + exchange(1, "/users/1?a=c", 404, time.Millisecond, "{%x") + "\n"))
	f.Add([]byte(exchange(0, "/:a/*b", 304, time.Millisecond, "") + "\n" + `{"status":502,"error":"upstream_failed","method":"POST","url":"http://[::1]:80","request":{"body":"a=b"}}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		checked(t, "x.ndjson", append([]byte(`{"mockserver":"recording","version":1}`+"\n"), data...))
	})
}
