//go:build !race

package serve

import (
	"context"
	"strings"
	"testing"
	"time"

	"mockserver/fetcher"
	"mockserver/listener/compile"
	"mockserver/listener/observe/record"
	"mockserver/listener/observe/sentry"
	"mockserver/listener/protocol/wire"
	"mockserver/listener/reply"
)

const measured = `
- endpoint: {path: /static, response: {headers: {X-A: "1", X-B: "2"}, body: '{"hello": "world"}'}}
- endpoint: {path: /empty, response: {status: 204}}
- endpoint: {path: "/users/:id", response: {headers: {X-Id: "{{path-params.id}}"}, body: '{"id": "{{path-params.id}}"}'}}
- endpoint: {path: "/typed/:id|int", response: {body: '{"id": {{path-params.id}}}'}}
- endpoint: {path: /search, response: {body: '{"q": "{{query-params.q}}", "page": {{query-params.page|default:"1"}}}'}}
- endpoint: {path: /search2, if: query-params.q = none, response: {status: 404}}
- endpoint: {path: /search2, response: {body: '{{header-params.X-Kind}} {% if query-params.q contains a %}yes{% endif %}'}}
- endpoint: {method: POST, path: /orders, response: {status: 201, body: '{"project": "{{json-params.project}}", "n": {{json-params.items.0.n}}}'}}
- endpoint: {path: /hooked, response: {body: ok}, webhook: {url: "http://127.0.0.1:9/a", method: POST, body: text, sleep-time: 3600}}
- endpoint: {path: "/hooked/:id", response: {body: ok}, webhook: {url: "http://127.0.0.1:9/{{path-params.id}}", method: POST, body: "{{query-params.q}}", headers: {X: "{{path-params.id}}"}, sleep-time: 3600, if: query-params.q = b}}
`

func TestAllocations_OfTheWholePath(t *testing.T) {
	// Error reports cost nothing before there is an error.
	t.Run("reports", func(t *testing.T) { allocations(t, reportingNowhere(t, measured)) })
	t.Run("recorded", func(t *testing.T) { allocations(t, recordingNothingSlow(t, measured)) })
}

// recordingNothingSlow starts a recording server whose journal keeps no request for being slow.
func recordingNothingSlow(t *testing.T, configuration string) *testServer {
	t.Helper()
	return recordingAs(t, configuration, record.JournalOptions{Slowest: -1})
}

func allocations(t *testing.T, s *testServer) {
	s.openWebhooks(t)
	for _, c := range []struct {
		name, method, uri, body string
		most                    float64
		status                  int
		want                    string
		headers                 []string
	}{
		{"a static answer", "GET", "/static", "", 0, 200, `{"hello": "world"}`, nil},
		{"an answer without a body", "GET", "/empty", "", 0, 204, "", nil},
		{"a HEAD answer", "HEAD", "/static", "", 0, 200, `{"hello": "world"}`, nil},
		{"a path parameter, in a header too", "GET", "/users/abc", "", 1, 200, `{"id": "abc"}`, nil},
		{"a typed path parameter", "GET", "/typed/42", "", 1, 200, `{"id": 42}`, nil},
		{"query parameters", "GET", "/search?q=a%20b", "", 1, 200, `{"q": "a b", "page": 1}`, nil},
		{"conditions and a header", "GET", "/search2?q=abc", "", 1, 200, "b yes", []string{"X-Kind", "b"}},
		{"a value inside a JSON body", "POST", "/orders", `{"project": "p\"q", "items": [{"n": 1.50}]}`, 2, 201, `{"project": "p\"q", "n": 1.50}`, nil},
		{"a webhook that is always the same", "GET", "/hooked", "", 0, 200, "ok", nil},
		{"a webhook with a URL, a header and a body of its own", "GET", "/hooked/7?q=b", "", 2, 200, "ok", nil},
		{"an answer to a page of another origin", "GET", "/static", "", 0, 200, `{"hello": "world"}`, []string{"Origin", "https://a.test"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var ctx wire.Exchange
			ctx.Request.Header.SetMethod(c.method)
			ctx.Request.SetRequestURI(c.uri)
			ctx.Request.Header.SetHost("mock.test")
			for i := 0; i < len(c.headers); i += 2 {
				ctx.Request.Header.Set(c.headers[i], c.headers[i+1])
			}
			ctx.Request.SetBodyString(c.body)
			asReceived(&ctx)
			wrong := 0
			got := testing.AllocsPerRun(200, func() {
				ctx.Response.Reset() // as the server does between two requests of a connection
				_ = s.Serve(&ctx)
				if ctx.Response.StatusCode() != c.status || string(ctx.Response.Body()) != c.want {
					wrong++
				}
			})
			if wrong > 0 {
				t.Errorf("got %d %q, want %d %q", ctx.Response.StatusCode(), ctx.Response.Body(), c.status, c.want)
			}
			if got > c.most {
				t.Errorf("got %v allocations, want at most %v", got, c.most)
			}
		})
	}
}

// reportingNowhere configures a server with error reports that no host receives.
func reportingNowhere(t *testing.T, configuration string) *testServer {
	t.Helper()
	s := configured(t, configuration)
	s.Reports = sentry.Open("http://key@127.0.0.1:9/1", "", s.Log)
	t.Cleanup(func() { s.Reports.Close(context.Background()) })
	return s
}

