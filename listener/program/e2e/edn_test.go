package e2e_test

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mockserver/internal/harness"
)

const ednMock = `;; two documents, and an endpoint outside of them
[{:endpoint {:method :post
             :path "/orders/:id|int"
             :if "json-params.amount > 0"
             :response {:status 201
                        :headers {:location "/orders/{{path-params.id}}"
                                  "x-spelt" :as-written
                                  :set-cookie ["a=1" "b=2"]}
                        :body {:id "{{path-params.id}}", :amount 1.50M, :tags (:a "b" "c"), :none nil}}}}
 #_{:endpoint {:path "/gone" :response {}}}]
[{:endpoint {:path "/hello/:name"
             :response {:body "{\"hello\": \"{{path-params.name}}\",
 \"page\": {{query-params.page|default:\"1\"}}}"}}}]
{:endpoint {:path "/" :host "*.example.com" :response {:body "a host"}}}
`

// lettersOf sends a request and returns everything that comes back until the connection is closed.
func lettersOf(p *Process, t *testing.T, request string) string {
	t.Helper()
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(p.URL, "http://"), harness.Patience)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(harness.Patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	response, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(response)
}

func TestEDN_IsServed(t *testing.T) {
	t.Parallel()
	file := harness.WriteFile(t, t.TempDir(), "mock.edn", ednMock)
	p := Start(t, "-c", file)
	a := p.Do("POST", "/orders/7", `{"amount": 2}`)
	a.Want(t, 201, `{"id":"7","amount":1.50,"tags":["a","b","c"],"none":null}`)
	if got := a.Header.Get("Location") + " " + strings.Join(a.Header.Values("Set-Cookie"), " ") + " " + a.Header.Get("Content-Type"); got != "/orders/7 a=1 b=2 application/json" {
		t.Errorf("got headers %v", a.Header)
	}
	raw := lettersOf(p, t, "POST /orders/7 HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\nConnection: close\r\n\r\n{\"amount\":3}")
	for _, line := range []string{"\r\nLocation: /orders/7\r\n", "\r\nx-spelt: as-written\r\n", "\r\nSet-Cookie: b=2\r\n"} {
		if !strings.Contains(raw, line) {
			t.Errorf("%q is not in %q", line, raw)
		}
	}
	if a := p.Do("POST", "/orders/7", `{"amount": 0}`); a.Status != 404 {
		t.Errorf("a false condition: got %d", a.Status)
	}
	p.Get("/hello/O%22Brien?page=2").Want(t, 200, "{\"hello\": \"O\\\"Brien\",\n \"page\": 2}")
	p.Get("/", "Host: a.example.com").Want(t, 200, "a host")
	if a := p.Get("/gone"); a.Status != 404 {
		t.Errorf("an endpoint that #_ leaves out: got %d", a.Status)
	}
	code, stdout, stderr := Refused(t, nil, "validate", "-c", file)
	if code != 0 || stderr != "" || !strings.Contains(stdout, "3 endpoints") {
		t.Errorf("validate: got exit code %d, %q and %q", code, stdout, stderr)
	}
}

func TestEDN_IsJoinedWithOtherFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	harness.WriteFile(t, dir, "a.yml", "- endpoint: {path: /a, response: {body: from YAML}}\n")
	harness.WriteFile(t, dir, "b.edn", `{:endpoint {:path "/b" :response {:body "from EDN"}}}`)
	for _, args := range [][]string{{"-c", filepath.Join(dir, "b.edn"), "-m", filepath.Join(dir, "a.yml")}, {"-c", dir}} {
		p := Start(t, args...)
		p.Get("/a").Want(t, 200, "from YAML")
		p.Get("/b").Want(t, 200, "from EDN")
	}
}

func TestEDN_MistakesNameTheirPlace(t *testing.T) {
	t.Parallel()
	const response = "[{:endpoint\n  {:path \"/x\"\n   :response {"
	testMistakes(t, []mistake{
		{"a bracket that closes another", "mock.edn", "[{:endpoint {:path \"/x\"\n    :response {}}»)]", "", []string{"a ) where the { of line 1, column 2 is still open"}},
		{"a bracket that is never closed", "mock.edn", "[»{:endpoint {:path \"/x\"\n :response {}}\n", "", []string{"a { that is never closed"}},
		{"a quote that is never closed", "mock.edn", response + ":body »\"hello}}}]\n", "", []string{"a quote that is never closed"}},
		{"a file that is YAML", "mock.edn", "»- endpoint:\n    path: /x\n", "", []string{"[{:endpoint {…}}]"}},
		{"a misspelt key", "mock.edn", response + ":»statsu 200}}}]", "[0].endpoint.response.statsu", []string{`did you mean "status"?`}},
		{"a symbol", "mock.edn", response + ":body »hello}}}]", "[0].endpoint.response.body", []string{`in quotes, "hello", or as a keyword, :hello`}},
		{"a set", "mock.edn", response + ":body »#{1}}}}]", "[0].endpoint.response.body", []string{"a set has no order", "[ ]"}},
		{"a key that is given twice", "mock.edn", response + ":status 200\n \"»status\" 201}}}]", "[0].endpoint.response.status", []string{"already given on line 3"}},
		{"a template after escapes, on a later line", "mock.edn", response + ":body »\"{\\\"é\\\":\n \\\"\\u00e9\\\" {{nope}}}\"}}}]", "[0].endpoint.response.body", []string{`unknown variable "nope"`}},
		{"a template inside a map", "mock.edn", response + ":body {:a [»\"\\\"b\\\" {{nope}}\"]}}}}]", "[0].endpoint.response.body", []string{`unknown variable "nope"`}},
		{"a condition", "mock.edn", "[{:endpoint {:path \"/x\" :response {} :if »\"method = \\\"GET\\\" =\"}}]", "[0].endpoint.if", nil},
	})
}

func TestEDN_AChangedFileIsServedAndABrokenOneIsNot(t *testing.T) {
	t.Parallel()
	body := func(text string) string { return `[{:endpoint {:path "/a" :response {:body ` + text + `}}}]` }
	dir := t.TempDir()
	file := harness.WriteFile(t, dir, "mock.edn", body(`"old"`))
	p := Start(t, "-c", file)
	p.Get("/a").Want(t, 200, "old")
	n := len(p.Output())
	harness.WriteFile(t, dir, "mock.edn", body(`"new"`))
	p.WaitLine(n, "configuration reloaded")
	p.Get("/a").Want(t, 200, "new")
	n = len(p.Output())
	harness.WriteFile(t, dir, "mock.edn", body(`"newer"`)+"]")
	p.WaitLine(n, fmt.Sprintf("%s:1:%d: a ] that closes nothing", file, len(body(`"newer"`))+1))
	p.Get("/a").Want(t, 200, "new")
	n = len(p.Output())
	harness.WriteFile(t, dir, "mock.edn", body(`"newer"`))
	p.Signal(syscall.SIGHUP)
	p.WaitLine(n, "configuration reloaded")
	p.Get("/a").Want(t, 200, "newer")
}
