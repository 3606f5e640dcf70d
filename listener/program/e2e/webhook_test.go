package e2e_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mockserver/internal/harness"
)

// TestWebhook_SaysWhatTheRequestGave sends the same webhook declared in both syntaxes, with values
// from all sources in all of its parts.
func TestWebhook_SaysWhatTheRequestGave(t *testing.T) {
	t.Parallel()
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
			target := NewHookTarget(t, nil)
			p := Start(t, "-c", harness.WriteFile(t, t.TempDir(), name, strings.ReplaceAll(spec, "TARGET", target.URL)))
			p.Do("POST", "/orders/a%2Fb?q=x%20y%22", `{"total": 12.50}`, "Content-Type: application/json", "X-Who: me", "Authorization: Bearer secret", "Cookie: a=b").
				Want(t, 201, `{"ok":true}`)
			r := target.Next(t)
			if r.Method != "PUT" || r.URI != "/back/a%2Fb/me?q=x%20y%22&t=12.50" || r.Host != strings.TrimPrefix(target.URL, "http://") {
				t.Errorf("got %s %s for %s", r.Method, r.URI, r.Host)
			}
			if want := `{"id":"a/b","total":12.50,"q":"x y\"","who":"me"}`; r.Body != want {
				t.Errorf("body %s, want %s", r.Body, want)
			}
			for name, want := range map[string][]string{
				"X-Who": {`me a/b x y" 12.50`}, "X-Fixed": {"one", "two"}, "X-Spelt": {"a"}, "Content-Type": {"application/json"},
				"X-Mockserver-Webhook-Depth": {"1"}, "X-Sum": {macOf("key", r.Body)},
				"Authorization": nil, "Cookie": nil, "Idempotency-Key": nil, // the client's headers are not passed on
			} {
				if got := r.Header[name]; !slices.Equal(got, want) {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			target.NothingMore(t, p)
		})
	}
}

// macOf returns the HMAC-SHA256 of a text in hexadecimal.
func macOf(key, text string) string {
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil))
}

// A body that looks like JSON stays JSON if a placeholder determines its content type.
func TestWebhook_ATypeThatIsAPlaceholder(t *testing.T) {
	t.Parallel()
	target := NewHookTarget(t, nil)
	p := Serving(t, WithHook("/a", target.URL, `, headers: {Content-Type: "{{query-params.type}}"}, body: '{"q": "{{query-params.q}}"}'`))
	p.Do("POST", "/a?type=application/json&q=%22", "")
	if r := target.Next(t); r.Body != `{"q": "\""}` || r.Header.Get("Content-Type") != "application/json" {
		t.Errorf("got %s of type %q", r.Body, r.Header.Get("Content-Type"))
	}
}

func TestWebhook_Methods(t *testing.T) {
	t.Parallel()
	target := NewHookTarget(t, nil)
	var spec strings.Builder
	methods := []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}
	for _, m := range methods {
		fmt.Fprintf(&spec, "- endpoint: {path: /%s, response: {}, webhook: {method: %s, url: '%s/%s', body: text, sleep-time: 0}}\n", m, strings.ToLower(m), target.URL, m)
	}
	p := Serving(t, spec.String())
	for _, m := range methods {
		p.Get("/"+m).Want(t, 200, "")
		if r := target.Next(t); r.Method != m || r.URI != "/"+m || r.Body != "text" {
			t.Errorf("got %s %s %q, want %s with its text", r.Method, r.URI, r.Body, m)
		}
	}
}

// A webhook without a method is a POST, however it is declared.
func TestWebhook_IsAPOSTUnlessDeclared(t *testing.T) {
	t.Parallel()
	target := NewHookTarget(t, nil)
	dir := t.TempDir()
	document := harness.WriteFile(t, dir, "api.yml", "openapi: 3.0.3\ninfo: {title: A, version: '1'}\npaths: {/mocks: {get: {operationId: a, responses: {'200': {description: a}}}}}\n")
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
		args = append(args, flag, harness.WriteFile(t, dir, name, strings.ReplaceAll(text, "TARGET", target.URL)))
	}
	p := Start(t, args...)
	for _, path := range []string{"/yaml", "/json", "/edn", "/mocks"} {
		p.Get(path).Want(t, 200, "")
		if r := target.Next(t); r.Method != "POST" || r.URI != path {
			t.Errorf("%s: got %s %s, want a POST", path, r.Method, r.URI)
		}
	}
}

