package e2e_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"mockserver/internal/harness"
)

// listsDocument has some lists that requests may limit, and some that they may not.
const listsDocument = `
openapi: 3.0.3
info: {title: Lists, version: '1'}
paths:
  /array:
    get:
      parameters: [{name: page_size, in: query, schema: {type: integer}}, {name: $top, in: query, schema: {type: integer, maximum: 50}}]
      responses:
        '200':
          description: ok
          content:
            application/json:
              examples: {all: {value: [1, 2, 3, 4]}, other: {value: [7, 8, 9]}}
        '404': {description: none, content: {application/json: {example: [1, 2]}}}
  /object:
    parameters: [{name: LIMIT, in: query, schema: {type: integer}}]
    get:
      operationId: object
      responses: {'200': {description: ok, content: {application/json: {example: {total: 3, items: [{a: [1]}, '],', null], note: x}}}}}
  /two:
    get:
      parameters: [{name: limit, in: query, schema: {type: integer}}]
      responses: {'200': {description: ok, content: {application/json: {example: {a: [1, 2], b: [3, 4]}}}}}
  /text:
    get:
      parameters: [{name: limit, in: query, schema: {type: string}}]
      responses: {'200': {description: ok, content: {application/json: {example: [1, 2]}}}}
  /undeclared:
    get:
      responses: {'200': {description: ok, content: {application/json: {example: [1, 2]}}}}
  /least:
    get:
      parameters: [{name: limit, in: query, schema: {type: integer}}]
      responses:
        '200':
          description: ok
          content: {application/json: {schema: {allOf: [{$ref: '#/components/schemas/Page'}]}, example: {items: [1, 2, 3]}}}
  /made:
    get:
      parameters: [{name: limit, in: query, schema: {type: integer}}]
      responses: {'200': {description: ok, content: {application/json: {schema: {type: array, minItems: 2, maxItems: 9, items: {type: integer}}}}}}
  /mine:
    get:
      operationId: mine
      parameters: [{name: limit, in: query, schema: {type: integer}}]
      responses: {'200': {description: ok, content: {application/json: {example: [1, 2]}}}}
components:
  schemas:
    Page: {type: object, properties: {items: {type: array, minItems: 2, items: {type: integer}}}}
`

func TestOpenAPI_Limits(t *testing.T) {
	t.Parallel()
	document := harness.WriteFile(t, t.TempDir(), "lists.yml", listsDocument)
	mocks := harness.WriteFile(t, t.TempDir(), "mocks.yml", "mine: {body: '[5,6,7]'}\nobject: {latency: {max: 1ms}}\n")
	for name, args := range map[string][]string{"plain": {}, "seed": {"--seed", "1"}, "admin": {"--admin", "127.0.0.1:0"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Start(t, append([]string{"-c", document, "-m", mocks}, args...)...)
			const object = `{"total":3,"items":[{"a":[1]},"],",null],"note":"x"}`
			for _, c := range []struct{ path, body string }{
				{"/array", "[1,2,3,4]"},
				{"/array?page_size=2", "[1,2]"},
				{"/array?page_size=0", "[]"},
				{"/array?page_size=4", "[1,2,3,4]"},
				{"/array?page_size=99999999999999999999", "[1,2,3,4]"},
				{"/array?$top=1", "[1]"},
				{"/array?%24top=3&page_size=2", "[1,2]"},
				{"/array?$top=-1", "[1,2,3,4]"},
				{"/array?$top=%2B1", "[1,2,3,4]"},
				{"/array?$top=x", "[1,2,3,4]"},
				{"/array?$top=", "[1,2,3,4]"},
				{"/array?$top=1.5", "[1,2,3,4]"},
				{"/array?top=1", "[1,2,3,4]"},
				{"/array?other=1", "[1,2,3,4]"},
				{"/object?LIMIT=1", `{"total":3,"items":[{"a":[1]}],"note":"x"}`},
				{"/object?LIMIT=2", `{"total":3,"items":[{"a":[1]},"],"],"note":"x"}`},
				{"/object", object},
				{"/object?LIMIT=7", object},
				{"/two?limit=1", `{"a":[1,2],"b":[3,4]}`},
				{"/text?limit=1", "[1,2]"},
				{"/undeclared?limit=1", "[1,2]"},
				{"/least?limit=1", `{"items":[1,2]}`},
				{"/mine?limit=1", "[5,6,7]"},
			} {
				a := p.Get(c.path)
				if a.Status != 200 || a.Body != c.body || a.Header.Get("Content-Length") != strconv.Itoa(len(c.body)) {
					t.Errorf("%s: got %d %q of %s bytes, want 200 %q", c.path, a.Status, a.Body, a.Header.Get("Content-Length"), c.body)
				}
			}
			p.Get("/array?page_size=1", "Prefer: example=other").Want(t, 200, "[7,8,9]")
			p.Get("/array?page_size=1", "Prefer: example=all").Want(t, 200, "[1,2,3,4]")
			p.Get("/array?page_size=1", "Prefer: code=404").Want(t, 404, "[1,2]")
			p.Get("/array?page_size=1&__code=200").Want(t, 200, "[1]")
			if a := p.Do("HEAD", "/array?page_size=1", ""); a.Status != 200 || a.Body != "" || a.Header.Get("Content-Length") != "3" {
				t.Errorf("HEAD: got %d %q of %s bytes, want 200 and the length 3", a.Status, a.Body, a.Header.Get("Content-Length"))
			}
			p.Get("/array").Want(t, 200, "[1,2,3,4]") // no request has changed it
		})
	}
}

func TestOpenAPI_LimitsOfMadeLists(t *testing.T) {
	t.Parallel()
	document := harness.WriteFile(t, t.TempDir(), "lists.yml", listsDocument)
	for _, args := range [][]string{{}, {"--dynamic"}} {
		p := Start(t, append([]string{"-m", document}, args...)...)
		for _, limit := range []int{0, 1, 2} {
			a := p.Get("/made?limit=" + strconv.Itoa(limit))
			var list []int
			if err := json.Unmarshal([]byte(a.Body), &list); err != nil || len(list) != 2 {
				t.Errorf("%v, limit %d: got %q, want a list of 2, the minimum of the schema: %v", args, limit, a.Body, err)
			}
		}
	}
}

func TestOpenAPI_LimitsAreValidated(t *testing.T) {
	t.Parallel()
	p := Start(t, "-m", harness.WriteFile(t, t.TempDir(), "lists.yml", listsDocument), "--validate")
	p.Get("/array?$top=2").Want(t, 200, "[1,2]")
	p.Get("/array").Want(t, 200, "[1,2,3,4]")
	for _, value := range []string{"x", "51"} {
		if a := p.Get("/array?$top=" + value); a.Status != 400 {
			t.Errorf("$top=%s: got %d %q, want 400", value, a.Status, a.Body)
		}
	}
}