// After the first error of a minute, an error costs no more with reports than without.
func TestAllocations_OfErrorReports(t *testing.T) {
	a := &compile.Response{Name: "GET /x", Source: &fetcher.Source{}}
	err := &fetcher.Error{Kind: fetcher.Upstream, Message: "x"}
	report := func(s *testServer) float64 {
		s.serverErrors.Pass(reply.UpstreamFailed.Code+" "+a.Name, time.Now())
		return testing.AllocsPerRun(200, func() { s.logServerError(reply.UpstreamFailed, a, err) })
	}
	without, with := report(configured(t, measured)), report(reportingNowhere(t, measured))
	if with > without {
		t.Errorf("%v allocations with reports, %v without", with, without)
	}
}

// A request that selects no particular answer of an operation costs the same as a request to a
// declared endpoint.
func TestAllocations_OfOperations(t *testing.T) {
	s := described(t, "- endpoint: {path: '/declared/:id', response: {body: '{\"cat\":1}'}}", pets()...)
	measure := func(uri, want string, headers ...string) float64 {
		var ctx wire.Exchange
		ctx.Request.SetRequestURI(uri)
		for i := 0; i < len(headers); i += 2 {
			ctx.Request.Header.Set(headers[i], headers[i+1])
		}
		ctx.Request.Header.SetHost("mock.test")
		asReceived(&ctx)
		wrong := 0
		got := testing.AllocsPerRun(200, func() {
			ctx.Response.Reset()
			_ = s.Serve(&ctx)
			if string(ctx.Response.Body()) != want {
				wrong++
			}
		})
		if wrong > 0 {
			t.Errorf("%s: got %s, want %s", uri, ctx.Response.Body(), want)
		}
		return got
	}
	declared := measure("/declared/7", `{"cat":1}`)
	for _, c := range []struct {
		uri, want string
		most      float64
		headers   []string
	}{
		{"/pets/7", `{"cat":1}`, declared, nil},
		{"/pets/7?a=b", `{"cat":1}`, declared, []string{"Accept", "application/xml"}},
		{"/kinds", `{"cat":1}`, 0, []string{"Accept", "*/*"}},
		{"/kinds", `<cat/>`, 0, []string{"Accept", "application/xml, */*;q=0.1"}},
		{"/pets/7", `{"gone":1}`, declared, []string{"Prefer", `code=404, example="gone"`}},
		{"/plain?__code=501", `{"broken":1}`, 3, nil}, // the answer with that status, and values from the query
	} {
		if got := measure(c.uri, c.want, c.headers...); got > c.most {
			t.Errorf("%s %s: %v allocations, want at most %v", c.uri, c.headers, got, c.most)
		}
	}
}

func TestAllocations_DoNotGrowWithTheNumberOfEndpoints(t *testing.T) {
	s := configured(t, many(10000))
	var ctx wire.Exchange
	for _, c := range []struct {
		uri  string
		most float64
	}{{"/static/7777", 0}, {"/users9999/abc", 1}} {
		ctx.Request.SetRequestURI(c.uri)
		ctx.Request.Header.SetMethod("GET")
		got := testing.AllocsPerRun(200, func() {
			ctx.Response.Reset()
			_ = s.Serve(&ctx)
		})
		if body := string(ctx.Response.Body()); got > c.most || !strings.Contains(body, `"ok"`) {
			t.Errorf("%s: got %v allocations and %q, want at most %v", c.uri, got, body, c.most)
		}
	}
}

// A fixed answer is written without an allocation; the date, which changes every second, costs
// none either.
func TestAllocations_OfFixedReplies(t *testing.T) {
	t.Run("off", func(t *testing.T) { fixedAllocations(t, configured(t, fixable)) })
	t.Run("recorded", func(t *testing.T) { fixedAllocations(t, recordingNothingSlow(t, fixable)) })
}

func fixedAllocations(t *testing.T, s *testServer) {
	l := handling(s, wire.New(nil, s.Log))
	conn := l.Adopt(&script{})
	defer conn.Close()
	plain := wire.Plain{Method: []byte("GET"), Target: []byte("/json/?a=b"), Alone: true, Bytes: make([]byte, 0, wire.MaxHeader)}
	served := 0
	got := testing.AllocsPerRun(200, func() {
		conn.Conn.(*script).Got.Reset()
		if later, err := s.Answer(conn, &plain); later == nil && err == nil {
			served++
		}
	})
	if got > 0 || served != 201 {
		t.Errorf("got %v allocations in %d answers, want none in 201", got, served)
	}
}

// A plain request allocates nothing on any part of its path.
func TestAllocations_OfDirectReplies(t *testing.T) {
	for name, s := range map[string]*testServer{"off": configured(t, directable), "recorded": recordingNothingSlow(t, directable)} {
		for _, sent := range []string{
			send("GET", "/made/7", ""), send("GET", "/static", ""), send("PUT", "/made/7", "text"), send("DELETE", "/made/7", ""), send("POST", "/json", `{"project":"x","items":[1]}`),
		} {
			cost := func(requests int) float64 {
				return testing.AllocsPerRun(10, func() {
					conn := handling(s, wire.New(nil, s.Log)).Adopt(&repeating{request: sent, left: requests})
					_ = conn.Serve() // the client sees the result
				})
			}
			if few, many := cost(10), cost(1010); (many-few)/1000 > 0.1 { // a collection empties the pools
				t.Errorf("%s: %q: %v allocations with 10 requests, %v with 1010", name, sent, few, many)
			}
		}
	}
}
