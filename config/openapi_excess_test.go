package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mockserver/config"
	"mockserver/config/openapi/validate"
	"mockserver/config/syntax"
)

// responseOf reads a document with one operation whose response has the schema, next to other
// schemas, and returns the body and the warnings.
func responseOf(t *testing.T, schema, others string) (body string, problems syntax.Problems) {
	t.Helper()
	spec := config.Parse("excess.json", []byte(`{"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {"/x": {"get": {"responses": {"200":
		{"description": "d", "content": {"application/json": {"schema": `+schema+`}}}}}}}, "components": {"schemas": {`+others+`}}}`))
	if err := spec.Problems.Err(); err != nil || len(spec.Endpoints) != 1 {
		t.Fatalf("%d endpoints, %v", len(spec.Endpoints), err)
	}
	return spec.Endpoints[0].Response.Body.Value, spec.Problems
}

// twice returns 60 schemas, each of which refers to the next one twice.
func twice(keyword string) string {
	var b strings.Builder
	for i := range 60 {
		ref := fmt.Sprintf(`{"$ref": "#/components/schemas/S%d"}`, i+1)
		fmt.Fprintf(&b, `"S%d": {%q: [%s, %s]}, `, i, keyword, ref, ref)
	}
	return b.String() + `"S60": {"type": "object", "properties": {"a": {"type": "string"}}}`
}

// Schemas that ask for more time or memory than is available cause a warning and take neither;
// those that only seem to do so get a body. Without the limits, generating their bodies would never
// finish.
func TestSchemasThatAskForTooMuch(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds of CPU time")
	}
	for name, c := range map[string]struct{ schema, others, what string }{
		"many items":                {`{"type": "array", "minItems": 1000000000, "items": {"type": "number"}}`, "", "exceeds the size limit"},
		"many different items":      {`{"type": "array", "minItems": 19000, "uniqueItems": true, "items": {"type": "number"}}`, "", "exceeds the size limit"},
		"many long texts":           {`{"type": "array", "minItems": 20000, "items": {"type": "string", "minLength": 1000000}}`, "", "exceeds the size limit"},
		"a text too long":           {`{"type": "string", "minLength": 1000000000}`, "", "no text can have the required length"},
		"no text of such a length":  {`{"type": "string", "minLength": 1000000, "pattern": "^(a|b)*c$", "format": "uuid"}`, "", "exceeds the size limit"},
		"many properties":           {`{"type": "object", "minProperties": 1000000000}`, "", "fewer properties were found than it requires"},
		"allOf twice on each level": {`{"$ref": "#/components/schemas/S0"}`, twice("allOf"), ""},
		"oneOf twice on each level": {`{"$ref": "#/components/schemas/S0"}`, twice("oneOf"), "no body was found that the schema accepts"},
	} {
		t.Run(name, func(t *testing.T) {
			body, problems := responseOf(t, c.schema, c.others)
			if c.what == "" && len(problems) == 0 {
				return
			}
			if len(problems) != 1 || c.what == "" || !strings.Contains(problems[0].What, c.what) {
				t.Errorf("warned of %.300v; want %q", problems, c.what)
			}
			if len(body) > 8<<20 {
				t.Errorf("a body of %d bytes", len(body))
			}
		})
	}
}

// Schemas that ask for much, but not too much, get all of it.
func TestSchemasThatAskForMuch(t *testing.T) {
	if body, problems := responseOf(t, `{"type": "string", "minLength": 1000000}`, ""); len(problems) > 0 || len(body) < 1_000_000 {
		t.Errorf("%d bytes, %v", len(body), problems)
	}
	if body, problems := responseOf(t, `{"type": "array", "minItems": 3000, "uniqueItems": true, "items": {"type": "integer", "minimum": 1, "maximum": 9000}}`, ""); len(problems) > 0 || strings.Count(body, ",") != 2999 {
		t.Errorf("%d commas, %v", strings.Count(body, ","), problems)
	}
}

// Digits beyond the precision of a float64 are kept wherever a document has a value.
func TestLongIntegersOfDocuments(t *testing.T) {
	const n = "9007199254740993" // 2^53 + 1
	for name, schema := range map[string]string{
		"example":            `{"type": "integer", "example": ` + n + `}`,
		"default":            `{"type": "integer", "default": ` + n + `}`,
		"enum":               `{"type": "integer", "enum": [` + n + `]}`,
		"const":              `{"const": ` + n + `}`,
		"example beside ref": `{"$ref": "#/components/schemas/N", "example": ` + n + `}`,
	} {
		if body, problems := responseOf(t, schema, `"N": {"type": "integer"}`); body != n || len(problems) > 0 {
			t.Errorf("%s: %s, %v", name, body, problems)
		}
	}
	body, problems := responseOf(t, `{"type": "object", "properties": {"a": {"enum": [`+n+`]}, "b": {"type": "number", "example": 0.12345678901234567890}}}`, "")
	if want := `{"a":` + n + `,"b":0.12345678901234567890}`; body != want || len(problems) > 0 {
		t.Errorf("%s, %v; want %s", body, problems, want)
	}
}

// The same holds with checks of requests, for which schemas are compiled.
func TestLongIntegersOfRequests(t *testing.T) {
	spec := config.Loader{Validate: true}.Parse("long.json", []byte(`{"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {"/x": {"post": {
		"requestBody": {"content": {"application/json": {"schema": {"enum": [9007199254740993, 1e400, 1e999999999]}}}}, "responses": {"200": {"description": "d"}}}}}}`))
	if err := spec.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	for body, accepted := range map[string]bool{"9007199254740993": true, "9007199254740992": false} {
		verdict := spec.Endpoints[0].Operation.Check(&validate.Request{
			Path: "/x", Body: []byte(body), Cookie: func(string) (string, bool) { return "", false },
			Header: func(name string) []string {
				return map[string][]string{"content-type": {"application/json"}}[strings.ToLower(name)]
			},
		})
		if (verdict == nil) != accepted {
			t.Errorf("%s: %+v", body, verdict)
		}
	}
}

// A directory may contain a document and the files that it refers to, which are not configurations;
// any other file that is not a configuration is still an error.
func TestDirectoryOfDocumentAndItsParts(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("api.yml", head+"paths:\n  /a: {get: {operationId: getA, responses: {'404': {$ref: 'responses.yml#/None'}, '200': {$ref: 'responses.yml#/Ok'}}}}\n")
	write("responses.yml", "None: {description: none, headers: {X-A: {schema: {type: string}, example: b}}}\nOk: {description: ok, content: {text/plain: {schema: {$ref: text.json}}}}\n")
	write("text.json", `{"type": "string", "example": "hi"}`)
	write("mocks.yml", "getA: {status: 201}\n")
	if spec := config.Load(dir); len(spec.Problems) > 0 || len(spec.Endpoints) != 1 || spec.Endpoints[0].Response.Status != 201 {
		t.Errorf("%d endpoints, %v", len(spec.Endpoints), spec.Problems)
	}
	write("other.yml", "Other: {type: string}\n")
	if problems := config.Load(dir).Problems; len(problems) != 1 || !strings.Contains(problems[0].Pos.File, "other.yml") {
		t.Errorf("%v", problems)
	}
	if problems := config.Load(filepath.Join(dir, "api.yml"), filepath.Join(dir, "text.json")).Problems; problems.Err() == nil {
		t.Error("a part given by its name is read as a configuration")
	}
}