func TestWebhook_Conditions(t *testing.T) {
	t.Parallel()
	target := NewHookTarget(t, nil)
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
		{"query-params.a != 1", "", "", true}, // a missing value equals only null and ""
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
		spec.WriteString(WithHook(fmt.Sprintf("/c%d/:id", i), target.URL, keys))
	}
	spec.WriteString(WithHook("/last", target.URL, ", body: last"))
	p := Serving(t, spec.String())
	for i, c := range cases {
		if a := p.Do("POST", fmt.Sprintf("/c%d/7%s", i, c.query), c.body); a.Status != 201 {
			t.Fatalf("case %d: %d %s", i, a.Status, a.Body)
		}
	}
	p.Do("POST", "/last", "")
	got := map[string]bool{}
	want := 1
	for _, c := range cases {
		if c.sent {
			want++
		}
	}
	for range want {
		got[target.Next(t).Body] = true
	}
	for i, c := range cases {
		if got[fmt.Sprintf("case %d", i)] != c.sent {
			t.Errorf("%q with %q %q: sent %v, want %v", c.condition, c.query, c.body, !c.sent, c.sent)
		}
	}
	target.NothingMore(t, p)
}

// Each of several webhooks has its own condition, delay and texts.
func TestWebhook_SeveralOfOneEndpoint(t *testing.T) {
	target := NewHookTarget(t, nil)
	p := Serving(t, fmt.Sprintf(`- endpoint:
    method: POST
    path: /a
    response: {status: 201, body: {ok: true}}
    webhooks:
      - {url: "%[1]s/second", method: PUT, sleep-time: 0.3, body: {n: 2}}
      - {url: "%[1]s/first", method: POST, sleep-time: 0, body: {n: 1}}
      - {url: "%[1]s/none", method: POST, sleep-time: 0, if: query-params.a = 1}
      - {url: "http://127.0.0.1:1/refused", method: POST, sleep-time: 0}
`, target.URL))
	p.Do("POST", "/a", "").Want(t, 201, `{"ok":true}`)
	for _, want := range []string{`POST /first {"n":1}`, `PUT /second {"n":2}`} {
		if r := target.Next(t); r.Method+" "+r.URI+" "+r.Body != want {
			t.Errorf("got %s %s %s, want %s", r.Method, r.URI, r.Body, want)
		}
	}
	p.WaitLine(0, "webhook failed", `webhook="POST /a webhooks[3]"`)
	target.NothingMore(t, p)
	p.WaitLine(0, "webhooks", "delivered=2", "dead=1")
}

func TestWebhook_RetriesAndSignatures(t *testing.T) {
	t.Parallel()
	target := NewHookTarget(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n <= 2 {
			w.WriteHeader(500)
		}
	})
	p := Serving(t, WithHook("/a", target.URL, `, body: '{"n": "{{query-params.n}}"}', retry: {attempts: 5, backoff: 10ms, max-backoff: 20ms}, sign: {secret: key}`)+
		WithHook("/stripe", target.URL, `, body: text, sign: {secret: key, header: Stripe-Signature, scheme: stripe}`))
	p.Do("POST", "/a?n=1", "")
	for range 3 {
		r := target.Next(t)
		if want := macOf("key", `{"n": "1"}`); r.Body != `{"n": "1"}` || r.Header.Get("X-Signature") != want {
			t.Errorf("body %s signed %q, want %s", r.Body, r.Header.Get("X-Signature"), want)
		}
	}
	p.Do("POST", "/stripe", "")
	r := target.Next(t)
	at, sum, ok := strings.Cut(r.Header.Get("Stripe-Signature"), ",v1=")
	at = strings.TrimPrefix(at, "t=")
	if !ok || sum != macOf("key", at+".text") {
		t.Errorf("signature %q", r.Header.Get("Stripe-Signature"))
	}
	if sent, err := time.ParseDuration(at + "s"); err != nil || time.Since(time.Unix(int64(sent/time.Second), 0)) > time.Hour {
		t.Errorf("signed at %q", at)
	}
	target.NothingMore(t, p)
}

// A chain of webhooks that trigger each other stops at depth 10.
func TestWebhook_ALoopIsCut(t *testing.T) {
	t.Parallel()
	port := PortOf(t, unusedAddresses(t, 1)[0])
	target := NewHookTarget(t, nil)
	p := Serving(t, fmt.Sprintf(`- endpoint:
    method: POST
    path: /loop
    response: {}
    webhooks:
      - {url: "http://127.0.0.1:%s/loop", method: POST, sleep-time: 0}
      - {url: "%s/seen", method: POST, sleep-time: 0}
`, port, target.URL), "--port", port)
	p.Do("POST", "/loop", "")
	depths := map[string]bool{}
	for range 10 {
		depths[target.Next(t).Header.Get("X-Mockserver-Webhook-Depth")] = true
	}
	for i := range 10 {
		if !depths[fmt.Sprint(i+1)] {
			t.Errorf("no webhook of depth %d, only %v", i+1, depths)
		}
	}
	p.WaitLine(0, "too many webhooks", "depth=10")
	target.NothingMore(t, p)
}

