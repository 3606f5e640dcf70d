package imports_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/postman"
)

const shop = `{
  "info": {"name": "Shop", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"},
  "variable": [{"key": "base", "value": "http://shop.example"}, {"key": "version", "value": "v1"}],
  "item": [
    {"name": "Users", "item": [
      {"name": "Get a user", "request": {"method": "GET", "url": {"raw": "{{base}}/{{version}}/users/:id", "host": ["{{base}}"], "path": ["{{version}}", "users", ":id"], "variable": [{"key": "id", "value": "7"}]}},
       "response": [
        {"name": "Ada", "code": 200, "header": [{"key": "Content-Type", "value": "application/json"}, {"key": "Content-Length", "value": "99"}, {"key": "Set-Cookie", "value": "a=1"}, {"key": "Set-Cookie", "value": "b=2"}],
         "body": "{\"id\": 7, \"key\": \"{{$guid}}\", \"v\": \"{{version}}\"}",
         "originalRequest": {"method": "GET", "url": {"raw": "{{base}}/v1/users/:id", "host": ["{{base}}"], "path": ["v1", "users", ":id"], "variable": [{"key": "id", "value": "7"}]}}},
        {"name": "Nobody", "code": 404, "_postman_previewlanguage": "json", "header": null, "body": "{\"error\": \"{{no}}\"}",
         "originalRequest": {"method": "GET", "url": {"raw": "{{base}}/v1/users/:id", "path": ["v1", "users", ":id"], "variable": [{"key": "id", "value": "0"}]}}},
        {"name": "Down", "code": 503, "header": [], "body": null,
         "originalRequest": {"method": "GET", "url": {"raw": "{{base}}/v1/users/:id", "path": ["v1", "users", ":id"], "variable": [{"key": "id", "value": "7"}]}}}
      ]},
      {"name": "List", "request": "{{base}}/v1/users?page=1", "response": [
        {"name": "one", "code": 200, "body": "one", "originalRequest": {"method": "GET", "url": "{{base}}/v1/users?page=1"}},
        {"name": "two", "code": 200, "body": "two", "originalRequest": {"method": "GET", "url": "{{base}}/v1/users?page=2&all"}}
      ]}
    ]},
    {"name": "Pay", "request": {"method": "POST", "url": "{{base}}/pay"}, "response": [
      {"name": "paid", "code": 201, "body": "paid", "originalRequest": {"method": "POST", "url": "{{base}}/pay", "body": {"mode": "raw", "raw": "{\"amount\": 5, \"to\": \"bob\"}"}}},
      {"name": "declined", "code": 402, "body": "declined", "originalRequest": {"method": "POST", "url": "{{base}}/pay", "body": {"mode": "raw", "raw": "{\"amount\": 0, \"to\": \"bob\"}"}}},
      {"name": "form", "code": 200, "body": "form", "originalRequest": {"method": "POST", "url": "{{base}}/pay", "body": {"mode": "urlencoded", "urlencoded": [{"key": "amount", "value": "5"}, {"key": "x", "value": "y", "disabled": true}]}}}
    ]},
    {"name": "Odd", "request": {"method": "COPY", "url": "{{base}}/odd"}, "response": [{"name": "x", "code": 200}]},
    {"name": "Unsaved", "request": {"url": "{{base}}/unsaved"}, "event": [{"listen": "test", "script": {"exec": ["x"]}}]}
  ]
}`

func TestPostman_SavedResponsesAreChosenByTheirRequests(t *testing.T) {
	m := importRead(t, postman.Read, "c.json", shop, draft.Options{})
	form := map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
	json := map[string]string{"Content-Type": "application/json"}
	Ask(t, m.Serve(t), []Case{
		{Method: "GET", Target: "/v1/users/7", Status: 200, Want: `{"id": 7, "key": "…`, Has: map[string]string{"Content-Type": "application/json", "Set-Cookie": "a=1, b=2"}},
		{Method: "GET", Target: "/v1/users/0", Status: 404, Want: `{"error": "{{no}}"}`, Has: json},
		{Method: "GET", Target: "/v1/users/5", Status: 200, Want: `{"id": 7, "key": "…`},
		{Method: "GET", Target: "/v1/users/5", Header: map[string]string{"X-Mock-Response-Name": "Nobody"}, Status: 404, Want: `{"error": "{{no}}"}`},
		{Method: "GET", Target: "/v1/users/0", Header: map[string]string{"X-Mock-Response-Code": "503"}, Status: 503},
		{Method: "GET", Target: "/v1/users?page=1", Status: 200, Want: "one"},
		{Method: "GET", Target: "/v1/users?page=2&all", Status: 200, Want: "two"},
		{Method: "GET", Target: "/v1/users", Status: 200, Want: "one"},
		{Method: "POST", Target: "/pay", Body: `{"to":"bob","amount":0}`, Header: json, Status: 402, Want: "declined"},
		{Method: "POST", Target: "/pay", Body: `{"to":"bob","amount":5}`, Header: json, Status: 201, Want: "paid"},
		{Method: "POST", Target: "/pay", Body: `amount=5`, Header: form, Status: 200, Want: "form"},
		{Method: "GET", Target: "/unsaved", Status: 404, Want: `{"error":"No endpoint…`},
	})
	if got, want := m.Counts(), [3]int{8, 0, 2}; got != want {
		t.Errorf("%v, want %v: %v", got, want, m.Items)
	}
	for _, want := range []string{"# - endpoint:\n#     method: COPY\n", "# - endpoint:\n#     method: GET\n#     path: /unsaved\n", "    tag: Users\n    summary: List\n"} {
		if !strings.Contains(m.Text, want) {
			t.Errorf("no %q in\n%s", want, m.Text)
		}
	}
	if pos := m.Items[0].Pos.String(); pos != "c.json:26:88" {
		t.Errorf("the first lost item is at %s, want c.json:26:88", pos)
	}
}

