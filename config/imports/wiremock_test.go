package imports_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/wiremock"
	"mockserver/internal/harness"
)

func readMapping(t testing.TB, text string) *Made {
	t.Helper()
	return importRead(t, wiremock.Read, "m.json", text, draft.Options{})
}

// A mapping for any method is one endpoint, unless one that WireMock tries later would come before it.
func TestWireMock_AnyMethod(t *testing.T) {
	one := `{"request": {"method": "GET", "urlPathPattern": "/x"}, "response": {"body": "one"}, "priority": 5}`
	wild := strings.Replace(one, "/x", "/[a-z]+", 1)
	for _, c := range []struct {
		url, priority, other, get string
		endpoints                 int
	}{
		{"/x", "1", "", "any", 1}, {"/.*", "9", one, "one", 2}, {"/x", "9", wild, "one", 8}, {"/[a-z]+", "9", wild, "one", 2},
		{"/x", "1", one, "any", 8}, {"/[a-z]+", "1", one, "any", 8}, {"/x", "1", wild, "any", 8}, {"/x", "1", strings.Replace(one, "/x", "/y", 1), "any", 2},
	} {
		text := `{"request": {"urlPathPattern": "` + c.url + `"}, "response": {"body": "any"}, "priority": ` + c.priority + "}"
		m := readMapping(t, `{"mappings": [`+strings.Trim(text+","+c.other, ",")+`]}`)
		if len(m.Declarations) != c.endpoints {
			t.Errorf("%s %s: %d endpoints, want %d", text, c.other, len(m.Declarations), c.endpoints)
		}
		Ask(t, m.Serve(t), []Case{{Method: "GET", Target: "/x", Status: 200, Want: c.get}, {Method: "DELETE", Target: "/x", Status: 200, Want: "any"}})
	}
}

func TestWireMock_Matchers(t *testing.T) {
	m := readMapping(t, `{"mappings": [
{"request": {"method": "ANY", "urlPattern": "/.*"}, "response": {"status": 418}, "priority": 10},
{"request": {"method": "GET", "url": "/exact?a=1"}, "response": {"body": "exact"}},
{"request": {"method": "GET", "urlPath": "/q", "queryParameters": {"n": {"equalTo": "1"}, "x": {"absent": true}}}, "response": {"body": "q"}},
{"request": {"method": "GET", "urlPathPattern": "/users/[0-9]+"}, "response": {"body": "user"}},
{"request": {"method": "GET", "urlPathTemplate": "/c/{id}/d", "pathParameters": {"id": {"matches": "[a-z]+"}}}, "response": {"body": "template"}},
{"request": {"method": "GET", "urlPath": "/h", "headers": {"X-A": {"contains": "b", "doesNotMatch": "z.*"}, "Accept": {"or": [{"equalTo": "a/b"}, {"absent": true}]}}, "cookies": {"s": {"equalTo": "T", "caseInsensitive": true}}}, "response": {"body": "h"}},
{"request": {"method": "POST", "urlPath": "/j", "bodyPatterns": [{"equalToJson": "{\"a\": [1, 2]}", "ignoreExtraElements": false}]}, "response": {"body": "json"}},
{"request": {"method": "POST", "urlPath": "/p", "bodyPatterns": [{"matchesJsonPath": "$.a.b"}, {"matchesJsonPath": {"expression": "$.n", "equalTo": "5"}}]}, "response": {"body": "path"}},
{"request": {"method": "POST", "urlPath": "/f", "bodyPatterns": [{"matchesJsonPath": "$.items[?(@.name == 'x' && @.n > 3)]"}]}, "response": {"body": "filter"}},
{"request": {"method": "GET", "urlPath": "/auth", "basicAuth": {"username": "u", "password": "p"}}, "response": {"body": "auth"}},
{"request": {"method": "GET", "urlPath": "/host", "host": {"equalTo": "a.example"}}, "response": {"body": "host"}},
{"request": {"method": "GET", "urlPath": "/slash/"}, "response": {"body": "with"}},
{"request": {"method": "GET", "urlPath": "/slash"}, "response": {"body": "without"}},
{"request": {"method": "GET", "urlPath": "/xml", "headers": {"X": {"equalToXml": "<a/>"}}}, "response": {"status": 201, "headers": {"X-A": "{{a}}"}, "jsonBody": {"lost": true}}}
]}`)
	const all = 418
	Ask(t, m.Serve(t), []Case{
		{Method: "GET", Target: "/exact?a=1", Status: 200, Want: "exact"},
		{Method: "GET", Target: "/exact?a=1&b", Status: all},
		{Method: "GET", Target: "/exact", Status: all},
		{Method: "GET", Target: "/q?n=1", Status: 200, Want: "q"},
		{Method: "GET", Target: "/q?n=1.0", Status: all},
		{Method: "GET", Target: "/q?n=1&x=", Status: all},
		{Method: "GET", Target: "/users/12", Status: 200, Want: "user"},
		{Method: "GET", Target: "/users/12x", Status: all},
		{Method: "GET", Target: "/c/ab/d", Status: 200, Want: "template"},
		{Method: "GET", Target: "/c/1/d", Status: all},
		{Method: "GET", Target: "/h", Header: map[string]string{"X-A": "abc", "Cookie": "s=t"}, Status: 200, Want: "h"},
		{Method: "GET", Target: "/h", Header: map[string]string{"X-A": "zb", "Cookie": "s=t"}, Status: all},
		{Method: "GET", Target: "/h", Header: map[string]string{"X-A": "abc", "Cookie": "s=t", "Accept": "c/d"}, Status: all},
		{Method: "POST", Target: "/j", Body: `{"a":[1,2]}`, Status: 200, Want: "json"},
		{Method: "POST", Target: "/j", Body: `{"a":[2,1]}`, Status: all},
		{Method: "POST", Target: "/p", Body: `{"a":{"b":0},"n":5}`, Status: 200, Want: "path"},
		{Method: "POST", Target: "/p", Body: `{"a":{},"n":5}`, Status: all},
		{Method: "POST", Target: "/p", Body: `{"a":{"b":1},"n":5.0}`, Status: all},
		{Method: "POST", Target: "/f", Body: `{"items":[{"name":"y","n":9},{"name":"x","n":4}]}`, Status: 200, Want: "filter"},
		{Method: "POST", Target: "/f", Body: `{"items":[{"name":"y","n":9},{"name":"x","n":3}]}`, Status: all},
		{Method: "GET", Target: "/auth", Header: map[string]string{"Authorization": "Basic dTpw"}, Status: 200, Want: "auth"},
		{Method: "GET", Target: "/auth", Status: all},
		{Method: "GET", Target: "/host", Header: map[string]string{"Host": "a.example:81"}, Status: 200, Want: "host"},
		{Method: "GET", Target: "/host", Header: map[string]string{"Host": "b.example"}, Status: all},
		{Method: "GET", Target: "/slash/", Status: 200, Want: "with"},
		{Method: "GET", Target: "/slash", Status: 200, Want: "without"},
		{Method: "GET", Target: "/xml", Status: all},
		{Method: "DELETE", Target: "/anything/else", Status: all},
	})
	if got := m.Counts(); got != [3]int{11, 2, 1} {
		t.Errorf("%v: %v", got, m.Items)
	}
	lost := "# lost: GET /xml: the matcher equalToXml cannot be expressed\n# - endpoint:\n#     method: GET\n#     path: /xml\n" +
		"#     response:\n#       status: 201\n#       headers:\n#         X-A: '{{a}}'\n#       body: '{\"lost\":true}'\n"
	if !strings.Contains(m.Text, lost) {
		t.Errorf("lost items are not commented out:\n%s", m.Text)
	}
}

