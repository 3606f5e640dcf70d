package e2e_test

import (
	"strconv"
	"strings"
	"testing"

	"mockserver/internal/harness"
	"mockserver/internal/harness/volume"
)

// faulty lists documents with faults: what validate warns about, and what is served nevertheless.
var faulty = []struct {
	name, document string
	warning        string   // "line:column: pointer: " and the complete text
	asked          []string // "GET /a 200 body"
}{
	{"reference to nothing", openAPI + `paths:
  /a:
    get: {responses: {'200': {description: ok, content: {application/json: {example: [1], schema: {$ref: '#/components/schemas/A'}}}}}}
`, `5:107: #/paths/~1a/get/responses/200/content/application~1json/schema/$ref: the reference "#/components/schemas/A" does not resolve: there is no "components" there; what it refers to is left out, so a schema accepts anything`,
		[]string{"GET /a 200 [1]"}},
	{"reference to another kind", openAPI + `paths:
  /a:
    get: {responses: {'200': {$ref: '#/components/schemas/A'}}}
components: {schemas: {A: {type: string}}}
`, `5:38: #/paths/~1a/get/responses/200/$ref: the reference leads to one of schemas; expected one of responses; what it refers to is left out, so a schema accepts anything`,
		[]string{"GET /a 200 "}},
	{"reference to a file that is not there", openAPI + `paths:
  /a:
    get: {responses: {'200': {description: ok, content: {text/plain: {example: x, schema: {$ref: 'none.yml'}}}}}}
`, `/none.yml: there is no such file; what it refers to is left out`,
		[]string{"GET /a 200 x"}},
	{"reference in place of an operation", openAPI + `paths:
  /a: {get: {$ref: '#/x-get', summary: own}}
x-get: {summary: other, responses: {'200': {description: ok, content: {text/plain: {example: x}}}}}
`, `4:21: #/paths/~1a/get/$ref: OpenAPI has no reference here; expected the value itself; it is followed`, []string{"GET /a 200 x"}},
	{"references in place of responses, content and a list", openAPI + `paths:
  /a/{n}: {get: {parameters: {$ref: '#/x-parameters'}, responses: {$ref: '#/x-responses'}}}
x-parameters: [{name: n, in: path, required: true, schema: {$ref: '#/components/schemas/N'}}]
x-responses: {'200': {description: ok, content: {$ref: '#/x-content'}}}
x-content: {text/plain: {$ref: '#/x-media'}}
x-media: {examples: {$ref: '#/x-examples'}}
x-examples: {one: {value: x}}
components: {schemas: {$ref: '#/x-schemas'}}
x-schemas: {N: {type: integer}}
`, `4:38: #/paths/~1a~1{n}/get/parameters/$ref: OpenAPI has no reference here; expected the value itself; it is followed`, []string{"GET /a/1 200 x"}},
	{"references in place of keywords", openAPI + `paths:
  /a: {get: {responses: {'200': {description: ok, content: {application/json: {schema: {type: object, required: {$ref: '#/x-names'}, properties: {$ref: '#/x-properties'}}}}}}}}
  /b: {get: {responses: {'200': {description: ok, content: {application/json: {schema: {type: object, required: ['$ref'], properties: {$ref: {type: string, enum: {$ref: '#/x-enum'}}}}}}}}}}
x-names: [b]
x-properties: {b: {enum: [{$ref: '#/x-names'}]}}
x-enum: [one]
`, `4:121: #/paths/~1a/get/responses/200/content/application~1json/schema/required/$ref: OpenAPI has no reference here; expected the value itself; it is followed`,
		[]string{`GET /a 200 {"b":{"$ref":"#/x-names"}}`, `GET /b 200 {"$ref":"one"}`}},
	{"references in examples", openAPI + `paths:
  /a: {get: {responses: {'200': {description: ok, content: {application/json: {example: {a: [{$ref: '#/x-value'}], b: {$ref: '#/x-value', c: 1}, d: {$ref: '#/x-none'}, e: {$ref: Pet}, f: {$ref: 'http://127.0.0.1:1/'}}}}}}}}
  /b: {get: {responses: {'200': {description: ok, content: {application/json: {examples: {one: {value: {$ref: '#/x-value'}}}}}}}}}
x-value: {x: {$ref: '#/x-deeper'}}
x-deeper: [1]
`, `4:102: #/paths/~1a/get/responses/200/content/application~1json/example/a/0/$ref: OpenAPI has no reference here; expected the value itself; it is followed`,
		[]string{`GET /a 200 {"a":[{"x":[1]}],"b":{"$ref":"#/x-value","c":1},"d":{"$ref":"#/x-none"},"e":{"$ref":"Pet"},"f":{"$ref":"http://127.0.0.1:1/"}}`, `GET /b 200 {"x":[1]}`}},
	{"references to each other in place of operations", openAPI + `paths:
  /a: {get: {$ref: '#/paths/~1b/get'}}
  /b: {get: {$ref: '#/paths/~1a/get'}}
`, `5:21: #/paths/~1a/get/$ref: the reference leads back to itself, so it would never end; what it refers to is left out, so a schema accepts anything`, []string{"GET /a 200 ", "GET /b 200 "}},
	{"reference to what is around it", openAPI + `paths:
  /a: {get: {responses: {'200': {description: ok, content: {application/json: {example: {a: {$ref: '#/paths/~1a'}}}}}}}}
`, `4:101: #/paths/~1a/get/responses/200/content/application~1json/example/a/$ref: the reference leads back to itself, so it would never end; what it refers to is left out, so a schema accepts anything`, []string{`GET /a 200 {"a":{}}`}},
	{"reference to the whole document", openAPI + `paths:
  /a: {get: {responses: {'200': {description: ok, content: {application/json: {schema: {$ref: '#'}}}}}}}
  /b: {$ref: '#'}
  /c: {get: {$ref: '#'}}
`, `4:96: #/paths/~1a/get/responses/200/content/application~1json/schema/$ref: the reference leads back to itself, so it would never end; what it refers to is left out, so a schema accepts anything`,
		[]string{"GET /a 200 {}", "GET /c 200 "}},
	{"references to what their targets are in", openAPI + `paths:
  /a: {get: {responses: {'200': {description: ok, content: {application/json: {schema: {$ref: '#/x-parts'}}}}, '400': {$ref: '#/x-parts/schemas'}}}}
components: {$ref: '#/x-parts'}
x-parts: {schemas: {S: {$ref: '#/components/responses'}}, responses: {R: {description: r}}}
`, `the reference leads back to itself, so it would never end; what it refers to is left out, so a schema accepts anything`,
		[]string{"GET /a 200 {}"}},
	{"reference to a file whose name is no line of text", openAPI + `paths:
  /a: {get: {responses: {'200': {description: ok, content: {text/plain: {example: x, schema: {$ref: "a\nb.yml"}}}}}}}
`, `a\nb.yml": there is no such file; what it refers to is left out`, []string{"GET /a 200 x"}},
	{"enum without values", openAPI + `paths:
  /a: {get: {parameters: [{name: q, in: query, schema: {enum: []}}], responses: {'200': {description: ok, content: {text/plain: {example: x}}}, '400': {description: wrong, content: {text/plain: {example: no}}}}}}
`, `4:63: #/paths/~1a/get/parameters/0/schema/enum: the enum is empty, so no value is allowed; expected at least one value`, []string{"GET /a 200 x", "GET /a?q=x 400 no"}},
	{"discriminator that does not resolve", openAPI + `paths:
  /a:
    get: {responses: {'200': {description: ok, content: {application/json: {schema: {$ref: '#/components/schemas/A'}}}}}}
components:
  schemas:
    A: {type: object, required: [kind], properties: {kind: {type: string}}, discriminator: {propertyName: kind, mapping: {b: '#/components/schemas/B'}}}
`, `8:127: #/components/schemas/A/discriminator/mapping/b: the reference "#/components/schemas/B" does not resolve: there is no "B" there; what it refers to is left out, so a schema accepts anything`,
		[]string{`GET /a 200 {"kind":"A"}`}},
	{"schema that contains itself", openAPI + `paths:
  /a:
    get: {responses: {'200': {description: ok, content: {application/json: {schema: {$ref: '#/components/schemas/A'}}}}}}
components:
  schemas:
    A: {allOf: [{$ref: '#/components/schemas/A'}, {enum: [7]}]}
`, `8:8: #/components/schemas/A: the schema contains itself through allOf, anyOf, oneOf, not or if, so it would never end; a reference back to it may be in properties or items; the part that leads back is left out`,
		[]string{"GET /a 200 7"}},
	{"list for a map", openAPI + `paths:
  /a:
    get: {responses: {'200': {description: ok, headers: [], content: {text/plain: {example: x}}}}}
`, `5:57: #/paths/~1a/get/responses/200/headers: is a list; expected a map; it is left out`, []string{"GET /a 200 x"}},
	{"map for a list", openAPI + `paths:
  /a:
    get: {tags: {a: b}, responses: {'200': {description: ok, content: {text/plain: {example: x}}}}}
`, `5:17: #/paths/~1a/get/tags: is a map; expected a list; it is left out`, []string{"GET /a 200 x"}},
	{"text for a list", openAPI + `paths:
  /a:
    get: {parameters: none, responses: {'200': {description: ok, content: {text/plain: {example: x}}}}}
`, `5:23: #/paths/~1a/get/parameters: is a text; expected a list; it is left out`, []string{"GET /a 200 x"}},
	{"no title", "openapi: 3.0.3\ninfo: {version: '1'}\npaths:\n  /a: {get: {responses: {'204': {description: ok}}}}\n",
		`2:7: #/info: title is missing; nothing that is served depends on it`, []string{"GET /a 204 "}},
	{"no info", "openapi: 3.0.3\npaths:\n  /a: {get: {responses: {'204': {description: ok}}}}\n",
		`1:1: #: info is missing; nothing that is served depends on it`, []string{"GET /a 204 "}},
	{"empty URL of documents", openAPI + `externalDocs: {url: ''}
paths:
  /a: {get: {responses: {'204': {description: ok}}}}
`, `3:15: #/externalDocs: url is empty; nothing that is served depends on it`, []string{"GET /a 204 "}},
	{"no URL of a server", openAPI + `servers: [{description: x}]
paths:
  /a: {get: {responses: {'204': {description: ok}}}}
`, `3:11: #/servers/0: url is missing; paths are served without a base`, []string{"GET /a 204 "}},
	{"URL that is none", openAPI + `servers: [{url: 'http://[x'}]
paths:
  /a: {get: {responses: {'204': {description: ok}}}}
`, `3:11: #/servers/0: the server's URL "http://[x" is not a URL; paths are served without a base`, []string{"GET /a 204 "}},
	{"example without a value", openAPI + `paths:
  /a:
    get: {responses: {'200': {description: ok, content: {text/plain: {schema: {type: string, enum: [y]}, examples: {x: {summary: s}}}}}}}
`, `5:120: #/paths/~1a/get/responses/200/content/text~1plain/examples/x: no value or externalValue field; it is left out`, []string{"GET /a 200 y"}},
	{"response without a description", openAPI + `paths:
  /a: {get: {responses: {'200': {content: {text/plain: {example: x}}}}}}
`, `4:33: #/paths/~1a/get/responses/200: description is missing; nothing that is served depends on it`, []string{"GET /a 200 x"}},
	{"no responses", openAPI + "paths:\n  /a: {get: {summary: s}}\n",
		`4:13: #/paths/~1a/get: responses is missing; the answer is 200, without a body`, []string{"GET /a 200 "}},
	{"type that does not exist", openAPI + `paths:
  /a: {get: {responses: {'200': {description: ok, content: {application/json: {schema: {type: money, enum: [5]}}}}}}}
`, `4:95: #/paths/~1a/get/responses/200/content/application~1json/schema/type: the type "money" does not exist; expected string, number, integer, boolean, array, object or null; it is ignored`, []string{"GET /a 200 5"}},
	{"rule that nothing depends on", openAPI + `paths:
  /a: {get: {operationId: a, security: [{none: []}], responses: {'200': {description: ok}}}}
  /b: {get: {responses: {'200': {description: ok, content: {application/json: {schema: {type: array, maxItems: 0}}}}}}}
`, `5:88: #/paths/~1b/get/responses/200/content/application~1json/schema: items is missing; expected the schema of the items; it is served unchanged`,
		[]string{"GET /a 200 ", "GET /b 200 []"}},
	{"operationId twice", openAPI + `paths:
  /a: {get: {operationId: x, responses: {'200': {description: ok, content: {text/plain: {example: a}}}}}}
  /b: {get: {operationId: x, responses: {'200': {description: ok, content: {text/plain: {example: b}}}}}}
`, `: the operationId "x" is already given at `, []string{"GET /a 200 a", "GET /b 200 b"}},
	{"path without a slash", openAPI + "paths:\n  a: {get: {responses: {'204': {description: ok}}}}\n",
		`4:3: #/paths/a: the path "a" does not begin with /; a / is added`, []string{"GET /a 204 "}},
	{"brace without another", openAPI + "paths:\n  '/a/{b': {get: {responses: {'204': {description: ok}}}}\n",
		`4:4: #/paths/~1a~1{b: the path "/a/{b": a { has no matching } in its segment; the path is taken literally`, []string{"GET /a/%7Bb 204 "}},
	{"blank name in a path", openAPI + "paths:\n  '/a/{}': {get: {responses: {'204': {description: ok}}}}\n",
		`4:4: #/paths/~1a~1{}: the path "/a/{}": a parameter has no name; it is named after its position`, []string{"GET /a/b 204 "}},
	{"name twice in a path", openAPI + `paths:
  /a/{id}/b/{id}:
    get: {parameters: [{name: id, in: path, required: true, schema: {type: string}}], responses: {'204': {description: ok}}}
`, `4:3: #/paths/~1a~1{id}~1b~1{id}: the path "/a/{id}/b/{id}": the parameter "id" occurs twice; a number is added to the second name`,
		[]string{"GET /a/x/b/y 204 "}},
	{"parameter that is not declared", openAPI + "paths:\n  /a/{id}: {get: {responses: {'204': {description: ok}}}}\n",
		`4:13: #/paths/~1a~1{id}/get: the path parameter "id" is not declared: an entry of parameters with name: id and in: path is missing; any text is accepted`,
		[]string{"GET /a/x 204 "}},
	{"parameter that is not in the path", openAPI + `paths:
  /a: {get: {parameters: [{name: id, in: path, required: true, schema: {type: integer}}], responses: {'204': {description: ok}}}}
`, `4:27: #/paths/~1a/get/parameters/0: the path parameter "id" is not in the path of GET; it is left out`, []string{"GET /a 204 "}},
	{"blank parameter", openAPI + `paths:
  /a: {get: {parameters: [{name: '', in: query, required: true, schema: {type: integer}}], responses: {'204': {description: ok}}}}
`, `4:27: #/paths/~1a/get/parameters/0: name is empty; it is left out`, []string{"GET /a 204 "}},
	{"query in a path", openAPI + `paths:
  '/a?b={c}':
    get: {parameters: [{name: c, in: path, required: true, schema: {type: integer}}], responses: {'204': {description: ok}, '400': {description: wrong}}}
`, `4:4: #/paths/~1a?b={c}: the path "/a?b={c}" contains a query; the path ends there, and what follows are query parameters`,
		[]string{"GET /a 204 ", "GET /a?b=1 204 "}},
	{"queries in paths", openAPI + `paths:
  '/a?act=stop': {get: {responses: {'200': {description: ok, content: {text/plain: {example: stop}}}}}}
  '/a?act=go': {get: {responses: {'200': {description: ok, content: {text/plain: {example: go}}}}}}
`, `5:17: #/paths/~1a?act=go/get: GET is of the same shape as /a?act=stop on line 4; it answers if query-params["act"] = "go"`,
		[]string{"GET /a?act=go 200 go", "GET /a?act=stop 200 stop", "GET /a 200 stop"}},
	{"paths of one shape", openAPI + `paths:
  /{a}: {get: {parameters: [{name: a, in: path, required: true, schema: {}}], responses: {'200': {description: ok, content: {text/plain: {example: a}}}}}}
  /{b}: {get: {parameters: [{name: b, in: path, required: true, schema: {}}], responses: {'200': {description: ok, content: {text/plain: {example: b}}}}}}
`, `5:10: #/paths/~1{b}/get: GET is of the same shape as /{a} on line 4: no request tells them apart; the first one answers, and this one is not reached`,
		[]string{"GET /x 200 a"}},
	{"paths of one shape with other methods", openAPI + `paths:
  /{a}: {get: {parameters: [{name: a, in: path, required: true, schema: {}}], responses: {'200': {description: ok, content: {text/plain: {example: a}}}}}}
  /{b}: {put: {parameters: [{name: b, in: path, required: true, schema: {}}], responses: {'200': {description: ok, content: {text/plain: {example: b}}}}}}
`, `5:3: #/paths/~1{b}: the path is of the same shape as /{a} on line 4; they have no method in common`,
		[]string{"GET /x 200 a", "PUT /x 200 b"}},
	{"paths of one shape with other types", openAPI + `paths:
  /{name}: {get: {parameters: [{name: name, in: path, required: true, schema: {type: string}}], responses: {'200': {description: ok, content: {text/plain: {example: a}}}}}}
  /{id}: {get: {parameters: [{name: id, in: path, required: true, schema: {type: integer}}], responses: {'200': {description: ok, content: {text/plain: {example: b}}}}}}
`, `5:11: #/paths/~1{id}/get: GET is of the same shape as /{name} on line 4; it answers if path-params["id"] matches "^-?[0-9]+$"`,
		[]string{"GET /x 200 a", "GET /-12 200 b"}},
	{"paths of one shape with other enums", openAPI + `paths:
  /{kind}: {get: {parameters: [{name: kind, in: path, required: true, schema: {enum: [cat, dog]}}], responses: {'200': {description: ok, content: {text/plain: {example: a}}}}}}
  /{id}: {get: {parameters: [{name: id, in: path, required: true, schema: {type: string}}], responses: {'200': {description: ok, content: {text/plain: {example: b}}}}}}
`, `5:11: #/paths/~1{id}/get: GET is of the same shape as /{kind} on line 4; the other one answers if (path-params["kind"] = "cat" or path-params["kind"] = "dog")`,
		[]string{"GET /dog 200 a", "GET /cow 200 b"}},
}