// Of several answers to the same request the first successful one is sent, unless the client names
// another.
func TestPostman_SeveralResponsesToOneRequest(t *testing.T) {
	saved := func(name string, code int, query string) string {
		return fmt.Sprintf(`{"name": %[1]q, "code": %[2]d, "body": %[1]q, "originalRequest": {"method": "GET", "url": "http://a/b%[3]s"}}`, name, code, query)
	}
	responses := []string{saved("busy", 503, "?q=1"), saved("found", 200, "?q=1"), saved("again", 200, "?q=1"), saved("all", 200, ""), saved("none", 404, "")}
	collection := `{"info": {"schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"}, "item": [
		{"name": "b", "request": "http://a/b", "response": [` + strings.Join(responses, ", ") + `]}]}`
	m := importRead(t, postman.Read, "c.json", collection, draft.Options{})
	named := func(name string) map[string]string { return map[string]string{"X-Mock-Response-Name": name} }
	Ask(t, m.Serve(t), []Case{
		{Method: "GET", Target: "/b?q=1", Status: 200, Want: "found"},
		{Method: "GET", Target: "/b?q=1", Header: named("busy"), Status: 503, Want: "busy"},
		{Method: "GET", Target: "/b?q=1", Header: named("again"), Status: 200, Want: "again"},
		{Method: "GET", Target: "/b", Status: 200, Want: "all"},
		{Method: "GET", Target: "/b?q=2", Status: 200, Want: "all"},
		{Method: "GET", Target: "/b", Header: named("none"), Status: 404, Want: "none"},
	})
}

// The requests in a draft get the expected answers.
func TestPostman_Asks(t *testing.T) {
	m := importRead(t, postman.Read, "c.json", shop, draft.Options{})
	url := m.Serve(t)
	if len(m.Asks) != 8 {
		t.Errorf("%d requests, want 8", len(m.Asks))
	}
	for _, a := range m.Asks {
		c := Case{Method: a.Method, Target: a.Target, Body: string(a.Body), Header: map[string]string{}, Status: a.Want[0].Status, Want: string(a.Want[0].Body)}
		for _, f := range a.Header {
			c.Header[f.Name] = f.Value
		}
		if a.Want[0].Any {
			c.Want = "…"
		}
		Ask(t, url, []Case{c})
	}
}

