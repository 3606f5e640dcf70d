//go:build !race

package listener

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
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
`

func TestAllocations_OfTheWholePath(t *testing.T) {
	s := configured(t, measured)
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
		{"an answer to a page of another origin", "GET", "/static", "", 0, 200, `{"hello": "world"}`, []string{"Origin", "https://a.test"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var ctx fasthttp.RequestCtx
			ctx.Request.Header.SetMethod(c.method)
			ctx.Request.SetRequestURI(c.uri)
			ctx.Request.Header.SetHost("mock.test")
			for i := 0; i < len(c.headers); i += 2 {
				ctx.Request.Header.Set(c.headers[i], c.headers[i+1])
			}
			ctx.Request.SetBodyString(c.body)
			wrong := 0
			got := testing.AllocsPerRun(200, func() {
				ctx.Response.Reset() // as the server does between two requests of a connection
				s.serve(&ctx)
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

func TestAllocations_DoNotGrowWithTheNumberOfEndpoints(t *testing.T) {
	s := configured(t, many(10000))
	var ctx fasthttp.RequestCtx
	for _, c := range []struct {
		uri  string
		most float64
	}{{"/static/7777", 0}, {"/users9999/abc", 1}} {
		ctx.Request.SetRequestURI(c.uri)
		got := testing.AllocsPerRun(200, func() {
			ctx.Response.Reset()
			s.serve(&ctx)
		})
		if body := string(ctx.Response.Body()); got > c.most || !strings.Contains(body, `"ok"`) {
			t.Errorf("%s: got %v allocations and %q, want at most %v", c.uri, got, body, c.most)
		}
	}
}