// Among mappings of the same priority the last one is tried first; a lower number is tried before a
// higher one.
func TestWireMock_Priorities(t *testing.T) {
	m := readMapping(t, `{"mappings": [
{"request": {"method": "GET", "urlPath": "/a"}, "response": {"body": "first"}},
{"request": {"method": "GET", "urlPath": "/a"}, "response": {"body": "second"}},
{"request": {"method": "GET", "urlPathPattern": "/b/[a-z]+"}, "response": {"body": "general"}, "priority": 1},
{"request": {"method": "GET", "urlPath": "/b/me"}, "response": {"body": "never"}, "priority": 2},
{"request": {"method": "GET", "urlPath": "/b/7"}, "response": {"body": "seven"}, "priority": 2}]}`)
	Ask(t, m.Serve(t), []Case{
		{Method: "GET", Target: "/a", Status: 200, Want: "second"},
		{Method: "GET", Target: "/b/me", Status: 200, Want: "general"},
		{Method: "GET", Target: "/b/7", Status: 200, Want: "seven"},
	})
}

// The answers are those of WireMock 3.13.
func TestWireMock_MatchersMeanTheSame(t *testing.T) {
	m := readMapping(t, `{"mappings": [
{"request": {"urlPathPattern": ".*/last"}, "response": {"body": "last"}, "priority": 1},
{"request": {"urlPath": "/any", "bodyPatterns": [{"matches": ".*"}]}, "response": {"body": "any"}},
{"request": {"urlPath": "/none", "bodyPatterns": [{"doesNotMatch": ".*"}]}, "response": {"body": "none"}},
{"request": {"urlPath": "/not", "cookies": {"a": {"not": {"equalTo": "1"}}}}, "response": {"body": "not"}},
{"request": {"urlPath": "/or", "cookies": {"a": {"or": [{"absent": true}, {"equalTo": "1"}]}}}, "response": {"body": "or"}},
{"request": {"urlPath": "/gone", "cookies": {"a": {"absent": true}}}, "response": {"body": "gone"}},
{"request": {"urlPath": "/list", "bodyPatterns": [{"matchesJsonPath": {"expression": "$.a", "equalTo": "[1]"}}]}, "response": {"body": "list"}},
{"request": {"urlPathPattern": "/blank/a b"}, "response": {"body": "blank"}},
{"request": {"urlPath": "/a,b;c=('1')!*"}, "response": {"body": "signs"}},
{"request": {"url": "/pe/a%2Fb"}, "response": {"body": "encoded"}},
{"request": {"urlPath": "/pe/%7Bc%7D"}, "response": {"body": "braces"}},
{"request": {"urlPath": "/root", "bodyPatterns": [{"matchesJsonPath": "$"}]}, "response": {"body": "root"}},
{"request": {"urlPath": "/host"}, "response": {"body": "{{request.host}} {{request.port}} {{request.baseUrl}}", "transformers": ["response-template"]}},
{"request": {"urlPath": "/both"}, "response": {"jsonBody": {"b": 1}, "body": "body"}},
{"request": {"urlPath": "/default"}, "response": {"body": "<{{jsonPath request.body '$.v' default='d'}}>", "transformers": ["response-template"]}}]}`)
	json := map[string]string{"Content-Type": "application/json"}
	Ask(t, m.Serve(t), []Case{
		{Method: "POST", Target: "/any", Status: 404, Want: "…"},
		{Method: "POST", Target: "/any", Body: "x", Status: 200, Want: "any"},
		{Method: "POST", Target: "/none", Status: 200, Want: "none"},
		{Method: "POST", Target: "/none", Body: "x", Status: 404, Want: "…"},
		{Method: "GET", Target: "/not", Status: 404, Want: "…"},
		{Method: "GET", Target: "/not", Header: map[string]string{"Cookie": "a=2"}, Status: 200, Want: "not"},
		{Method: "GET", Target: "/or", Status: 404, Want: "…"},
		{Method: "GET", Target: "/or", Header: map[string]string{"Cookie": "a=1"}, Status: 200, Want: "or"},
		{Method: "GET", Target: "/gone", Status: 200, Want: "gone"},
		{Method: "POST", Target: "/list", Body: `{"a":[1]}`, Header: json, Status: 404, Want: "…"},
		{Method: "POST", Target: "/list", Body: `{"a":"[1]"}`, Header: json, Status: 200, Want: "list"},
		{Method: "GET", Target: "/blank/a%20b", Status: 404, Want: "…"},
		{Method: "GET", Target: "/a,b;c=('1')!*", Status: 200, Want: "signs"},
		{Method: "GET", Target: "/both", Status: 200, Want: "body"},
		{Method: "GET", Target: "/pe/a%2Fb", Status: 200, Want: "encoded"},
		{Method: "GET", Target: "/pe/a%2fb", Status: 404, Want: "…"},
		{Method: "GET", Target: "/pe/%7Bc%7D", Status: 200, Want: "braces"},
		{Method: "GET", Target: "/pe/%7bc%7d", Status: 404, Want: "…"},
		{Method: "POST", Target: "/root", Body: "x", Status: 200, Want: "root"},
		{Method: "POST", Target: "/root", Body: "5", Status: 200, Want: "root"},
		{Method: "POST", Target: "/root", Body: "{", Status: 404, Want: "…"},
		{Method: "POST", Target: "/root", Body: "[ ]", Status: 404, Want: "…"},
		{Method: "POST", Target: "/root", Body: " null", Status: 404, Want: "…"},
		{Method: "POST", Target: "/root", Status: 404, Want: "…"},
		{Method: "GET", Target: "/host", Header: map[string]string{"Host": "Example.com"}, Status: 200, Want: "Example.com 80 http://Example.com"},
		{Method: "GET", Target: "/host", Header: map[string]string{"Host": "[::1]:99"}, Status: 200, Want: "[::1] 99 http://[::1]:99"},
		{Method: "GET", Target: "/default", Status: 200, Want: "<>"},
		{Method: "POST", Target: "/default", Body: "{}", Header: json, Status: 200, Want: "<d>"},
		{Method: "POST", Target: "/default", Body: `{"v":null}`, Header: json, Status: 200, Want: "<d>"},
	})
	if got := m.Counts(); got != [3]int{15, 0, 0} {
		t.Errorf("%v: %v", got, m.Items)
	}
}