func TestPostman_Variables(t *testing.T) {
	env := filepath.Join(t.TempDir(), "env.json")
	if err := os.WriteFile(env, []byte(`{"values": [{"key": "version", "value": "v2"}, {"key": "name", "value": "env", "enabled": true}, {"key": "off", "value": "x", "enabled": false}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	m := importRead(t, postman.Read, "c.json", `{"info": {}, "variable": [{"key": "version", "value": "v1"}, {"key": "a", "value": "{{b}}"}, {"key": "b", "value": "deep"}, {"key": "loop", "value": "{{loop}}"}],
  "item": [{"name": "f", "variable": [{"key": "b", "value": "deeper"}], "item": [{"name": "x", "request": "{{host}}/{{version}}/{{id}}/a-{{n}}/x", "response": [{"body": "{{a}} {{name}} {{off}} {{loop}}"}]}]}]}`,
		draft.Options{EnvFile: env, Variables: map[string]string{"name": "line"}})
	Ask(t, m.Serve(t), []Case{
		{Method: "GET", Target: "/v2/7/a-b/x", Status: 200, Want: "deeper line {{off}} {{loop}}"},
		{Method: "GET", Target: "/v2/7/b/x", Status: 404, Want: "…"},
		{Method: "GET", Target: "/v1/7/a-b/x", Status: 404, Want: "…"},
	})
}

func TestPostman_ErrorsHavePlaces(t *testing.T) {
	refused(t, postman.Read, "c.json", map[string]string{
		`{"info": {}, "item": 5}`:       "c.json:1:1: has no list of items; expected a collection of Postman, version 2.0 or 2.1",
		"{\"info\": {},\n \"item\": [}": "c.json:2:11: this is not JSON; expected a value here",
		`[]`:                            "c.json:1:1: has no list of items; expected a collection of Postman, version 2.0 or 2.1",
	})
	missing := filepath.Join(t.TempDir(), "none.json")
	if err := postman.Read(source(t, "c.json", `{"info":{},"item":[]}`), &draft.Draft{}, draft.Options{EnvFile: missing}); err == nil || !strings.HasPrefix(err.Error(), missing+": ") {
		t.Errorf("an environment that does not exist: %v", err)
	}
}

// Every part of a collection is an item of the report, with its position.
func TestPostman_OddCollections(t *testing.T) {
	m := importRead(t, postman.Read, "c.json", `{"info": {}, "item": [5, {"name": "none"}, {"name": "r", "request": {"url": "/r"}, "response": [5, {"code": 99}, {"code": "x"},
{"name": "h", "header": [{"key": "a b", "value": "1"}, {"key": "ETag", "value": "1"}, {"key": "etag", "value": "2"}]}, {"name": "d", "body": "{{$randomCatsImage}}"}]}]}`, draft.Options{})
	var got []string
	for _, i := range m.Items {
		got = append(got, i.Kind.String()+" "+i.Pos.String()+" "+i.Name+": "+i.Why)
	}
	want := []string{
		"lost c.json:1:23 : an item is a number; expected a map",
		"lost c.json:1:26 none: the item has neither a request nor items",
		"lost c.json:1:97 r / 1: the answer is a number; expected a map",
		"lost c.json:1:100 r / 2: the status 99 cannot be sent; statuses are 200 to 599",
		"lost c.json:1:114 r / 3: the status x cannot be sent; statuses are 200 to 599",
		"approximate c.json:2:120 r / d: the variable $randomCatsImage has no equivalent and is sent as it is",
		"approximate c.json:2:1 r / h: only the first value of the header etag is sent",
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The server knows the equivalents of all dynamic variables.
func TestPostman_DynamicVariables(t *testing.T) {
	body := ""
	for _, name := range expressionNames(t, "postman") {
		body += "{{" + name + "}} "
	}
	m := importRead(t, postman.Read, "c.json", `{"info": {}, "item": [{"name": "x", "request": "/x", "response": [{"body": "`+body+`"}]}]}`, draft.Options{})
	if strings.Contains(m.Text, "$") {
		t.Errorf("not all are known:\n%s", m.Text)
	}
}

// savedFor returns an item with one saved answer, whose body is the name of the item.
func savedFor(item, response, request string) string {
	return fmt.Sprintf(`{"name": %[1]q, "request": {%[3]s}, "response": [{"name": %[2]q, "code": 200, "body": %[1]q, "originalRequest": {%[3]s}}]}`, item, response, request)
}

// An address is what Postman sends: variables may hold any part of it.
func TestPostman_Addresses(t *testing.T) {
	urls := map[string]string{
		`"{{base}}/text"`: "/v1/text",
		`{"raw": "{{base}}/object", "host": ["{{base}}"], "path": ["object"]}`:                 "/v1/object",
		`{"raw": "{{nested}}/nested", "host": ["{{nested}}"], "path": ["nested", "{{part}}"]}`: "/v1/nested/a/b",
		`{"host": "{{host}}", "port": "81", "path": "/{{part}}/plain"}`:                        "/a/b/plain",
		`{"host": ["api", "example", "com"], "path": ["{{part}}", ""]}`:                        "/a/b",
		`"{{base}}/query?y={{z}}"`: "/v1/query?y=zz",
		`{"host": ["{{base}}"], "path": ["off"], "query": [{"key": "q", "value": "1", "disabled": true}]}`: "/v1/off",
		`{"host": ["{{base}}"], "path": [":id", "x"], "variable": [{"key": "id", "value": "{{z}}"}]}`:      "/v1/zz/x",
		`{"raw": "https://api.example.com/v1/raw"}`:                                                        "/v1/raw",
		`{"host": ["{{base}}"], "path": ["{{unknown}}", {"type": "string", "value": "map"}]}`:              "/v1/anything/map",
	}
	var items []string
	for url, target := range urls {
		items = append(items, savedFor(target, "s", `"method": "GET", "url": `+url))
	}
	m := importRead(t, postman.Read, "c.json", `{"info": {}, "variable": [{"key": "base", "value": "https://api.example.com/v1"}, {"key": "nested", "value": "{{base}}"}, {"key": "host", "value": "api.example.com"},
{"key": "part", "value": "a/b"}, {"key": "z", "value": "zz"}], "item": [`+strings.Join(items, ",")+`]}`, draft.Options{})
	url := m.Serve(t)
	for _, target := range urls {
		Ask(t, url, []Case{{Method: "GET", Target: target, Status: 200, Want: target}})
	}
}

// Requests are told apart by their bodies although some of the values are variables, and an answer
// to which no request leads is approximate.
func TestPostman_BodiesWithVariables(t *testing.T) {
	raw := func(text string) string {
		return fmt.Sprintf(`"method": "POST", "url": "http://a/pay", "body": {"mode": "raw", "raw": %q}`, text)
	}
	form := func(mode, value string) string {
		return fmt.Sprintf(`"method": "POST", "url": "http://a/pay", "body": {"mode": %[1]q, %[1]q: [{"key": "f", "value": %[2]q}]}`, mode, value)
	}
	graph := func(variables string) string {
		return fmt.Sprintf(`"method": "POST", "url": "http://a/pay", "body": {"mode": "graphql", "graphql": {"query": "{a}", "variables": %q}}`, variables)
	}
	m := importRead(t, postman.Read, "c.json", `{"info": {}, "item": [`+strings.Join([]string{
		savedFor("card", "OK", raw(`{"account": "{{account}}", "type": "card", "amount": {{amount}}}`)),
		savedFor("bank", "OK", raw(`{"account": "{{account}}", "type": "bank", "amount": {{amount}}}`)),
		savedFor("any", "OK", raw(`{"account": "{{account}}", "type": "{{type}}", "amount": {{amount}}}`)),
		savedFor("deep", "OK", raw(`{"a": {"b": [1, "{{x}}", {"c": null}]}}`)),
		savedFor("deeper", "OK", raw(`{"a": {"b": [2, "{{x}}", {"c": null}]}}`)),
		savedFor("urlencoded", "OK", form("urlencoded", "1")),
		savedFor("formdata", "OK", form("formdata", "2")),
		savedFor("graph", "OK", graph(`{"a": 1}`)),
		savedFor("graph2", "OK", graph(`{"a": 2}`)),
		savedFor("again", "Other", graph(`{"a": 2}`)),
		savedFor("never", "OK", graph(`{"a": 2}`)),
	}, ",")+`]}`, draft.Options{})
	url := m.Serve(t)
	json := map[string]string{"Content-Type": "application/json"}
	Ask(t, url, []Case{
		{Method: "POST", Target: "/pay", Header: json, Body: `{"type":"bank","amount":5,"account":"me"}`, Status: 200, Want: "bank"},
		{Method: "POST", Target: "/pay", Header: json, Body: `{"type":"card","amount":5,"account":"me"}`, Status: 200, Want: "card"},
		{Method: "POST", Target: "/pay", Header: json, Body: `{"type":"cash","amount":5,"account":"me"}`, Status: 200, Want: "any"},
		{Method: "POST", Target: "/pay", Header: json, Body: `{"a":{"b":[2,7,{"c":null}]}}`, Status: 200, Want: "deeper"},
		{Method: "POST", Target: "/pay", Header: json, Body: `{"a":{"b":[1,7,{"c":null}]}}`, Status: 200, Want: "deep"},
	})
	for _, a := range m.Asks {
		c := Case{Method: a.Method, Target: a.Target, Body: string(a.Body), Header: map[string]string{}, Status: 200, Want: string(a.Want[0].Body)}
		for _, f := range a.Header {
			if c.Header[f.Name] = f.Value; f.Name == "x-mock-response-name" && c.Want != "again" {
				t.Errorf("%s is asked by its name", a.Name)
			}
		}
		Ask(t, url, []Case{c})
	}
	if got := m.Counts(); got != [3]int{10, 1, 0} || len(m.Asks) != 10 {
		t.Errorf("%v, %d requests: %v", got, len(m.Asks), m.Items)
	}
}

func FuzzPostman(f *testing.F) {
	f.Add(shop)
	f.Add(`{"info":{},"item":[{"request":"{{a}}/:b/{{c}}?d=e#f","response":[{"header":"A: b\nC: d","body":"{{$guid}}{"}]}]}`)
	f.Add(`{"info":{},"item":[{"request":{"method":"*","url":{"path":"/%zz/*/:/::","query":[{"key":"a b"}]}},"response":[{},{}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		fuzzed(t, postman.Read, "c.json", text)
	})
}
