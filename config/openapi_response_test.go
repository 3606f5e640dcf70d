package config_test

import (
	"encoding/json"
	"fmt"
	"mime"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mockserver/config"
	"mockserver/config/openapi"
	"mockserver/config/openapi/validate"
)

// readOperations reads a document of config/testdata/openapi, which must be valid.
func readOperations(t *testing.T, name string, seed uint64) (map[string]*openapi.Operation, string) {
	t.Helper()
	return readFile(t, filepath.Join("testdata", "openapi", name), seed)
}

func readFile(t *testing.T, path string, seed uint64) (map[string]*openapi.Operation, string) {
	t.Helper()
	spec := config.Loader{Seed: seed}.Load(path)
	if err := spec.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	all := map[string]*openapi.Operation{}
	for _, doc := range spec.Documents() {
		for _, o := range doc.Operations {
			all[o.Method+" "+o.Path] = o
		}
	}
	return all, fmt.Sprint(spec.Problems)
}

func TestStatusOfTheDefaultResponse(t *testing.T) {
	operations, _ := readOperations(t, "status.yml", 0)
	for path, want := range map[string]string{
		"/lowest-success": "201 201", "/range": "200 2XX", "/exact-before-range": "200 200", "/default": "200 default",
		"/redirection": "303 303", "/failures": "401 401", "/only-range": "500 5XX",
	} {
		o := operations["GET "+path]
		if a := o.Responses[o.Default]; fmt.Sprint(a.Status, " ", a.Declared) != want {
			t.Errorf("%s: %d %s, want %s", path, a.Status, a.Declared, want)
		}
	}
	var kept []string
	for _, a := range operations["GET /range"].Responses {
		kept = append(kept, fmt.Sprint(a.Declared, a.Status))
	}
	if got := strings.Join(kept, " "); got != "2XX200 4XX400 default500" {
		t.Errorf("answers of /range: %s", got)
	}
}

func TestBodiesOfExamples(t *testing.T) {
	operations, problems := readOperations(t, "examples.yml", 0)
	for path, want := range map[string]string{
		"/example":        `{"name":"Rex","id":12345678901234567,"price":19.90}`,
		"/named":          `{"name":"Rex"}`,
		"/schema-example": `{"a":1}`,
		"/schema-default": `41`,
		"/schema-enum":    `"second"`,
		"/text":           `plain words`,
		"/json-text":      `{"a": 1.50}`,
		"/json-string":    `"say \"hi\""`,
		"/preferred":      `{"json":true}`,
	} {
		o := operations["GET "+path]
		if got := string(o.Responses[o.Default].Body); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	var names []string
	for _, a := range operations["GET /named"].Responses {
		names = append(names, a.Example+string(a.Body))
	}
	if got := strings.Join(names, " "); got != `rex{"name":"Rex"} bella{"name":"Bella"} wrong{"name":7}` {
		t.Errorf("named examples: %s", got)
	}
	described := string(operations["GET /property-examples"].Responses[0].Body)
	if !strings.HasPrefix(described, `{"b":"written","a":3,"c":"x","d":`) || strings.Contains(described, "none") {
		t.Errorf("examples of properties: %s", described)
	}
	for _, want := range []string{
		"the example wrong does not match the schema (/name: is a number; expected a string); it is sent anyway",
		"the example of the property d does not match its schema (is a string; expected an integer); it is not used",
	} {
		if strings.Count(problems, want) != 1 {
			t.Errorf("want the warning %q once in %s", want, problems)
		}
	}
}

// TestValuesAsWritten checks that a null is preserved wherever one is allowed, except as a default
// or next to a key that excludes it. Members keep their order, and numbers keep their digits.
func TestValuesAsWritten(t *testing.T) {
	for name, bodies := range map[string]map[string]string{
		"clauses.yml": {
			"/null/media": `null`, "/null/named": `null`, "/null/beside-named": `"x"`, "/null/schema": `null`, "/null/property": `{"n":null}`,
			"/null/default": `true`, "/null/enum": `null`,
			"/order/property": `{"o":{"z":1.50,"a":2}}`, "/order/default": `{"z":1,"a":2}`, "/order/enum": `{"z":1,"a":2}`,
		},
		"clauses2.yml": {"/example": `{"z":1.50,"a":null}`, "/properties": `{"z":null,"a":9223372036854775807}`},
	} {
		operations, _ := readOperations(t, name, 0)
		for path, want := range bodies {
			o := operations["GET "+path]
			if got := string(o.Responses[o.Default].Body); got != want {
				t.Errorf("%s%s: %s, want %s", name, path, got, want)
			}
		}
	}
	operations, _ := readOperations(t, "clauses.yml", 0)
	want := []openapi.Header{
		{Name: "X-Null"}, {Name: "X-Named"}, {Name: "X-Order", Value: "z,1,a,2"},
		{Name: "X-Named-Order", Value: "z,1,a,2.50"}, {Name: "X-Schema-Order", Value: "z=1,a=2"},
	}
	if got := operations["GET /null/headers"].Responses[0].Headers; !slices.Equal(got, want) {
		t.Errorf("headers: %v, want %v", got, want)
	}
}

func TestHeadersOfResponses(t *testing.T) {
	operations, _ := readOperations(t, "headers.yml", 0)
	var got []string
	for _, h := range operations["GET /"].Responses[0].Headers {
		got = append(got, h.Name+": "+h.Value)
	}
	all := strings.Join(got, "\n")
	want := []string{
		"X-Example: 7", "X-Examples: uno", "X-Schema-Example: given", "X-Default: 100", "X-Enum: red", "X-Required: r", "X-List: a,b",
		"X-Pairs: k,v,n,1", "X-Exploded: k=v,n=1", `X-Json: {"a":[1]}`, "X-Lines: onetwo", "X-Shared: shared",
	}
	if len(got) != len(want) {
		t.Fatalf("%d headers, want %d: %s", len(got), len(want), all)
	}
	for i := range want {
		if got[i] != want[i] && want[i] != "X-Required: r" || !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("%s, want %s", got[i], want[i])
		}
	}
}