const openAPI = "openapi: 3.0.3\ninfo: {title: t, version: '1'}\n"

func TestFaultyDocuments_AreServed(t *testing.T) {
	t.Parallel()
	for _, c := range faulty {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := harness.WriteFile(t, t.TempDir(), "api.yml", c.document)
			if volume.Full() {
				reportsTheFault(t, file, c.warning)
			}
			p := Start(t, "--validate", "-m", file)
			for _, asked := range c.asked {
				method, rest, _ := strings.Cut(asked, " ")
				path, rest, _ := strings.Cut(rest, " ")
				status, body, _ := strings.Cut(rest, " ")
				if a := p.Do(method, path, ""); strconv.Itoa(a.Status) != status || a.Body != body {
					t.Errorf("%s %s: got %d %q, want %s %q", method, path, a.Status, a.Body, status, body)
				}
			}
		})
	}
}

// reportsTheFault validates a document, and expects a warning, or an error with --strict-documents.
func reportsTheFault(t *testing.T, file, warning string) {
	t.Helper()
	code, stdout, stderr := Refused(t, nil, "validate", "-m", file)
	if code != 0 || stderr != "" || !strings.Contains(stdout, warning) || !strings.HasPrefix(stdout, "warning: "+file+":") {
		t.Errorf("validate: got exit code %d, %s%s\nwant 0 and the warning %s", code, stdout, stderr, warning)
	}
	code, stdout, stderr = Refused(t, nil, "validate", "--strict-documents", "-m", file)
	if warned := strings.Contains(warning, "the enum is empty"); !warned && (code != 2 || !strings.HasPrefix(stderr, file+":")) {
		t.Errorf("validate --strict-documents: got exit code %d, %s%s, want 2 and an error about the file", code, stdout, stderr)
	}
}
