package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// received is one webhook as its target got it.
type received struct {
	method, host, uri, body string
	header                  http.Header
	at                      time.Time
}

// hookTarget is a server that webhooks are sent to. Each is answered by what answer
// says, 200 when it is nil, and left in got.
type hookTarget struct {
	*httptest.Server
	got    chan received
	answer func(n int, w http.ResponseWriter, r *http.Request)
	count  atomic.Int32
}

func newHookTarget(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *hookTarget {
	t.Helper()
	target := &hookTarget{got: make(chan received, 100_000), answer: answer}
	target.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body) // what is missing of it is seen by the test
		target.got <- received{r.Method, r.Host, r.RequestURI, string(b), r.Header, time.Now()}
		if target.answer != nil {
			target.answer(int(target.count.Add(1)), w, r)
		}
	}))
	t.Cleanup(target.Close)
	return target
}

func (h *hookTarget) next(t *testing.T) received {
	t.Helper()
	select {
	case r := <-h.got:
		return r
	case <-time.After(patience):
		t.Fatal("no webhook arrives")
		return received{}
	}
}

// nothingMore stops the program, which sends what falls due before it ends, and
// fails the test if a webhook has come that was not asked for.
func (h *hookTarget) nothingMore(t *testing.T, p *process) {
	t.Helper()
	p.signal(syscall.SIGTERM)
	p.exit()
	h.nothingLeft(t)
}

// nothingLeft is nothingMore for a program that has ended.
func (h *hookTarget) nothingLeft(t *testing.T) {
	t.Helper()
	for {
		select {
		case r := <-h.got:
			t.Errorf("an unexpected webhook: %s %s %s", r.method, r.uri, r.body)
		default:
			return
		}
	}
}

// withHook is an endpoint with one webhook, of the given keys.
func withHook(path, url, keys string) string {
	return fmt.Sprintf(`- endpoint:
    method: POST
    path: %s
    response: {status: 201, body: {ok: true}}
    webhook: {url: "%s", method: POST, sleep-time: 0%s}
`, path, url, keys)
}

