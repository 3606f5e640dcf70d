package config_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mockserver/config"
	"mockserver/config/syntax"

	"mockserver/config/openapi/export"
)

// exportedFrom writes a configuration to a file and returns its export, as decoded from JSON.
func exportedFrom(t *testing.T, text string) map[string]any {
	t.Helper()
	file := filepath.Join(t.TempDir(), "api.yml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	document, _, err := export.Spec(config.Loader{}, config.Load(file))
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, document)
}

func decoded(t *testing.T, document *syntax.Node) map[string]any {
	t.Helper()
	data, err := export.Write(document, "json")
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return v
}

// pick returns a nested member, by its keys.
func pick(v any, path ...string) any {
	for _, key := range path {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

func TestExport_WhatOpenAPICanSay(t *testing.T) {
	got := exportedFrom(t, `
- endpoint:
    method: post
    path: /shops/:shop|uuid/orders/:id|int/
    router-name: createOrder
    summary: Create an order
    description: It is free.
    tag: [orders, shops]
    query: {page: int, exact: bool, q: string}
    body: {amount: 1.50}
    response:
      status: 201
      headers: {Location: /orders/7, Content-Type: application/vnd.shop+json, X-Shop: "{{path-params.shop}}"}
      body: '{"id": 7, "total": 1.50}'
- endpoint: {path: /note, response: {body: "no. 7"}}
- endpoint: {method: DELETE, path: /note, response: {status: 204}}
`)
	var want map[string]any
	if err := json.Unmarshal([]byte(`{
	"openapi": "3.0.3",
	"info": {"title": "api", "version": "1.0.0"},
	"paths": {
		"/shops/{shop}/orders/{id}": {"post": {
			"operationId": "createOrder", "summary": "Create an order", "description": "It is free.", "tags": ["orders", "shops"],
			"parameters": [
				{"name": "shop", "in": "path", "required": true, "schema": {"type": "string", "format": "uuid"}},
				{"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}},
				{"name": "page", "in": "query", "schema": {"type": "integer"}},
				{"name": "exact", "in": "query", "schema": {"type": "boolean"}},
				{"name": "q", "in": "query", "schema": {"type": "string"}}
			],
			"requestBody": {"content": {"application/json": {"example": {"amount": 1.50}}}},
			"responses": {"201": {
				"description": "Created",
				"headers": {
					"Location": {"schema": {"type": "string"}, "example": "/orders/7"},
					"X-Shop": {"schema": {"type": "string"}, "x-mockserver-template": "{{path-params.shop}}"}
				},
				"content": {"application/vnd.shop+json": {"example": {"id": 7, "total": 1.50}}}
			}}
		}},
		"/note": {
			"get": {"responses": {"200": {"description": "OK", "content": {"text/plain; charset=utf-8": {"example": "no. 7"}}}}},
			"delete": {"responses": {"204": {"description": "No Content"}}}
		}
	}}`), &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		text, _ := json.MarshalIndent(got, "", "  ")
		t.Errorf("got %s", text)
	}
}

func TestExport_EndpointsOfOneOperationAreItsResponsesAndExamples(t *testing.T) {
	op := pick(exportedFrom(t, `
- endpoint: {path: "/pay/:id", if: path-params.id = 1, response: {status: 402, body: {code: declined}}}
- endpoint: {path: "/pay/:id", if: path-params.id = 2, response: {body: {n: 2}}}
- endpoint: {path: "/pay/:no|int", host: a.test, summary: At a, response: {body: {n: 3}}}
- endpoint: {path: "/pay/:id", summary: Pay, router-name: pay, response: {body: {n: 4}}}
`), "paths", "/pay/{id}", "get")
	for _, c := range []struct {
		path []string
		want string
	}{
		{[]string{"summary"}, `"Pay"`}, // from the endpoint that answers by default
		{[]string{"operationId"}, `"pay"`},
		{[]string{"parameters"}, `[{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}]`}, // not all of them are integers
		{[]string{"responses", "402"}, `{"description": "if path-params.id = 1",
			"content": {"application/json": {"example": {"code": "declined"}, "x-mockserver-if": "path-params.id = 1"}}}`},
		{[]string{"responses", "200", "description"}, `"if path-params.id = 2\nfor the host a.test"`},
		{[]string{"responses", "200", "content", "application/json", "examples"}, `{
			"example1": {"value": {"n": 2}, "x-mockserver-if": "path-params.id = 2"},
			"example2": {"summary": "At a", "value": {"n": 3}, "x-mockserver-host": "a.test"},
			"example3": {"summary": "Pay", "value": {"n": 4}}}`},
	} {
		var want any
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		if got := pick(op, c.path...); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", strings.Join(c.path, "."), got, want)
		}
	}
}

// A request that does not ask for a particular example gets the first one.
func TestExport_TheExampleThatAlwaysHoldsIsTheFirst(t *testing.T) {
	file := filepath.Join(t.TempDir(), "api.yml")
	if err := os.WriteFile(file, []byte(`
- endpoint: {path: /a, if: query-params.a = 1, response: {body: {n: 1}}}
- endpoint: {path: /a, if: query-params.a = 2, response: {body: {n: 2}}}
- endpoint: {path: /a, response: {body: {n: 3}}}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	document, _, err := export.Spec(config.Loader{}, config.Load(file))
	if err != nil {
		t.Fatal(err)
	}
	for name, example := range document.Get("paths", "/a", "get", "responses", "200", "content", "application/json", "examples").Members() {
		if n := example.Get("value", "n"); n.Scalar() != "3" {
			t.Errorf("the first is %s with %s, want the one that always holds", name, n.Scalar())
		}
		break
	}
}

func TestExport_WhatAnswersWithoutAnExample(t *testing.T) {
	got := exportedFrom(t, `
- endpoint:
    path: /files/*rest
    response: {external-body: {provider: xlsx, path: a.xlsx, sheet-name: s}}
- endpoint:
    path: '/a{b}/:when|date'
    response: {body: "{{now}}", template: false}
- endpoint:
    path: /draw
    rate-limit: {max-requests: 5}
    responses:
      - {weight: 9, status: 200, body: ok}
      - {weight: 1, status: 500, body: '{"at": "{{now}}"}'}
- endpoint:
    path: /events
    response: {stream: [{items: [{data: "{{now}}"}], times: 2}], pace: {gap: 1s}}
`)
	for _, c := range []struct {
		path []string
		want string
	}{
		{[]string{"paths", "/events", "get", "responses", "200", "content"}, `{"text/event-stream": {}}`},
		{[]string{"paths", "/files/{rest}", "get", "parameters"}, `[{"name": "rest", "in": "path", "required": true,
			"description": "all that is left of the path, or nothing", "schema": {"type": "string"}}]`},
		{[]string{"paths", "/files/{rest}", "get", "responses", "200", "content"}, `{"application/json": {"x-mockserver-external-body": {"provider": "xlsx", "path": "a.xlsx", "sheet-name": "s"}}}`},
		{[]string{"paths", "/a%7Bb%7D/{when}", "get", "responses", "200", "content"}, `{"application/json": {"example": "{{now}}"}}`},
		{[]string{"paths", "/draw", "get", "responses", "429", "description"}, `"the rate limit is exceeded"`},
		{[]string{"paths", "/draw", "get", "responses", "500", "content"}, `{"application/json": {"x-mockserver-template": "{\"at\": \"{{now}}\"}"}}`},
	} {
		var want any
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		if got := pick(got, c.path...); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", strings.Join(c.path, "."), got, want)
		}
	}
}

// What OpenAPI cannot express is named, and left out.
func TestExport_WhatIsLeftOut(t *testing.T) {
	file := filepath.Join(t.TempDir(), "api.yml")
	if err := os.WriteFile(file, []byte(`
- upstream: {name: real, url: 'http://127.0.0.1:1'}
- endpoint: {path: /a, response: {body: a}, webhook: {method: POST, url: 'http://127.0.0.1:1'}}
- endpoint: {method: any, path: '/*rest', response: {proxy: real}}
- resource: {path: /b}
- websocket: {path: /echo, on-message: [{pattern: ping, response: {body: pong}}]}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	document, left, err := export.Spec(config.Loader{}, config.Load(file))
	if paths := document.Get("paths").Keys(); err != nil || !slices.Equal(paths, []string{"/a"}) || left != "WebSockets, endpoints for any method, resources, webhooks" {
		t.Errorf("got the paths %q without %q, %v; want /a alone", paths, left, err)
	}
}

// An export does not contain the secrets that logs and admin responses also hide, and it can be
// loaded.
func TestExport_HidesSecrets(t *testing.T) {
	document := exportedFrom(t, `
- endpoint:
    method: POST
    path: /pay
    if: header-params.Authorization = "Bearer hunter2" and json-params.n = kept1
    body: {password: hunter2, n: kept2}
    response: {status: 202, headers: {Set-Cookie: kept3}, body: "{% if cookie-params.sid = 'hunter2' %}kept4{% endif %}"}
    webhook: {url: "http://ann:hunter2@a.test/", method: POST, sign: {secret: hunter2}}
- endpoint: {path: /from, response: {external-body: {provider: json, path: "https://ann:hunter2@a.test/{{query-params.kept5}}"}}}
`)
	data, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(data); strings.Contains(text, "hunter2") || strings.Count(text, "(not shown)") < 3 {
		t.Errorf("a secret is in %s", data)
	}
	for _, want := range []string{"kept1", "kept2", "kept3", "kept4", "https://xxxxx@a.test/{{query-params.kept5}}"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s is not in %s", want, data)
		}
	}
	if problems := config.Parse("export.json", data).Problems; problems.Err() != nil {
		t.Errorf("the export cannot be loaded: %v", problems)
	}
}

func TestExport_OperationIdsAreOnlyGivenOnce(t *testing.T) {
	got := exportedFrom(t, `
- endpoint: {path: /a, router-name: same, response: {}}
- endpoint: {path: /b, router-name: same, response: {}}
`)
	if a, b := pick(got, "paths", "/a", "get", "operationId"), pick(got, "paths", "/b", "get", "operationId"); a != "same" || b != nil {
		t.Errorf("got %v and %v, want it at the first alone", a, b)
	}
}

func TestExport_RefusesAWrongConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "api.yml")
	if err := os.WriteFile(file, []byte("- endpoint: {path: /a, statsu: 1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := export.Spec(config.Loader{}, config.Load(file)); err == nil || !strings.Contains(err.Error(), "statsu") {
		t.Errorf("got %v, want the error", err)
	}
}

// placeless returns a copy of a node without its position in a file.
func placeless(n *syntax.Node) *syntax.Node {
	out := &syntax.Node{Kind: n.Kind, Text: syntax.Text{Value: n.Text.Value}}
	for _, e := range n.Entries {
		out.Entries = append(out.Entries, syntax.NewEntry(e.Name(), placeless(e.Value)))
	}
	for _, item := range n.Items {
		out.Items = append(out.Items, placeless(item))
	}
	return out
}

// FuzzExportedText writes texts as keys and as values, and checks that they are unchanged when they
// are read back, in both formats.
func FuzzExportedText(f *testing.F) {
	for _, text := range []string{"", "a", "yes", "~", "1e3", "0x1F", "1:30", "2024-01-01", " a", "a\n", "\n a", "a\n\nb", "a \nb", "\ta\nb", "- a", "#", "{{x}}", "a: b", "é\u2028", "<<", "a\r\nb", "null", "a\n\n", "\x00\x7f\u0085"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?")
		document := syntax.NewMap().Set(text, syntax.NewList(syntax.NewText(text), syntax.NewMap(), syntax.NewList(), &syntax.Node{}))
		for _, form := range []string{"yaml", "json"} {
			data, err := export.Write(document, form)
			if err != nil {
				t.Fatalf("%s of %q: %v", form, text, err)
			}
			docs, problems := syntax.Read("a."+form, data)
			if err := problems.Err(); err != nil || len(docs) != 1 {
				t.Fatalf("%s of %q: %v in %q", form, text, err, data)
			}
			if back := placeless(docs[0]); !reflect.DeepEqual(back, document) {
				t.Errorf("%s of %q: %q is read as %+v", form, text, data, back)
			}
		}
	})
}