func TestBodiesOfMediaTypes(t *testing.T) {
	operations, _ := readOperations(t, "media.yml", 0)
	byType := map[string]openapi.Response{}
	for _, a := range operations["GET /book"].Responses {
		media, _, err := mime.ParseMediaType(a.MediaType)
		if err != nil {
			t.Fatal(err)
		}
		byType[media] = a
	}
	for media, want := range map[string]string{
		"application/xml": `<?xml version="1.0" encoding="UTF-8"?>` + "\n" +
			`<b:book xmlns:b="http://example.com/book" id="7"><title>a &lt; b &amp; c</title><tag>x</tag><tag>y</tag>` +
			`<people><author>Ann</author></people><names><names>n</names></names><wrapped><x>1</x></wrapped></b:book>`,
		"application/x-www-form-urlencoded": "text=a%26b&list=1&list=2&data=%7B%22k%22%3A%22v%22%7D",
		"multipart/form-data":               `{"name":"a b"}`,
		"text/csv":                          `[{"a":1,"b":"x,y"},{"a":2,"b":null}]`,
		"application/x-ndjson":              "{\"a\":1}\n{\"a\":2}\n",
		"text/event-stream":                 "data: {\"tick\":1}\n\n",
		"text/plain":                        "5",
	} {
		if got := string(byType[media].Body); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", media, got, want)
		}
	}
	if png := string(byType["image/png"].Body); !strings.HasPrefix(png, "\x89PNG\r\n") {
		t.Errorf("not a PNG: %q", png)
	}
	if len(byType["application/octet-stream"].Body) == 0 {
		t.Error("no bytes")
	}
	if got := operations["GET /any"].Responses[0]; got.MediaType != "application/json" || string(got.Body) != "1" {
		t.Errorf("*/*: %s %s", got.MediaType, got.Body)
	}
	books := string(operations["GET /books"].Responses[0].Body)
	if !strings.Contains(books, "<root><b:book ") || !strings.HasSuffix(books, "</b:book></root>") {
		t.Errorf("books: %s", books)
	}
}