// TestWebhook_SaysWhatTheRequestGave sends the same webhook declared in both syntaxes,
// with all sources of values in all of its parts.
func TestWebhook_SaysWhatTheRequestGave(t *testing.T) {
	const yaml = `- endpoint:
    method: POST
    path: /orders/:id
    response: {status: 201, headers: {X-A: b}, body: {ok: true}}
    webhook:
      method: PUT
      url: "TARGET/back/{{path-params.id}}/{{header-params.X-Who}}?q={{query-params.q}}&t={{json-params.total}}"
      headers: {X-Who: "{{header-params.X-Who}} {{path-params.id}} {{query-params.q}} {{json-params.total}}", X-Fixed: [one, two], x-spelt: a}
      body: {id: "{{path-params.id}}", total: "{{json-params.total}}", q: "{{query-params.q}}", who: "{{header-params.X-Who}}"}
      if: json-params.total > 12.4
      sleep-time: 0
      timeout: 5s
      retry: {attempts: 2, backoff: 10ms, max-backoff: 1s}
      sign: {secret: key, header: X-Sum, scheme: hmac-sha256}
`
	const edn = `[{:endpoint
  {:method :post, :path "/orders/:id"
   :response {:status 201, :headers {:x-a "b"}, :body {:ok true}}
   :webhook {:method :put
             :url "TARGET/back/{{path-params.id}}/{{header-params.X-Who}}?q={{query-params.q}}&t={{json-params.total}}"
             :headers {:x-who "{{header-params.X-Who}} {{path-params.id}} {{query-params.q}} {{json-params.total}}", :x-fixed [:one :two], "x-spelt" :a}
             :body {:id "{{path-params.id}}", :total "{{json-params.total}}", :q "{{query-params.q}}", :who "{{header-params.X-Who}}"}
             :if "json-params.total > 12.4"
             :sleep-time 0, :timeout "5s"
             :retry {:attempts 2, :backoff "10ms", :max-backoff "1s"}
             :sign {:secret "key", :header :X-Sum, :scheme :hmac-sha256}}}}]`
	for name, spec := range map[string]string{"mock.yml": yaml, "mock.edn": edn} {
		t.Run(name, func(t *testing.T) {
			target := newHookTarget(t, nil)
			p := start(t, "-c", writeFile(t, t.TempDir(), name, strings.ReplaceAll(spec, "TARGET", target.URL)))
			p.do("POST", "/orders/a%2Fb?q=x%20y%22", `{"total": 12.50}`, "Content-Type: application/json", "X-Who: me", "Authorization: Bearer secret", "Cookie: a=b").
				want(t, 201, `{"ok":true}`)
			r := target.next(t)
			if r.method != "PUT" || r.uri != "/back/a%2Fb/me?q=x%20y%22&t=12.50" || r.host != strings.TrimPrefix(target.URL, "http://") {
				t.Errorf("got %s %s for %s", r.method, r.uri, r.host)
			}
			if want := `{"id":"a/b","total":"12.50","q":"x y\"","who":"me"}`; r.body != want {
				t.Errorf("body %s, want %s", r.body, want)
			}
			for name, want := range map[string][]string{
				"X-Who": {`me a/b x y" 12.50`}, "X-Fixed": {"one", "two"}, "X-Spelt": {"a"}, "Content-Type": {"application/json"},
				"X-Mockserver-Webhook-Depth": {"1"}, "X-Sum": {macOf("key", r.body)},
				"Authorization": nil, "Cookie": nil, "Idempotency-Key": nil, // what the client sends is not passed on
			} {
				if got := r.header[name]; !slices.Equal(got, want) {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			target.nothingMore(t, p)
		})
	}
}

// macOf is the HMAC-SHA256 of a text in hexadecimal.
func macOf(key, text string) string {
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil))
}

// A body that looks like JSON stays JSON where a placeholder makes its type.
func TestWebhook_ATypeThatIsAPlaceholder(t *testing.T) {
	target := newHookTarget(t, nil)
	p := serving(t, withHook("/a", target.URL, `, headers: {Content-Type: "{{query-params.type}}"}, body: '{"q": "{{query-params.q}}"}'`))
	p.do("POST", "/a?type=application/json&q=%22", "")
	if r := target.next(t); r.body != `{"q": "\""}` || r.header.Get("Content-Type") != "application/json" {
		t.Errorf("got %s of type %q", r.body, r.header.Get("Content-Type"))
	}
}

func TestWebhook_Methods(t *testing.T) {
	target := newHookTarget(t, nil)
	var spec strings.Builder
	methods := []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}
	for _, m := range methods {
		fmt.Fprintf(&spec, "- endpoint: {path: /%s, response: {}, webhook: {method: %s, url: '%s/%s', body: text, sleep-time: 0}}\n", m, strings.ToLower(m), target.URL, m)
	}
	p := serving(t, spec.String())
	for _, m := range methods {
		p.get("/"+m).want(t, 200, "")
		if r := target.next(t); r.method != m || r.uri != "/"+m || r.body != "text" {
			t.Errorf("got %s %s %q, want %s with its text", r.method, r.uri, r.body, m)
		}
	}
}