// A file that a request chooses is a template of its own; answers are those of WireMock 3.13, but for its status 500
// where there is no such file.
func TestWireMock_ChosenFiles(t *testing.T) {
	dir := t.TempDir()
	const chosen = `"transformers": ["response-template"], "bodyFileName"`
	for name, content := range map[string]string{
		"mappings/a.json": `{"mappings": [{"request": {"urlPathPattern": "/f/[^/]+"}, "response": {` + chosen + `: "{{request.pathSegments.[1]}}.txt", "headers": {"X-A": "{{no}} {{request.method}}"}}},
{"request": {"urlPath": "/g"}, "response": {` + chosen + `: "/{{request.query.p}}", "headers": {"Content-Type": "application/json"}}},
{"request": {"urlPath": "/k"}, "response": {` + chosen + `: "d/{{#if request.query.p}}b{{else}}c{{/if}}.json", "transformerParameters": {"disableBodyFileTemplating": true}}},
{"request": {"urlPath": "/lost"}, "response": {` + chosen + `: "{{hostname}}.txt"}},
{"request": {"urlPath": "/none"}, "response": {` + chosen + `: "none/{{request.method}}"}},
{"request": {"urlPath": "/all"}, "response": {"body": "{{request.method}}"}},
{"request": {"urlPath": "/bytes"}, "response": {"base64Body": "e3tyZXF1ZXN0Lm1ldGhvZH19"}},
{"request": {"urlPath": "/plain"}, "response": {"bodyFileName": "{{request.query.p}}.txt"}}]}`,
		"__files/a.txt":    "file {{request.query.q}} {% {{{request.query.q}}}",
		"__files/d/b.json": `{"q": {{request.query.q}}, "r": "{{request.query.r}}"}`,
		"__files/d/c.json": `{"c": 1}`,
		"__files/d/e.bin":  "\xff",
	} {
		harness.WriteFile(t, filepath.Join(dir, filepath.Dir(name)), filepath.Base(name), content)
	}
	s, _ := draft.OpenSource(dir)
	common := []Case{
		{Method: "GET", Target: "/f/a?q=7", Status: 200, Want: "file 7 {% 7", Has: map[string]string{"Content-Type": "text/plain; charset=utf-8", "X-A": "{{no}} GET"}},
		{Method: "GET", Target: "/f/none", Status: 404, Want: "…"},
		{Method: "GET", Target: "/g?p=d/b.json&q=5&r=x", Status: 200, Want: `{"q": 5, "r": "x"}`},
		{Method: "GET", Target: "/g?p=d/e.bin", Status: 404, Want: "…"},
		{Method: "GET", Target: "/g?p=../../made.yml", Status: 404, Want: "…"},
		{Method: "GET", Target: "/k?p=1", Status: 200, Want: `{"q": {{request.query.q}}, "r": "{{request.query.r}}"}`, Has: map[string]string{"Content-Type": "application/json"}},
		{Method: "GET", Target: "/k", Status: 200, Want: `{"c": 1}`},
		{Method: "GET", Target: "/bytes", Status: 200, Want: "{{request.method}}"},
	}
	for _, c := range []struct {
		opts   draft.Options
		counts [3]int
		cases  []Case
	}{
		{draft.Options{}, [3]int{3, 2, 3}, []Case{{Method: "GET", Target: "/all", Status: 200, Want: "{{request.method}}"}, {Method: "GET", Target: "/plain?p=a", Status: 404, Want: "…"}}},
		{draft.Options{Templated: true}, [3]int{4, 2, 2}, []Case{{Method: "PUT", Target: "/all", Status: 200, Want: "PUT"}, {Method: "GET", Target: "/plain?p=a&q=1", Status: 200, Want: "file 1 {% 1"}}},
	} {
		m, err := importTry(t, wiremock.Read, s, c.opts)
		if err != nil {
			t.Fatal(err)
		}
		Ask(t, m.Serve(t), append(c.cases, common...))
		if got := m.Counts(); got != c.counts {
			t.Errorf("%v, want %v: %v\n%s", got, c.counts, m.Items, m.Text)
		}
		for _, says := range []string{"# lost: ANY /none: the file none/{{request.method}} is chosen by the request: there is no such file\n",
			"# ANY /f/[^/]+\n# approximate: ANY /f/[^/]+: {{no}}: it has no equivalent\n- endpoint:\n"} {
			if !strings.Contains(m.Text, says) {
				t.Errorf("no %q in\n%s", says, m.Text)
			}
		}
	}
}

