package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mockserver/config"
	"mockserver/listener"
)

// oracleFor serves endpoints that say which they are.
func oracleFor(t *testing.T, endpoints []config.Endpoint) *oracle {
	t.Helper()
	marked := make([]config.Endpoint, len(endpoints))
	for i := range endpoints {
		e := &endpoints[i]
		marked[i] = config.Endpoint{
			Host: e.Host, Method: e.Method, Path: config.Plain(plainPath(e)), If: e.If,
			Response: config.Response{Headers: config.Headers(endpointHeader, fmt.Sprint(i))},
		}
	}
	server, err := listener.Start(config.New(marked...), listener.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() }) // what is cut off is of no interest
	o := &oracle{caller{address: server.Addr().String()}}
	t.Cleanup(o.close)
	return o
}

// requestsOf looks for a request for each endpoint; "" for none.
func requestsOf(t *testing.T, endpoints []config.Endpoint) []string {
	t.Helper()
	o := oracleFor(t, endpoints)
	lines := make([]string, len(endpoints))
	for i := range endpoints {
		req, err := o.request(context.Background(), endpoints, i)
		if err != nil {
			t.Fatal(err)
		}
		if req != nil {
			lines[i] = req.line()
		}
	}
	return lines
}

// Every endpoint of the examples gets a request that it answers itself.
func TestRequestsForExamples(t *testing.T) {
	files, err := filepath.Glob("../examples/*.yml")
	if err != nil || len(files) < 4 {
		t.Fatalf("examples: %v, %v", files, err)
	}
	for _, file := range files {
		with := []string{file}
		if filepath.Base(file) == "petstore-mocks.yml" { // it is nothing without its document
			with = []string{"../examples/petstore.yml", file}
		}
		spec := config.Load(with...)
		if err := spec.Problems.Err(); err != nil {
			t.Fatal(err)
		}
		for i, line := range requestsOf(t, spec.Endpoints) {
			if line == "" {
				t.Errorf("%s: no request for %s (%s)", file, named(&spec.Endpoints[i]), spec.Endpoints[i].Doc.Summary)
			}
		}
	}
}

// Each condition is met by a request, and not met by another, which reaches the
// endpoint behind it.
func TestConditionsAreMet(t *testing.T) {
	for _, condition := range []string{
		`query-params.page = 2`,
		`query-params.page != 2`,
		`query-params.page != ""`,
		`header-params.X-Tenant = "a b"`,
		`cookie-params.session`,
		`form-params.amount >= 100`,
		`json-params.amount > 0 and json-params.amount < 10`,
		`json-params.items.1.sku = "A-1"`,
		`json-params.flag = true or json-params.kind = null and json-params.other = "x"`,
		`not (json-params.card matches "^4[0-9]{15}$" or json-params.name = "")`,
		`json-params.tags|length > 3`,
		`json-params.title|json matches '^"'`,
		`path-params.id matches "^(a|b)_[0-9a-f]{4}$" and not path-params.id matches "^a"`,
		`query-params.q|lower = "task 7"`,
		`{{query-params.n}} <= -5`,
		`body contains "cus_\"x"`,
		`query-params.limit|default:20|mul:query-params.page >= 50`,
		`method = "GET" or query-params.a = 1`,
	} {
		endpoints := []config.Endpoint{
			{Method: "POST", Path: config.Plain("/c/:id"), If: config.Plain(condition)},
			{Method: "POST", Path: config.Plain("/c/:id")},
		}
		for i, line := range requestsOf(t, endpoints) {
			if line == "" {
				t.Errorf("%s: no request for endpoint %d", condition, i)
			}
		}
	}
}

func TestRequestsFitPaths(t *testing.T) {
	var endpoints []config.Endpoint
	for _, path := range []string{"/", "/a b/:x", "/i/:n|int", "/f/:n|float", "/b/:n|bool", "/u/:n|uuid", "/d/:n|date", "/files/*rest", "/%7Bx%7D/é", "/q?page=1", "/i/:n"} {
		endpoints = append(endpoints, config.Endpoint{Path: config.Plain(path)})
	}
	endpoints = append(endpoints, config.Endpoint{Path: config.Plain("/"), Host: "api.example.com"}, config.Endpoint{Path: config.Plain("/"), Host: "*.example.com"})
	for i, line := range requestsOf(t, endpoints) {
		if line == "" {
			t.Errorf("no request for %s%s", endpoints[i].Host, endpoints[i].Path.Value)
		}
	}
}