// A webhook without a method is a POST, in whatever way it is declared.
func TestWebhook_IsAPOSTUnlessDeclared(t *testing.T) {
	t.Parallel()
	target := newHookTarget(t, nil)
	dir := t.TempDir()
	document := writeFile(t, dir, "api.yml", "openapi: 3.0.3\ninfo: {title: A, version: '1'}\npaths: {/mocks: {get: {operationId: a, responses: {'200': {description: a}}}}}\n")
	args := []string{"-c", document}
	for name, text := range map[string]string{
		"a.yml":     "- endpoint: {path: /yaml, response: {}, webhook: {url: 'TARGET/yaml', sleep-time: 0}}\n",
		"b.json":    `[{"endpoint": {"path": "/json", "response": {}, "webhooks": [{"url": "TARGET/json", "sleep-time": 0}]}}]`,
		"c.edn":     `[{:endpoint {:path "/edn" :response {} :webhook {:url "TARGET/edn" :sleep-time 0}}}]`,
		"mocks.yml": "a: {status: 200, webhook: {url: 'TARGET/mocks', sleep-time: 0}}\n",
	} {
		flag := "-c"
		if name == "mocks.yml" {
			flag = "-m"
		}
		args = append(args, flag, writeFile(t, dir, name, strings.ReplaceAll(text, "TARGET", target.URL)))
	}
	p := start(t, args...)
	for _, path := range []string{"/yaml", "/json", "/edn", "/mocks"} {
		p.get(path).want(t, 200, "")
		if r := target.next(t); r.method != "POST" || r.uri != path {
			t.Errorf("%s: got %s %s, want a POST", path, r.method, r.uri)
		}
	}
}

func TestWebhook_Conditions(t *testing.T) {
	target := newHookTarget(t, nil)
	cases := []struct {
		condition, query, body string
		sent                   bool
	}{
		{"", "", "", true},
		{"true", "", "", true},
		{"false", "", "", false},
		{"1 = 1", "", "", true},
		{"path-params.id = 7", "", "", true},
		{"path-params.id = 8", "", "", false},
		{"query-params.a", "?a=x", "", true},
		{"query-params.a", "?a=", "", false},
		{"query-params.a", "", "", false},
		{"query-params.a = 1", "?a=1", "", true},
		{"query-params.a = 1", "?a=2", "", false},
		{"query-params.a = 1", "", "", false},
		{"query-params.a = null", "", "", true},
		{"query-params.a = '1 or 1 = 1'", "?a=2", "", false},
		{"query-params.a != 1", "?a=2", "", true},
		{"query-params.a != 1", "?a=1", "", false},
		{"query-params.a != 1", "", "", true}, // missing equals nothing but null and ""
		{"json-params.n != 10", "", `{"n": 10.0}`, false},
		{"json-params.n > 10", "", `{"n": 11}`, true},
		{"json-params.n > 10", "", `{"n": 10}`, false},
		{"json-params.n > 10", "", `{}`, false},
		{"json-params.n > 10", "", `not json`, false},
		{"json-params.n < 10", "", `{"n": 9}`, true},
		{"json-params.n < 10", "", `{"n": 10}`, false},
		{"json-params.n < 10", "", `{}`, false},
		{"json-params.n >= 10", "", `{"n": 10}`, true},
		{"json-params.n >= 10", "", `{"n": 9.99}`, false},
		{"json-params.n >= 10", "", `{}`, false},
		{"json-params.n <= 10", "", `{"n": 10}`, true},
		{"json-params.n <= 10", "", `{"n": 10.5}`, false},
		{"json-params.n <= 10", "", `{}`, false},
		{"json-params.s contains b", "", `{"s": "abc"}`, true},
		{"json-params.s contains b", "", `{"s": "ac"}`, false},
		{"json-params.s contains b", "", `{}`, false},
		{"json-params.s matches '^a+$'", "", `{"s": "aaa"}`, true},
		{"json-params.s matches '^a+$'", "", `{"s": "ab"}`, false},
		{"json-params.s matches '^a+$'", "", `{}`, false},
		{"query-params.a = 1 and json-params.n = 2", "?a=1", `{"n": 2}`, true},
		{"query-params.a = 1 and json-params.n = 2", "?a=1", `{"n": 3}`, false},
		{"query-params.a = 1 or json-params.n = 2", "?a=0", `{"n": 2}`, true},
		{"not (query-params.a = 1)", "?a=1", "", false},
		{"not (query-params.a = 1)", "", "", true},
	}
	var spec strings.Builder
	for i, c := range cases {
		keys := fmt.Sprintf(", body: 'case %d'", i)
		if c.condition != "" {
			keys += fmt.Sprintf(", if: %q", c.condition)
		}
		spec.WriteString(withHook(fmt.Sprintf("/c%d/:id", i), target.URL, keys))
	}
	spec.WriteString(withHook("/last", target.URL, ", body: last"))
	p := serving(t, spec.String())
	for i, c := range cases {
		if a := p.do("POST", fmt.Sprintf("/c%d/7%s", i, c.query), c.body); a.status != 201 {
			t.Fatalf("case %d: %d %s", i, a.status, a.body)
		}
	}
	p.do("POST", "/last", "")
	got := map[string]bool{}
	want := 1
	for _, c := range cases {
		if c.sent {
			want++
		}
	}
	for range want {
		got[target.next(t).body] = true
	}
	for i, c := range cases {
		if got[fmt.Sprintf("case %d", i)] != c.sent {
			t.Errorf("%q with %q %q: sent %v, want %v", c.condition, c.query, c.body, !c.sent, c.sent)
		}
	}
	target.nothingMore(t, p)
}