func TestWireMock_Scenarios(t *testing.T) {
	m := readMapping(t, `{"mappings": [
{"scenarioName": "To do", "requiredScenarioState": "Started", "newScenarioState": "Added it", "request": {"method": "POST", "url": "/todo"}, "response": {"status": 201}},
{"scenarioName": "To do", "requiredScenarioState": "Started", "request": {"method": "GET", "url": "/todo"}, "response": {"body": "none"}},
{"scenarioName": "To do", "requiredScenarioState": "Added it", "request": {"method": "GET", "url": "/todo"}, "response": {"body": "one"}}]}`)
	Ask(t, m.Serve(t), []Case{
		{Method: "GET", Target: "/todo", Status: 200, Want: "none"},
		{Method: "POST", Target: "/todo", Status: 201},
		{Method: "GET", Target: "/todo", Status: 200, Want: "one"},
		{Method: "POST", Target: "/todo", Status: 404, Want: "…"},
	})
}

func TestWireMock_Templates(t *testing.T) {
	body := "{{request.query.a}} {{request.path.[1]}} {{request.pathSegments.[0]}} {{request.headers.X-A}} {{upper request.query.a}} {{jsonPath request.body '$.n[0]'}} " +
		"{{#if request.query.b}}b{{else}}no b{{/if}} {{#each (jsonPath request.body '$.l')}}<{{this}}{{#unless @last}},{{/unless}}>{{/each}} {{parameters.p}} {{unknown request.body}}{{request.url}}"
	m := readMapping(t, `{"request": {"method": "POST", "urlPathPattern": "/t/[^/]+"}, "response": {"transformers": ["response-template"], "transformerParameters": {"p": "{%"}, "headers": {"X-B": "{{request.method}}"}, "body": "`+body+`"}}`)
	Ask(t, m.Serve(t), []Case{{Method: "POST", Target: "/t/x?a=7", Body: `{"n":[5],"l":["p","q"]}`, Header: map[string]string{"X-A": "A"}, Status: 200,
		Want: "7 x t A 7 5 no b <p,><q> {% {{unknown request.body}}/t/x?a=7", Has: map[string]string{"X-B": "POST"}}})
	if got := m.Counts(); got != [3]int{0, 1, 0} || m.Items[0].Why != "{{unknown request.body}}: it has no equivalent" {
		t.Errorf("%v: %v", got, m.Items)
	}
	m = readMapping(t, `{"request": {"url": "/t"}, "response": {"transformers": ["response-template"], "body": "{{request.url}}"}}`)
	Ask(t, m.Serve(t), []Case{{Method: "GET", Target: "/t", Status: 200, Want: "/t"}})
	m = readMapping(t, `{"request": {"urlPattern": "/s/.*"}, "response": {"transformers": ["response-template"], "body": "{{request.url}} 0={{request.pathSegments.[0]}} 1={{request.pathSegments.[1]}} 2={{request.path.[2]}} {{#if request.pathSegments.[2]}}y{{else}}n{{/if}}"}}`)
	Ask(t, m.Serve(t), []Case{ // as WireMock 3.13 answers
		{Method: "GET", Target: "/s/a", Status: 200, Want: "/s/a 0=s 1=a 2= n"},
		{Method: "GET", Target: "/s/a%20b/c/?x=1&y=%20", Status: 200, Want: "/s/a%20b/c/?x=1&y=%20 0=s 1=a b 2=c y"},
		{Method: "GET", Target: "/s/a?", Status: 200, Want: "/s/a 0=s 1=a 2= n"},
	})
	if got := m.Counts(); got != [3]int{1, 0, 0} {
		t.Errorf("%v: %v", got, m.Items)
	}
	m = readMapping(t, `{"request": {"method": "GET", "url": "/t"}, "response": {"body": "{{request.path}} {% x %}", "headers": {"X": ["{{a}}", "b"]}}}`)
	Ask(t, m.Serve(t), []Case{{Method: "GET", Target: "/t", Status: 200, Want: "{{request.path}} {% x %}", Has: map[string]string{"X": "{{a}}, b"}}})
}

