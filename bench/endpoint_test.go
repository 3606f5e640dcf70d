package bench

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mockserver/config"
	"mockserver/config/item"
	"mockserver/config/syntax"
)

// requestsOf returns a request for each endpoint; "" if none was found.
func requestsOf(t *testing.T, endpoints []item.Endpoint) []string {
	t.Helper()
	o := newOracle(endpoints, nil)
	lines := make([]string, len(endpoints))
	for i := range endpoints {
		if req := o.requestOf(&endpoints[i], i); req != nil {
			lines[i] = req.line()
		}
	}
	return lines
}

// behindCondition reports whether an earlier endpoint with the same method and path has a condition.
func behindCondition(earlier []item.Endpoint, e *item.Endpoint) bool {
	return slices.ContainsFunc(earlier, func(other item.Endpoint) bool { return other.If.Value != "" && nameOf(&other) == nameOf(e) })
}

// Every endpoint of the examples gets a request that it answers itself, unless it has a condition,
// or an endpoint before it with the same method and path has one.
func TestRequestsForExamples(t *testing.T) {
	files, err := filepath.Glob("../examples/*.yml")
	if err != nil || len(files) < 4 {
		t.Fatalf("examples: %v, %v", files, err)
	}
	for _, file := range files {
		with := []string{file}
		if filepath.Base(file) == "petstore-mocks.yml" { // it is not complete without its document
			with = []string{"../examples/petstore.yml", file}
		}
		spec := config.Loader{SampleRequests: true}.Load(with...)
		if err := spec.Problems.Err(); err != nil {
			t.Fatal(err)
		}
		for i, line := range requestsOf(t, spec.Endpoints) {
			if e := &spec.Endpoints[i]; line == "" && e.If.Value == "" && !behindCondition(spec.Endpoints[:i], e) {
				t.Errorf("%s: no request for %s (%s)", file, named(e), e.Doc.Summary)
			}
		}
	}
}

// Requests to the operations of an OpenAPI document use the examples that the document declares.
func TestSampleOf_OpenAPIDocument(t *testing.T) {
	file := filepath.Join(t.TempDir(), "api.yml")
	if err := os.WriteFile(file, []byte(`openapi: 3.0.3
info: {title: a, version: "1"}
paths:
  /shops/{shop}/orders/{id}.json:
    parameters:
      - {name: shop, in: path, required: true, example: a b, schema: {type: string}}
    put:
      parameters:
        - {name: id, in: path, required: true, schema: {type: integer, example: 42}}
        - {name: page, in: query, examples: {one: {value: 2}}, schema: {type: integer}}
        - {name: unknown, in: query, schema: {type: string}}
        - {name: X-Tenant, in: header, example: t1, schema: {type: string}}
        - {name: a, in: cookie, example: 1, schema: {type: integer}}
        - {name: b, in: cookie, example: 2, schema: {type: integer}}
      requestBody:
        content: {application/json: {example: {amount: 7}}}
      responses: {"204": {description: done}}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	spec := config.Loader{SampleRequests: true}.Load(file)
	if err := spec.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	req := sampleOf(&spec.Endpoints[0])
	headers := map[string]string{"X-Tenant": "t1", "Cookie": "a=1; b=2", "Content-Type": "application/json"}
	if req.line() != "PUT /shops/a%20b/orders/42.json?page=2" || req.Body != `{"amount":7}` || !maps.Equal(req.Headers, headers) {
		t.Errorf("%s, %q, %q", req.line(), req.Headers, req.Body)
	}
}

func TestSampleOf_AnyMethod(t *testing.T) {
	if req := sampleOf(&item.Endpoint{Method: item.MethodAny, Path: syntax.Text{Value: "/a"}}); req.line() != "GET /a" {
		t.Errorf("got %s, want GET /a", req.line())
	}
}

func TestRequestsFitPaths(t *testing.T) {
	var endpoints []item.Endpoint
	for _, path := range []string{"/", "/a b/:x", "/i/:n|int", "/f/:n|float", "/b/:n|bool", "/u/:n|uuid", "/d/:n|date", "/files/*rest", "/%7Bx%7D/é", "/q?page=1", "/i/:n"} {
		endpoints = append(endpoints, item.Endpoint{Path: syntax.Text{Value: path}})
	}
	endpoints = append(endpoints, item.Endpoint{Path: syntax.Text{Value: "/"}, Host: "api.example.com"}, item.Endpoint{Path: syntax.Text{Value: "/"}, Host: "*.example.com"})
	for i, line := range requestsOf(t, endpoints) {
		if line == "" {
			t.Errorf("no request for %s%s", endpoints[i].Host, endpoints[i].Path.Value)
		}
	}
}

// The status of an answer shows which of the endpoints answered among which conditions choose.
func TestIsAmbiguous(t *testing.T) {
	path := func(path string, status int, condition string) item.Endpoint {
		return item.Endpoint{Path: syntax.Text{Value: path}, If: syntax.Text{Value: condition}, Response: item.Response{Status: status}}
	}
	endpoints := []item.Endpoint{path("/a/:id", 422, "query-params.a = 1"), path("/a/:name", 0, ""), path("/a/:x", 422, "query-params.b = 1"), path("/b", 404, "query-params.a = 1")}
	alike := alikeIn(endpoints)
	for _, c := range []struct {
		of, status int
		want       bool
	}{{1, 200, false}, {0, 422, true}, {2, 422, true}, {3, 404, true}} {
		e := &endpoints[c.of]
		if got := isAmbiguous(e, alike[place(e)], c.status); got != c.want {
			t.Errorf("%s, status %d: %v, want %v", named(e), c.status, got, c.want)
		}
	}
}

// Requests are made for what the server serves, which its flags may change.
func TestLoader_HasTheFlagsOfTheServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags  []string
		want   string
		remote bool
	}{
		{nil, "", false},
		{[]string{"--base-path", "/v2", "--access-log"}, "/v2", false},
		{[]string{"--base-path=v2"}, "", false},
		{[]string{"--allow-remote-refs"}, "", true},
	} {
		r := &run{opts: Options{Server: c.flags}}
		if l := r.loader(); l.BasePath != c.want || l.AllowRemoteRefs != c.remote || !l.SampleRequests {
			t.Errorf("%q: got %+v, want the base path %q, remote references %v, and requests", c.flags, l, c.want, c.remote)
		}
	}
}