// What no request reaches is told as such, and is no endless search.
func TestNoRequest(t *testing.T) {
	endpoints := []config.Endpoint{
		{Path: config.Plain("/a")},
		{Path: config.Plain("/a"), If: config.Plain("query-params.a = 1")},
		{Path: config.Plain("/b"), If: config.Plain("remote-addr = 192.0.2.1")},
	}
	got := requestsOf(t, endpoints)
	if got[0] == "" || got[1] != "" || got[2] != "" {
		t.Errorf("got %q", got)
	}
	if why := whyNot(&endpoints[2]); !strings.Contains(why, "condition") || !strings.Contains(why, "--requests") {
		t.Errorf("why: %s", why)
	}
}

func TestDraftFindsFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "user-42.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := config.Endpoint{Dir: dir, Path: config.Plain("/users/:id")}
	e.Response.External = &config.ExternalBody{Provider: "json", Path: config.Plain("user-{{ path-params.id }}.json")}
	d := newDraft(&e)
	d.find()
	if got := d.path(); got != "/users/42" {
		t.Errorf("got %s", got)
	}
}

func TestCosts(t *testing.T) {
	req := &request{Body: strings.Repeat("x", 2000)}
	small := &reply{body: []byte("{}")}
	for _, c := range []struct {
		name     string
		endpoint config.Endpoint
		sample   *reply
		before   int
		flags    []string
		want     string // "" for nothing
	}{
		{"plain", config.Endpoint{Response: config.Response{Body: config.Plain("{{path-params.id}}")}}, small, 0, nil, ""},
		{"raw", config.Endpoint{Response: config.Response{Raw: true, Body: config.Plain(strings.Repeat(`{{fake("email")}}`, 20))}}, small, 0, nil, ""},
		{"template", config.Endpoint{Response: config.Response{Body: config.Plain(strings.Repeat("{{now}}", 12))}}, small, 0, nil, "a template of 12 placeholders and blocks in 84 bytes"},
		{"fake", config.Endpoint{Response: config.Response{Body: config.Plain(`{{fake("email")}}`)}}, small, 0, nil, "1 × fake()"},
		{"loop", config.Endpoint{Response: config.Response{Body: config.Plain(`{% for x in json-params.a %}{% endfor %}`)}}, small, 0, nil, "loops in its body (1)"},
		{"large", config.Endpoint{}, &reply{body: make([]byte, 20000)}, 0, nil, "a body of 20 kB"},
		{"condition", config.Endpoint{If: config.Plain("json-params.a = 1")}, small, 0, nil, "a condition over a JSON body of 2000 bytes"},
		{"expression", config.Endpoint{If: config.Plain(`path-params.a matches "x"`)}, small, 0, nil, "1 regular expression"},
		{"rivals", config.Endpoint{}, small, 3, nil, "3 endpoints of the same path"},
		{"log", config.Endpoint{}, small, 0, []string{"--access-log"}, "each request is logged"},
		{"fetched", config.Endpoint{Response: config.Response{External: &config.ExternalBody{Path: config.Plain("http://h/")}}}, small, 0, nil, "fetched from a URL when a request comes"},
		{"named", config.Endpoint{Response: config.Response{External: &config.ExternalBody{Path: config.Plain("{{path-params.id}}.json")}}}, small, 0, nil, "the name of its file"},
	} {
		got := strings.Join(costs(&c.endpoint, req, c.sample, c.before, c.flags), "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q; want %q", c.name, got, c.want)
		}
	}
}

func FuzzReadCondition(f *testing.F) {
	for _, seed := range []string{`query-params.page = 2`, `not (a or b and c != "x\"")`, `body matches '^(a|b)+$'`, `((`, `a|default:"1"|mul:query-params.b >= 5`, "not not not x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, ok := readCondition(text)
		if !ok {
			return
		}
		for _, holds := range []bool{true, false} {
			ways := c.ways(holds)
			if len(ways) == 0 || len(ways) > mostWays {
				t.Fatalf("%q: %d ways", text, len(ways))
			}
			e := config.Endpoint{Method: "POST", Path: config.Plain("/a/:id")}
			d := newDraft(&e)
			d.grant(ways[0], nil, 1)
			if r := d.request(); r.check() != nil {
				t.Errorf("%q: %v: %q", text, r.check(), r.Path)
			}
		}
	})
}