// The answers are those of WireMock 3.13.
func TestWireMock_TemplatesMeanTheSame(t *testing.T) {
	const value = "(jsonPath request.body '$.v')"
	for _, c := range []struct {
		template string
		want     map[string]string // by the query, or by the body if it begins with a brace
	}{
		{"<{{jsonPath request.body '$.v'}}>", map[string]string{`{"v":null}`: "<>", `{}`: "<>", `{"v":"null"}`: "<null>", `{"v":0}`: "<0>"}},
		{`{"v":"{{jsonPath request.body '$.v'}}"}`, map[string]string{`{"v":null}`: `{"v":""}`, `{"v":"a"}`: `{"v":"a"}`}},
		{"[{{#each (jsonPath request.body '$.v')}}{{this}},{{this.n}};{{/each}}]", map[string]string{`{"v":[1,null,{"n":null}]}`: `[1,;,;{"n":null},;]`, `{"v":[]}`: "[]"}},
		{"{{#if " + value + "}}y{{else}}n{{/if}}{{#unless " + value + "}}y{{else}}n{{/unless}}", map[string]string{
			`{"v":"0"}`: "yn", `{"v":"false"}`: "yn", `{"v":{}}`: "yn", `{"v":0.5}`: "yn", `{"v":[0]}`: "yn", `{"v":0}`: "ny", `{"v":0.0}`: "ny", `{"v":""}`: "ny", `{"v":false}`: "ny", `{"v":null}`: "ny", `{"v":[]}`: "ny", `{}`: "ny"}},
		{"{{#if request.query.a}}y{{else if request.query.b}}b{{else}}n{{/if}}", map[string]string{"a=": "y", "a=0": "y", "a=false": "y", "b": "b", "c": "n"}},
		{"{{#if (and request.query.a (not request.query.b))}}y{{else}}n{{/if}}{{#or request.query.a request.query.b}}y{{else}}n{{/or}}", map[string]string{"a=0": "yy", "a&b=": "ny", "c": "nn"}},
		{"{{#each (jsonPath request.body '$.v')}}{{#if this}}y{{else}}n{{/if}}{{#if @first}}F{{/if}}{{/each}}", map[string]string{`{"v":[0,"0","",{},null,[]]}`: "nFynynn"}},
		{"{{#eq " + value + " '1'}}y{{else}}n{{/eq}}{{#eq " + value + " 1}}y{{else}}n{{/eq}}{{#neq " + value + " ''}}y{{else}}n{{/neq}}", map[string]string{`{"v":1}`: "nyy", `{"v":"1"}`: "yny", `{"v":null}`: "nnn", `{}`: "nnn"}},
		{"{{#eq request.query.a '1'}}y{{else}}n{{/eq}}{{#eq request.query.a.[0] '1'}}y{{else}}n{{/eq}}{{#eq request.method 'GET'}}y{{else}}n{{/eq}}", map[string]string{"a=1": "nyn", "a=1.0": "nnn"}},
		{"{{val request.query.a or='d'}}|{{val " + value + " or='d'}}|{{jsonPath request.body '$.v' default='d'}}|{{defaultIfEmpty " + value + " 'd'}}", map[string]string{`a=`: "|||d", `a=x`: "x|||d", `{"v":""}`: "d|||d", `{"v":null}`: "d||d|d", `{"v":"0"}`: "d|0|0|0", `{"v":0}`: "d|0|0|d"}},
		{"{{#contains " + value + " 'x'}}y{{else}}n{{/contains}}{{#if (contains " + value + " 'x')}}y{{else}}n{{/if}}", map[string]string{`{"v":"axb"}`: "yy", `{"v":["x"]}`: "yy", `{"v":["ax"]}`: "n", `{}`: "n"}},
		{"{{urlEncode 'a b~*/é'}}", map[string]string{"": "a+b%7E*%2F%C3%A9"}},
		{"a\n{{#if true}}\ny\n{{/if}}\nb", map[string]string{"": "a\n\ny\n\nb"}},
		{`{"q": {{request.query.q}}, "s": "{{request.query.q}}"}`, map[string]string{"q=5": `{"q": 5, "s": "5"}`, "": `{"q": , "s": ""}`}},
	} {
		text, _ := json.Marshal(c.template) // a text
		m := readMapping(t, `{"request": {"urlPath": "/t"}, "response": {"transformers": ["response-template"], "body": `+string(text)+`}}`)
		if got := m.Counts(); got != [3]int{1, 0, 0} {
			t.Errorf("%s: %v", c.template, m.Items)
		}
		url := m.Serve(t)
		for ask, want := range c.want {
			one := Case{Method: "GET", Target: "/t?" + ask, Status: 200, Want: want}
			if strings.HasPrefix(ask, "{") {
				one = Case{Method: "POST", Target: "/t", Body: ask, Status: 200, Want: want}
			}
			Ask(t, url, []Case{one})
		}
	}
}