// Each of several webhooks has a condition, a delay and texts of its own.
func TestWebhook_SeveralOfOneEndpoint(t *testing.T) {
	target := newHookTarget(t, nil)
	p := serving(t, fmt.Sprintf(`- endpoint:
    method: POST
    path: /a
    response: {status: 201, body: {ok: true}}
    webhooks:
      - {url: "%[1]s/second", method: PUT, sleep-time: 0.3, body: {n: 2}}
      - {url: "%[1]s/first", method: POST, sleep-time: 0, body: {n: 1}}
      - {url: "%[1]s/none", method: POST, sleep-time: 0, if: query-params.a = 1}
      - {url: "http://127.0.0.1:1/refused", method: POST, sleep-time: 0}
`, target.URL))
	p.do("POST", "/a", "").want(t, 201, `{"ok":true}`)
	for _, want := range []string{`POST /first {"n":1}`, `PUT /second {"n":2}`} {
		if r := target.next(t); r.method+" "+r.uri+" "+r.body != want {
			t.Errorf("got %s %s %s, want %s", r.method, r.uri, r.body, want)
		}
	}
	p.waitLine(0, "webhook failed", `webhook="POST /a webhooks[3]"`)
	target.nothingMore(t, p)
	p.waitLine(0, "webhooks", "delivered=2", "dead=1")
}

func TestWebhook_RetriesAndSignatures(t *testing.T) {
	target := newHookTarget(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n <= 2 {
			w.WriteHeader(500)
		}
	})
	p := serving(t, withHook("/a", target.URL, `, body: '{"n": "{{query-params.n}}"}', retry: {attempts: 5, backoff: 10ms, max-backoff: 20ms}, sign: {secret: key}`)+
		withHook("/stripe", target.URL, `, body: text, sign: {secret: key, header: Stripe-Signature, scheme: stripe}`))
	p.do("POST", "/a?n=1", "")
	for range 3 {
		r := target.next(t)
		if want := macOf("key", `{"n": "1"}`); r.body != `{"n": "1"}` || r.header.Get("X-Signature") != want {
			t.Errorf("body %s signed %q, want %s", r.body, r.header.Get("X-Signature"), want)
		}
	}
	p.do("POST", "/stripe", "")
	r := target.next(t)
	at, sum, ok := strings.Cut(r.header.Get("Stripe-Signature"), ",v1=")
	at = strings.TrimPrefix(at, "t=")
	if !ok || sum != macOf("key", at+".text") {
		t.Errorf("signature %q", r.header.Get("Stripe-Signature"))
	}
	if sent, err := time.ParseDuration(at + "s"); err != nil || time.Since(time.Unix(int64(sent/time.Second), 0)) > time.Hour {
		t.Errorf("signed at %q", at)
	}
	target.nothingMore(t, p)
}

