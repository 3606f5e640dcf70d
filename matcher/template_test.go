package matcher

import (
	"slices"
	"strings"
	"testing"

	"mockserver/config"
	"mockserver/config/item"
	"mockserver/config/syntax"
)

// tableOf compiles endpoints: "GET /path", prefixed with "template " for paths of OpenAPI
// documents.
func tableOf(t *testing.T, declared ...string) (*Table, []Route) {
	t.Helper()
	routes := make([]Route, len(declared))
	for i, d := range declared {
		path, template := strings.CutPrefix(d, "template ")
		e := &item.Endpoint{Path: syntax.Text{Value: path}, Template: template}
		pattern, problems := Path(e)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		routes[i] = Route{Endpoint: e, Pattern: pattern}
	}
	table, _ := Compile(routes)
	return table, routes
}

func TestTemplates(t *testing.T) {
	for _, c := range []struct {
		path, request string
		params        string // name=value, separated by spaces; "none" if nothing matches
	}{
		{"/a/{id}", "/a/1", "id=1"},
		{"/a/{id}", "/a/1.json", "id=1.json"},
		{"/a/{id}", "/a/", "none"},
		{"/a/{id}/", "/a/x", "id=x"},
		{"/{a}/{b}", "/1/2", "a=1 b=2"},
		{"/r/{id}.{format}", "/r/7.pdf", "=7.pdf id=7 format=pdf"},
		{"/r/{id}.{format}", "/r/7.tar.gz", "=7.tar.gz id=7 format=tar.gz"},
		{"/r/{id}.{format}", "/r/7", "none"},
		{"/r/{id}.{format}", "/r/.pdf", "none"},
		{"/r/{id}.{format}", "/r/7.", "none"},
		{"/c/{base}...{head}", "/c/main...topic", "=main...topic base=main head=topic"},
		{"/f/{name}.json", "/f/a.b.json", "=a.b.json name=a.b"},
		{"/f/{name}.json", "/f/.json", "none"},
		{"/f/v{n}", "/f/v12", "=v12 n=12"},
		{"/f/v{n}/x/{id}", "/f/v12/x/3", "=v12 id=3 n=12"},
		{"/p/{a}{b}", "/p/xyz", "=xyz a=x b=yz"},
		{"/p/{a}{b}", "/p/x", "none"},
		{"/f/{name}.json", "/f/a%2Eb.json", "=a.b.json name=a.b"},
		{"/v1/things:batch", "/v1/things:batch", ""},
		{"/v1/{id}:cancel", "/v1/7:cancel", "=7:cancel id=7"},
		{"/:a/*", "/:a/*", ""},
		{"/:a/*", "/x/y", "none"},
		{"/a/{b", "/a/{b", ""},
		{"/", "/", ""},
		{"/a%20b/{x}", "/a%20b/1", "x=1"},
	} {
		table, routes := tableOf(t, "template "+c.path)
		r := newRequest("GET", "localhost", c.request)
		got := "none"
		if table.Match(r, "GET") == 0 {
			var params []string
			for i, name := range routes[0].Pattern.Params() {
				params = append(params, name+"="+string(r.Param(i)))
			}
			got = strings.Join(params, " ")
		}
		if got != c.params {
			t.Errorf("%s for %s: %q, not %q", c.path, c.request, got, c.params)
		}
	}
}

// The more specific route answers, regardless of the order; among routes of the same shape the
// first one answers.
func TestTemplatesNextToOthers(t *testing.T) {
	table, _ := tableOf(t, "/r/:any", "template /r/{id}", "template /r/{id}.{format}", "template /r/{id}.pdf", "/r/:n|int", "template /r/x.pdf")
	for path, want := range map[string]int{"/r/a": 0, "/r/a.json": 2, "/r/a.pdf": 2, "/r/12": 4, "/r/x.pdf": 5} {
		r := newRequest("GET", "localhost", path)
		if got := table.Match(r, "GET"); got != want {
			t.Errorf("%s: route %d, not %d", path, got, want)
		}
	}
}

// A declared endpoint that replaces one of a document causes no warning. In the reverse order, the
// declared endpoint is never reached, which causes a warning.
func TestDeclaredBeforeGenerated(t *testing.T) {
	spec := config.Parse("api.yml", []byte("openapi: 3.0.3\ninfo: {title: t, version: '1'}\npaths:\n  /a/{id}:\n"+
		"    parameters: [{name: id, in: path, required: true, schema: {}}]\n    get: {responses: {'200': {description: ok}}}\n"))
	declared := item.Endpoint{Path: syntax.Text{Value: "/a/:x"}}
	var routes []Route
	for _, e := range []*item.Endpoint{&declared, &spec.Endpoints[0]} {
		pattern, _ := Path(e)
		routes = append(routes, Route{Endpoint: e, Pattern: pattern})
	}
	_, warnings := Compile(routes)
	if len(warnings) > 0 {
		t.Error(warnings)
	}
	slices.Reverse(routes)
	if _, warnings = Compile(routes); len(warnings) != 1 {
		t.Errorf("the other way round: %v", warnings)
	}
}

// Segments that contain parameters and text shadow each other if they differ only in names. Other
// cases are not detected.
func TestTemplatesShadowEachOther(t *testing.T) {
	for _, c := range []struct {
		paths []string
		want  int // warnings
	}{
		{[]string{"/a/{x}.json", "/a/{y}.json"}, 1},
		{[]string{"/{a}-{b}/x/{c}", "/{b}-{a}/x/{d}", "/{a}-{b}/x/{e}/"}, 2},
		{[]string{"/a/{x}.json", "/a/{x}.xml", "/a/{x}", "/a/x{x}.json", "/b/{x}.json"}, 0},
		{[]string{"/{x}.a/{y}", "/{x}/{y}.a", "/{x}.a/{y}.a"}, 0},
		{[]string{"/{x}%2E%22,a", "/{x}.{y}a", "/{x}.\",a"}, 1},
	} {
		var routes []Route
		for _, path := range c.paths {
			e := &item.Endpoint{Path: syntax.Text{Value: path}, Template: true}
			pattern, _ := Path(e)
			routes = append(routes, Route{Endpoint: e, Pattern: pattern})
		}
		if _, warnings := Compile(routes); len(warnings) != c.want {
			t.Errorf("%q: got %v, want %d", c.paths, warnings, c.want)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	for _, path := range []string{"/a/{id}", "/r/{id}.{format}", "/{", "/}", "/{}{}", "/%zz{a}"} {
		f.Add(path, "/r/7.pdf")
	}
	f.Fuzz(func(t *testing.T, path, target string) {
		e := &item.Endpoint{Path: syntax.Text{Value: path}, Template: true}
		pattern, _ := Path(e)
		table, _ := Compile([]Route{{Endpoint: e, Pattern: pattern}})
		r := newRequest("GET", "localhost", target)
		if table.Match(r, "GET") < 0 {
			return
		}
		for i := range pattern.Params() {
			if len(r.Param(i)) == 0 {
				t.Fatalf("%q for %q: parameter %d is empty", path, target, i)
			}
		}
	})
}