// What WireMock answers otherwise is not called exact. A tag without an equivalent stays whole.
func TestWireMock_TemplatesThatDiffer(t *testing.T) {
	for template, want := range map[string]string{
		"{{#each request.query.a}}{{this}};{{/each}}":                        "{{#each request.query.a}}{{this}};{{/each}}",
		"{{size request.query.a}}":                                           "{{size request.query.a}}",
		"{{join request.query.a ','}}":                                       "{{join request.query.a ','}}",
		"{{#if (contains request.headers.X-A 'x')}}y{{else}}n{{/if}}":        "{{#if (contains request.headers.X-A 'x')}}y{{else}}n{{/if}}",
		"{{#gt request.query.a 1}}y{{/gt}}":                                  "{{#gt request.query.a 1}}y{{/gt}}",
		"{{request.query.a}}}":                                               "{{request.query.a}}}",
		`{"q": "{{request.query.a}}", "n": {{sum 1 2}}, "s": "{{sum 1 2}}"}`: `{"q": "1", "n": {{sum 1 2}}, "s": "{{sum 1 2}}"}`,
		"{{request.path.id}}":                                                "\"b c\"",
		"{{urlEncode request.query.a}}":                                      "1",
	} {
		text, _ := json.Marshal(template) // a text
		m := readMapping(t, `{"request": {"urlPathTemplate": "/a/{id}"}, "response": {"transformers": ["response-template"], "headers": {"Content-Type": "application/json", "X-H": "{{sum 1}} {"}, "body": `+string(text)+`}}`)
		Ask(t, m.Serve(t), []Case{{Method: "GET", Target: "/a/b%20c?a=1&a=2", Status: 200, Want: want, Has: map[string]string{"X-H": "{{sum 1}} {"}}})
		if got := m.Counts(); got != [3]int{0, 1, 0} {
			t.Errorf("%s: %v", template, m.Items)
		}
	}
}

// Expressions match a whole text, in which . is any character.
func TestWireMock_Expressions(t *testing.T) {
	for matcher, want := range map[string][2]string{ // the bodies that match, and those that do not
		`{"matches": ".*abc.*"}`:                                           {"x\nabc\ny", "ab"},
		`{"doesNotMatch": ".*abc.*"}`:                                      {"ab", "x\nabc\ny"},
		`{"matches": "a.c"}`:                                               {"a\nc", "xabc"},
		`{"matches": "^abc$"}`:                                             {"abc", "abc\n"},
		`{"matches": "(?m).*^b$.*"}`:                                       {"a\nb\nc", "ab"},
		`{"matchesJsonPath": {"expression": "$.a", "equalTo": "1"}}`:       {`{"a":[2,1]}`, `{"a":[2]}`},
		`{"matchesJsonPath": {"expression": "$.a", "absent": "(absent)"}}`: {`{"a":[]}`, `{"a":[1]}`},
		`{"matchesJsonPath": {"expression": "$.b", "absent": "(absent)"}}`: {"x", `{"b":1}`},
	} {
		m := readMapping(t, `{"request": {"urlPath": "/t", "bodyPatterns": [`+matcher+`]}, "response": {"body": "ok"}}`)
		Ask(t, m.Serve(t), []Case{
			{Method: "POST", Target: "/t", Body: want[0], Status: 200, Want: "ok"},
			{Method: "POST", Target: "/t", Body: want[1], Status: 404, Want: "…"},
		})
		if got := m.Counts(); got != [3]int{1, 0, 0} {
			t.Errorf("%s: %v", matcher, m.Items)
		}
	}
}

func TestWireMock_Webhooks(t *testing.T) {
	got := make(chan string, 1)
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b := make([]byte, 100)
		n, _ := r.Body.Read(b)
		got <- r.Method + " " + r.URL.Path + " " + r.Header.Get("X-A") + " " + string(b[:n])
	}))
	defer target.Close()
	m := readMapping(t, `{"request": {"method": "POST", "url": "/w"}, "response": {}, "serveEventListeners": [{"name": "webhook", "parameters":
{"method": "PUT", "url": "`+target.URL+`/{{jsonPath originalRequest.body '$.to'}}", "headers": {"X-A": "{{parameters.v}}"}, "v": "V", "body": "{\"n\": {{jsonPath originalRequest.body '$.n'}} }"}}]}`)
	Ask(t, m.Serve(t), []Case{{Method: "POST", Target: "/w", Body: `{"to":"x","n":5}`, Status: 200}})
	if hook, want := <-got, `PUT /x V {"n": 5 }`; hook != want {
		t.Errorf("%s, want %s", hook, want)
	}
}

func TestWireMock_DelaysAndFaults(t *testing.T) {
	for response, want := range map[string]string{
		`"fixedDelayMilliseconds": 500`:                                                             "latency: {min: 500ms}",
		`"delayDistribution": {"type": "lognormal", "median": 80, "sigma": 0.4}`:                    "latency: {median: 80ms, sigma: 0.4}",
		`"delayDistribution": {"type": "uniform", "lower": 15, "upper": 25}`:                        "latency: {min: 15ms, max: 25ms}",
		`"body": "0123456789", "chunkedDribbleDelay": {"numberOfChunks": 5, "totalDuration": 1000}`: "fault: {type: slow-body, bytes-per-second: 10}",
		`"fault": "CONNECTION_RESET_BY_PEER"`:                                                       "fault: {type: reset}",
		`"fault": "EMPTY_RESPONSE"`:                                                                 "fault: {type: empty}",
		`"fault": "RANDOM_DATA_THEN_CLOSE"`:                                                         "fault: {type: malformed}",
	} {
		if m := readMapping(t, `{"request": {"method": "GET", "url": "/x"}, "response": {`+response+`}}`); !strings.Contains(m.Text, "    "+want+"\n") {
			t.Errorf("%s: no %s in\n%s", response, want, m.Text)
		}
	}
}