// Webhooks that lead to each other end at depth 10.
func TestWebhook_ALoopIsCut(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	target := newHookTarget(t, nil)
	p := serving(t, fmt.Sprintf(`- endpoint:
    method: POST
    path: /loop
    response: {}
    webhooks:
      - {url: "http://127.0.0.1:%d/loop", method: POST, sleep-time: 0}
      - {url: "%s/seen", method: POST, sleep-time: 0}
`, port, target.URL), "--port", fmt.Sprint(port))
	p.do("POST", "/loop", "")
	depths := map[string]bool{}
	for range 10 {
		depths[target.next(t).header.Get("X-Mockserver-Webhook-Depth")] = true
	}
	for i := range 10 {
		if !depths[fmt.Sprint(i+1)] {
			t.Errorf("no webhook of depth %d, only %v", i+1, depths)
		}
	}
	p.waitLine(0, "too many webhooks", "depth=10")
	target.nothingMore(t, p)
}

func TestWebhook_MorePendingThanMayBe(t *testing.T) {
	q := serving(t, strings.Replace(withHook("/a", "http://127.0.0.1:1/", ""), "sleep-time: 0", "sleep-time: 3600", 1), "--max-pending-webhooks", "3", "--grace", "100ms")
	for range 10 {
		q.do("POST", "/a", "").want(t, 201, `{"ok":true}`)
	}
	q.waitLine(0, "webhook refused", "webhook queue is full")
	q.signal(syscall.SIGTERM)
	q.waitLine(0, "webhooks", "refused=7", "abandoned=3")
	if code := q.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// What falls due within the grace period is sent, the rest is counted.
func TestWebhook_DrainOnSIGTERM(t *testing.T) {
	target := newHookTarget(t, nil)
	p := serving(t, strings.Replace(withHook("/soon", target.URL, ""), "sleep-time: 0", "sleep-time: 0.5", 1)+
		strings.Replace(withHook("/late", target.URL, ""), "sleep-time: 0", "sleep-time: 3600", 1))
	p.do("POST", "/soon", "")
	p.do("POST", "/late", "")
	p.signal(syscall.SIGTERM)
	target.next(t)
	p.waitLine(0, "webhooks", "delivered=1", "abandoned=1")
	if code := p.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	target.nothingLeft(t)
}

func TestWebhook_SecondSignalEndsTheDrain(t *testing.T) {
	p := serving(t, strings.Replace(withHook("/soon", "http://127.0.0.1:1", ""), "sleep-time: 0", "sleep-time: 15", 1), "--grace", "1h")
	p.do("POST", "/soon", "")
	p.signal(syscall.SIGTERM)
	p.waitLine(0, "stopping")
	p.signal(syscall.SIGTERM)
	if code := p.exit(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
}

// A reload keeps what is pending.
func TestWebhook_ReloadKeepsWhatIsPending(t *testing.T) {
	target := newHookTarget(t, nil)
	dir := t.TempDir()
	file := writeFile(t, dir, "mock.yml", strings.Replace(withHook("/a", target.URL+"/old", ""), "sleep-time: 0", "sleep-time: 1", 1))
	p := start(t, "-c", file)
	p.do("POST", "/a", "")
	writeFile(t, dir, "mock.yml", withHook("/b", target.URL+"/new", ""))
	p.signal(syscall.SIGHUP)
	p.waitLine(0, "configuration reloaded")
	p.do("POST", "/b", "")
	got := map[string]bool{target.next(t).uri: true, target.next(t).uri: true}
	if !got["/old"] || !got["/new"] {
		t.Errorf("got %v, want /old and /new", got)
	}
}

// One flipped byte in the store loses one webhook of fifty, and it is said.
func TestWebhook_StoreSurvivesAFlippedByte(t *testing.T) {
	t.Parallel()
	target := newHookTarget(t, nil)
	store := t.TempDir()
	file := writeFile(t, t.TempDir(), "mock.yml", `- endpoint:
    method: POST
    path: /later
    response: {status: 201, body: {ok: true}}
    webhook: {url: "`+target.URL+`/{{query-params.n}}", sleep-time: 3600}
`)
	begin := func(args ...string) *process {
		cmd := exec.Command(binary, append([]string{"-c", file, "--webhook-store", store}, args...)...)
		return launchCommand(t, cmd, t.TempDir(), nil).listening()
	}
	p := begin()
	want := map[string]bool{}
	for i := range 50 {
		p.do("POST", fmt.Sprintf("/later?n=number-%d", i), "").want(t, 201, `{"ok":true}`)
		want[fmt.Sprintf("/number-%d", i)] = i != 17
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.exited
	logs, err := filepath.Glob(filepath.Join(store, "*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("got %v, %v; want one file", logs, err)
	}
	text, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	text[bytes.Index(text, []byte("/number-17"))] ^= 1
	if err := os.WriteFile(logs[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	p = begin("--admin", "127.0.0.1:0")
	p.waitLine(0, "ERROR the webhook store is damaged: records are lost", "records=1 places=1")
	admin := adminOf(p)
	var l struct {
		Pending, Lost int
		Webhooks      []struct{ ID string }
	}
	until(t, "all are pending again", func() bool { admin.get("/__admin/webhooks").into(t, 200, &l); return l.Pending == 49 })
	if l.Lost != 1 || value(t, scrape(t, admin), "mockserver_webhook_store_lost_records_total") != 1 {
		t.Errorf("%d lost, want 1", l.Lost)
	}
	for _, w := range l.Webhooks {
		admin.do("POST", "/__admin/webhooks/"+w.ID+"/fire", "").into(t, 200, &struct{}{})
		if r := target.next(t); !want[r.uri] {
			t.Errorf("got %s, which is lost, or came before", r.uri)
		} else {
			want[r.uri] = false
		}
	}
	target.nothingMore(t, p)
	if kept, err := filepath.Glob(filepath.Join(store, "*.log.damaged")); err != nil || len(kept) != 1 {
		t.Errorf("the damaged file is not kept: %v, %v", kept, err)
	}
}

// Fifty times the process is killed while webhooks are accepted: each of which the
// client saw the response is delivered, and none is invented.
func TestWebhook_StoreSurvivesKills(t *testing.T) {
	target := newHookTarget(t, nil)
	store := t.TempDir()
	file := writeFile(t, t.TempDir(), "mock.yml", withHook("/a", target.URL, ", body: '{{query-params.n}}'"))
	kills := 50
	if testing.Short() {
		kills = 5
	}
	asked, answered := 0, map[string]bool{}
	begin := func() *process {
		return launchCommand(t, exec.Command(binary, "-c", file, "--webhook-store", store), t.TempDir(), nil).listening()
	}
	for range kills {
		p := begin()
		after := 1 + rand.IntN(40)
		for i := 0; ; i++ {
			if i == after {
				go func() { _ = p.cmd.Process.Signal(os.Kill) }() // at some moment of what follows
			}
			asked++
			n := fmt.Sprint(asked)
			a, err := p.try("POST", "/a?n="+n, "")
			if err != nil {
				break
			}
			if a.status == 201 {
				answered[n] = true
			}
		}
		<-p.exited
	}
	p := begin()
	got := map[string]bool{}
	for len(answered) > 0 {
		r := target.next(t)
		got[r.body] = true
		if r.header.Get("Idempotency-Key") == "" {
			t.Error("a webhook without a key")
		}
		delete(answered, r.body)
	}
	for name := range got {
		var n int
		if _, err := fmt.Sscan(name, &n); err != nil || n < 1 || n > asked {
			t.Errorf("webhook %q was never asked for", name)
		}
	}
	p.signal(syscall.SIGTERM)
	p.exit()
}