func TestWebhook_MorePendingThanMayBe(t *testing.T) {
	t.Parallel()
	q := Serving(t, strings.Replace(WithHook("/a", "http://127.0.0.1:1/", ""), "sleep-time: 0", "sleep-time: 3600", 1), "--max-pending-webhooks", "3", "--grace", "100ms")
	for range 10 {
		q.Do("POST", "/a", "").Want(t, 201, `{"ok":true}`)
	}
	q.WaitLine(0, "webhook refused", "webhook queue is full")
	q.Signal(syscall.SIGTERM)
	q.WaitLine(0, "webhooks", "refused=7", "abandoned=3")
	if code := q.Exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// Webhooks that fall due within the grace period are sent; the rest are counted.
func TestWebhook_DrainOnSIGTERM(t *testing.T) {
	t.Parallel()
	target := NewHookTarget(t, nil)
	p := Serving(t, strings.Replace(WithHook("/soon", target.URL, ""), "sleep-time: 0", "sleep-time: 0.5", 1)+
		strings.Replace(WithHook("/late", target.URL, ""), "sleep-time: 0", "sleep-time: 3600", 1))
	p.Do("POST", "/soon", "")
	p.Do("POST", "/late", "")
	p.Signal(syscall.SIGTERM)
	target.Next(t)
	p.WaitLine(0, "webhooks", "delivered=1", "abandoned=1")
	if code := p.Exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	target.NothingLeft(t)
}

func TestWebhook_SecondSignalEndsTheDrain(t *testing.T) {
	t.Parallel()
	p := Serving(t, strings.Replace(WithHook("/soon", "http://127.0.0.1:1", ""), "sleep-time: 0", "sleep-time: 15", 1), "--grace", "1h")
	p.Do("POST", "/soon", "")
	p.Signal(syscall.SIGTERM)
	p.WaitLine(0, "stopping")
	p.Signal(syscall.SIGTERM)
	if code := p.Exit(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
}

// A reload keeps pending webhooks.
func TestWebhook_ReloadKeepsWhatIsPending(t *testing.T) {
	t.Parallel()
	target := NewHookTarget(t, nil)
	dir := t.TempDir()
	file := harness.WriteFile(t, dir, "mock.yml", strings.Replace(WithHook("/a", target.URL+"/old", ""), "sleep-time: 0", "sleep-time: 1", 1))
	p := Start(t, "-c", file)
	p.Do("POST", "/a", "")
	harness.WriteFile(t, dir, "mock.yml", WithHook("/b", target.URL+"/new", ""))
	p.Signal(syscall.SIGHUP)
	p.WaitLine(0, "configuration reloaded")
	p.Do("POST", "/b", "")
	got := map[string]bool{target.Next(t).URI: true, target.Next(t).URI: true}
	if !got["/old"] || !got["/new"] {
		t.Errorf("got %v, want /old and /new", got)
	}
}

// A webhook of an endpoint says that something was done, so it is not sent with an error, whether the
// error is declared as an outcome or injected by a latency, unless it says with which statuses it is.
func TestWebhook_IsSentWithTheStatusesThatItNames(t *testing.T) {
	t.Parallel()
	target := NewHookTarget(t, nil)
	hook := func(to, on string) string {
		return fmt.Sprintf("{method: POST, sleep-time: 0, url: %q%s}", target.URL+"/"+to, on)
	}
	p := Serving(t, `
- endpoint: {method: POST, path: /injected, latency: {failure-rate: 1}, response: {status: 201}, webhooks: [`+
		hook("injected", "")+", "+hook("injected-success", ", on: success")+", "+hook("injected-any", ", on: any")+", "+hook("injected-500", ", on: [201, 500]")+", "+hook("injected-201", ", on: [201]")+`]}
- endpoint: {method: POST, path: /outcome, responses: [{status: 500}], webhooks: [`+
		hook("outcome", "")+", "+hook("outcome-any", ", on: any")+", "+hook("outcome-500", ", on: [201, 500]")+", "+hook("outcome-201", ", on: [201]")+`]}
- endpoint: {method: POST, path: /own, responses: [{status: 500, webhooks: [`+hook("own", "")+", "+hook("own-success", ", on: success")+`]}]}
- endpoint: {method: POST, path: /fine, response: {status: 201}, webhooks: [`+hook("fine", "")+", "+hook("fine-500", ", on: [500]")+`]}
`)
	for path, status := range map[string]int{"/injected": 500, "/outcome": 500, "/own": 500, "/fine": 201} {
		if got := p.Do("POST", path, "").Status; got != status {
			t.Errorf("%s: status %d, want %d", path, got, status)
		}
	}
	var got []string
	for range 6 {
		got = append(got, target.Next(t).URI)
	}
	slices.Sort(got)
	if want := []string{"/fine", "/injected-500", "/injected-any", "/outcome-500", "/outcome-any", "/own"}; !slices.Equal(got, want) {
		t.Errorf("got the webhooks %q, want %q", got, want)
	}
	target.NothingMore(t, p)
	p.WaitLine(0, "WARN", "is not sent with responses[0], whose status is 500; expected on: any to send it, or on: success to say so")
}