func TestWireMock_Directories(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"mappings/a.json":     `{"request": {"method": "GET", "url": "/a"}, "response": {"bodyFileName": "sub/a.txt"}}`,
		"mappings/in/b.json":  `{"mappings": [{"request": {"method": "GET", "url": "/b"}, "response": {"base64Body": "/wCA", "headers": {"Content-Type": "image/png"}}}, {"request": {"method": "GET", "url": "/c"}, "response": {"bodyFileName": "../../x"}}]}`,
		"mappings/readme.txt": "x",
		"__files/sub/a.txt":   "{{file}}",
		"__files/b.json":      "{",
		"mappings/files.json": `{"mappings": [{"request": {"method": "GET", "url": "/bom"}, "response": {"bodyFileName": "/bom.txt"}}, {"request": {"method": "GET", "url": "/packed"}, "response": {"bodyFileName": "packed.gz"}}]}`,
		"__files/bom.txt":     "\uFEFFabc",
		"__files/packed.gz":   "\x00\x1F",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, "mappings")} {
		s, err := draft.OpenSource(path)
		if err != nil || !wiremock.Recognizes(s) {
			t.Fatalf("%s is not recognized: %v", path, err)
		}
		m, err := importTry(t, wiremock.Read, s, draft.Options{})
		if err != nil {
			t.Fatal(err)
		}
		Ask(t, m.Serve(t), []Case{
			{Method: "GET", Target: "/a", Status: 200, Want: "{{file}}"},
			{Method: "GET", Target: "/b", Status: 200, Want: "\xff\x00\x80", Has: map[string]string{"Content-Type": "image/png"}},
			{Method: "GET", Target: "/c", Status: 404, Want: "…"},
			{Method: "GET", Target: "/bom", Status: 200, Want: "\uFEFFabc"},
			{Method: "GET", Target: "/packed", Status: 200, Want: "\x00\x1F"},
		})
		if got := m.Counts(); got != [3]int{4, 0, 1} {
			t.Errorf("%v: %v", got, m.Items)
		}
	}
	bad := filepath.Join(dir, "mappings", "z.json")
	if err := os.WriteFile(bad, []byte("{\"request\": {},\n \"response\": [}"), 0o644); err != nil {
		t.Fatal(err)
	}
	s, _ := draft.OpenSource(dir)
	if err, want := wiremock.Read(s, &draft.Draft{}, draft.Options{}), bad+":2:15: this is not JSON; expected a value here"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestWireMock_ErrorsHavePlaces(t *testing.T) {
	refused(t, wiremock.Read, "m.json", map[string]string{
		`{"mappings": [5]}`:              "m.json:1:15: a mapping is a number; expected a map",
		"{\n\"mappings\": {}}":           "m.json:2:13: mappings is a map; expected a list",
		`[]`:                             "m.json:1:1: a mapping is a list; expected a map",
		`{"request": 5, "response": {}}`: "m.json:1:13: request is 5; expected a map",
		`{"request": {"headers": []}, "response": "x"}`:                                         "m.json:1:25: headers is a list; expected a map\nm.json:1:43: response is a text; expected a map",
		`{"request": {}, "response": {"status": "abc"}}`:                                        `m.json:1:41: status is "abc"; expected a whole number`,
		`{"request": {}, "response": {"status": 201.5}}`:                                        `m.json:1:40: status is 201.5; expected a whole number`,
		`{"request": {"urlPath": 5}, "response": {}}`:                                           "m.json:1:25: urlPath is 5; expected a text",
		`{"request": {"method": ["GET"]}, "response": {}}`:                                      "m.json:1:24: method is a list; expected a text or a map",
		`{"request": {"headers": {"X": {"equalTo": 5}}}, "response": {}}`:                       "m.json:1:43: equalTo is 5; expected a text",
		`{"request": {"headers": {"X": "5"}}, "response": {}}`:                                  "m.json:1:32: X is a text; expected a map",
		`{"request": {"bodyPatterns": [{"not": {"or": [{"matches": null}]}}]}, "response": {}}`: "m.json:1:59: matches is null; expected a text",
		`{"request": {}, "response": {"headers": {"X": [1]}}}`:                                  "m.json:1:48: an item of X is 1; expected a text",
		`{"request": {}, "response": {"body": {}}}`:                                             "m.json:1:38: body is a map; expected true or false or a whole number or a text",
		`{"request": {}, "response": {}, "priority": "first"}`:                                  `m.json:1:46: priority is "first"; expected a whole number`,
	})
}