func TestDirectionOfProperties(t *testing.T) {
	operations, _ := readOperations(t, "direction.yml", 0)
	var user map[string]any
	body := operations["POST /users"].Responses[0].Body
	if err := json.Unmarshal(body, &user); err != nil {
		t.Fatal(err)
	}
	if user["id"] == nil || user["name"] == nil || user["password"] != nil {
		t.Errorf("a response is %s", body)
	}
}

func TestEndlessSchemaIsWarnedOf(t *testing.T) {
	operations, problems := readOperations(t, "recursion.yml", 0)
	want := "no body was found that the schema accepts (it requires itself endlessly (#/components/schemas/Endless)); the nearest is served"
	if !strings.Contains(problems, want) {
		t.Errorf("no %q in %s", want, problems)
	}
	if body := operations["GET /endless"].Responses[0].Body; !json.Valid(body) {
		t.Errorf("%s", body)
	}
}

// TestBodiesAreTheSameAtEachStart loads a document several times and compares the bodies that are
// generated from a component, including fresh ones. It also checks that the seed has an effect.
func TestBodiesAreTheSameAtEachStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "document.yml")
	text := `{openapi: 3.0.3, info: {title: t, version: "1"}, paths: {/a: {get: {responses: {"200": {description: "", content: {application/json: {schema: {$ref: "#/components/schemas/A"}}}}}}}},
  components: {schemas: {A: {type: object, additionalProperties: {type: string}, properties: {id: {type: string, format: uuid}, z: {type: integer}, list: {type: array, items: {oneOf: [{type: string}, {type: integer}]}}}}}}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	body := func(seed uint64) (fixed, fresh string) {
		operations, _ := readFile(t, path, seed)
		a := operations["GET /a"].Responses[0]
		return string(a.Body), string(a.Fresh(3))
	}
	fixed, fresh := body(0)
	for range 5 {
		if again, other := body(0); again != fixed || other != fresh {
			t.Fatalf("%s and %s, then %s and %s", fixed, fresh, again, other)
		}
	}
	if other, _ := body(1); other == fixed {
		t.Errorf("another seed generates the same: %s", fixed)
	}
	if fixed == fresh {
		t.Errorf("a fresh body is the same: %s", fresh)
	}
}

func TestFreshBodiesMadeAtOnce(t *testing.T) {
	operations, _ := readOperations(t, "media.yml", 0)
	responses := operations["GET /book"].Responses
	want := make([]string, len(responses))
	for i := range responses {
		want[i] = string(responses[i].Fresh(9))
	}
	done := make(chan bool)
	for range 4 {
		go func() {
			same := true
			for i := range responses {
				same = same && string(responses[i].Fresh(9)) == want[i]
			}
			done <- same
		}()
	}
	for range 4 {
		if !<-done {
			t.Error("the same seed generated another body")
		}
	}
}

func TestCheck_WithoutChecks(t *testing.T) {
	var o openapi.Operation
	if o.Checked() || o.Check(&validate.Request{Path: "/a"}) != nil {
		t.Error("an operation that was not loaded for it is checked")
	}
}

// TestClosedSchemaThatIsExtended tests a common error: no object is valid for both schemas, because
// the outer one allows no properties at all.
func TestClosedSchemaThatIsExtended(t *testing.T) {
	path := filepath.Join(t.TempDir(), "document.yml")
	text := `{openapi: 3.0.3, info: {title: t, version: "1"}, paths: {/a: {get: {responses: {"200": {description: "", content: {application/json: {schema: {$ref: "#/components/schemas/Total"}}}}}}}},
  components: {schemas: {
    Total: {type: object, additionalProperties: false, allOf: [{$ref: "#/components/schemas/Money"}]},
    Money: {type: object, required: [currency, amount], properties: {currency: {type: string, example: EUR}, amount: {type: number, example: 12.50}}}}}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	operations, problems := readFile(t, path, 0)
	if body := string(operations["GET /a"].Responses[0].Body); body != `{"currency":"EUR","amount":12.50}` {
		t.Errorf("the body is %s", body)
	}
	if want := "no body was found that the schema accepts (it requires the property currency and refuses it); the nearest is served"; strings.Count(problems, want) != 1 {
		t.Errorf("want the warning %q once in %s", want, problems)
	}
}