// A mapping that cannot be expressed is reported as lost, with its position, and answers nothing.
func TestWireMock_WhatIsLost(t *testing.T) {
	for _, request := range []string{`"method": "COPY"`, `"urlPattern": "/a(?=b)"`, `"customMatcher": {"name": "x"}`, `"bodyPatterns": [{"matchesXPath": "//x"}]`, `"bodyPatterns": [{"matchesJsonPath": "$..a"}]`,
		`"headers": {"X": {"hasExactly": [{"equalTo": "a"}]}}`, `"bodyPatterns": [{"equalToJson": "{"}]`, `"cookies": {"X": {"includes": [{"equalTo": "a"}]}}`, `"port": 80`, `"scheme": "https"`, `"multipartPatterns": []`, `"bodyPatterns": [{"not": {"matchesJsonPath": "$.a[?(@.b)]"}}]`,
		`"bodyPatterns": [{"equalToJson": {"a": "${json-unit.any-string}"}}]`, `"urlPathTemplate": "/a{b}c"`,
		`"url": "/a?"`, `"urlPath": "/a?b"`, `"urlPath": "/a b"`, `"urlPath": ""`, `"url": "a"`, `"bodyPatterns": [{"matches": "[a-z&&[^b]]+"}]`, `"urlPathPattern": "/[a[bc]]"`} {
		m := readMapping(t, "\n{\"request\": {"+request+"}, \"response\": {}}")
		if got := fmt.Sprint(m.Counts(), m.Items[0].Pos, strings.Contains(m.Text, "\n- endpoint")); got != "[0 0 1] m.json:2:1 false" {
			t.Errorf("%s: %s\n%s", request, got, m.Text)
		}
	}
}

func FuzzWireMock(f *testing.F) {
	for _, seed := range []string{
		`{"request":{"method":"ANY","urlPattern":"/a/(b|c)?\\?x=.*"},"response":{"status":0,"jsonBody":{"a":["{{x}}"]}}}`,
		`{"mappings":[{"scenarioName":"a b","newScenarioState":"x","request":{"urlPathTemplate":"/{a}/{a}"},"response":{"transformers":["response-template"],"body":"{{#each request.query}}{{this}}{{else}}{{/each}}{{{now format='yyyy'}}}"}}]}`,
		`{"request":{"headers":{"a b":{"equalTo":1},"X":{"and":[{"not":{"contains":"\u0000"}}]}},"bodyPatterns":[{"equalToJson":[null]},{"matchesJsonPath":"$.a[?(@.b =~ /x/i)]"}]},"response":{"fault":"x","base64Body":"AAA","headers":{"A":{},"B":["x",{}]}}}`,
		`{"request":{"url":"/%zz/:x/*y?a"},"response":{"delayDistribution":{"type":"lognormal","median":1e99,"sigma":99}},"postServeActions":{"webhook":{"url":"http://x/{{y}}","method":"get","delay":{"type":"uniform","lower":5,"upper":1}}}}`,
	} {
		f.Add(seed)
	}
	f.Add(`{"request": {"urlPath": "/%{"}, "response": {"transformers": ["response-template"], "bodyFileName": "}}{{a}}{{", "body": null}}`)
	f.Add(`{"request": {}, "response": {}, "scenarioName": "0", "requiredScenarioState": "Started"}`)
	f.Fuzz(func(t *testing.T, text string) {
		fuzzed(t, wiremock.Read, "m.json", text)
	})
}

// Requests are passed on with the headers that a mapping sets and removes, whatever its status and
// fault; settings that cannot be expressed are reported as lost.
func TestWireMock_ProxyBaseURL(t *testing.T) {
	var asked []string
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, fmt.Sprint(r.Method, " ", r.URL.RequestURI(), " ", r.Header["X-Added"], r.Header["X-Gone"]))
		w.Header().Set("X-From", "upstream")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, "passed {{on}}")
	}))
	defer upstream.Close()
	m := readMapping(t, `{"mappings": [
{"request": {"method": "ANY", "urlPattern": "/a/.*"}, "response": {"proxyBaseUrl": "`+upstream.URL+`/base/", "status": 201, "fault": "EMPTY_RESPONSE", "additionalProxyRequestHeaders": {"X-Added": "{{1}}"}, "removeProxyRequestHeaders": ["x-gone", "X-Added"]}},
{"request": {"method": "GET", "urlPath": "/a/mocked"}, "response": {"body": "mocked"}, "priority": 1},
{"request": {"method": "GET", "urlPath": "/h"}, "response": {"proxyBaseUrl": "`+upstream.URL+`", "headers": {"X-From": "mapping"}, "bodyFileName": "{{request.path}}", "transformers": ["response-template"]}},
{"request": {"method": "GET", "urlPath": "/p"}, "response": {"proxyBaseUrl": "`+upstream.URL+`", "proxyUrlPrefixToRemove": "/p"}},
{"request": {"method": "GET", "urlPath": "/t"}, "response": {"proxyBaseUrl": "{{request.headers.X}}", "transformers": ["response-template"]}},
{"request": {"method": "GET", "urlPath": "/u"}, "response": {"proxyBaseUrl": "ftp://a"}}
]}`)
	Ask(t, m.Serve(t), []Case{
		{Method: "GET", Target: "/a/b%20c?q=1", Header: map[string]string{"X-Gone": "1", "X-Added": "client"}, Status: 418, Want: "passed {{on}}", Has: map[string]string{"X-From": "upstream"}},
		{Method: "PUT", Target: "/a/d", Body: "x", Status: 418, Want: "passed {{on}}"},
		{Method: "GET", Target: "/a/mocked", Status: 200, Want: "mocked"},
		{Method: "GET", Target: "/h", Status: 418, Want: "passed {{on}}", Has: map[string]string{"X-From": "mapping"}},
	})
	if want := "[GET /base/a/b%20c?q=1 [{{1}}] [] PUT /base/a/d [{{1}}] [] GET /h [] []]"; fmt.Sprint(asked) != want {
		t.Errorf("the upstream was asked %v, want %v", asked, want)
	}
	if got := m.Counts(); got != [3]int{2, 1, 3} {
		t.Errorf("%v: %v", got, m.Items)
	}
}
