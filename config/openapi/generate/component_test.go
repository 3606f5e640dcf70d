package generate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/openapi/text"
)

// components reads the schemas of a document in config/testdata/openapi and compiles them with the
// independent validator, except for the schemas in without.
func components(t *testing.T, name string, without ...string) (*openapi3.T, func(string) *jsonschema.Schema) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "openapi", name))
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		OpenAPI    string `yaml:"openapi"`
		Components struct {
			Schemas map[string]any `yaml:"schemas"`
		} `yaml:"components"`
	}
	if err := yaml.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(document.Components.Schemas)
	if err != nil {
		t.Fatal(err)
	}
	doc := schemaDocument(t, document.OpenAPI, string(text))
	for _, name := range without {
		delete(document.Components.Schemas, name)
	}
	if text, err = json.Marshal(document.Components.Schemas); err != nil {
		t.Fatal(err)
	}
	return doc, independent(t, document.OpenAPI, string(text))
}

// TestFormatsAndCompositions makes a body and fresh bodies for each schema of the documents, and
// checks them with the independent validator.
func TestFormatsAndCompositions(t *testing.T) {
	// The independent validator cannot compile expressions that Go does not support;
	// TestPatternTexts covers them.
	unasked := map[string][]string{"formats.yml": {"code-points", "long-repeat", "strong"}, "recursion.yml": {"Endless"}}
	for _, file := range []string{"formats.yml", "composition.yml", "recursion.yml"} {
		doc, compiled := components(t, file, unasked[file]...)
		for _, name := range jsonvalue.SortedNames(doc.Components.Schemas) {
			if strings.Contains(strings.Join(unasked[file], " "), name) {
				continue
			}
			for seed := range uint64(20) {
				if body := made(t, doc, name, seed, seed > 0); !holds(t, compiled(name), body) {
					t.Errorf("%s, %s, seed %d: %s", file, name, seed, body)
				}
			}
		}
	}
}

// TestBodiesOfComponents expects texts that only the correct interpretation of a keyword allows.
func TestBodiesOfComponents(t *testing.T) {
	for file, bodies := range map[string]map[string]string{
		"formats.yml": {"cents": `0.07`, "steps": `.*[.]?[0-9]`},
		"discriminator.yml": {
			"Pet": `{"kind":"feline","meows":true}|{"kind":"feline","meows":false}`, "Unmapped": `"kind":"Dog"`,
			"Bird": `"species":"Bird"`, "Animal": `"species":"Animal"`, "Vehicle": `"type":"car".*"doors":3|"doors":3.*"type":"car"`, "Car": `"type":"car"`,
		},
		"composition.yml": {"Anything": `^{}$`, "Closed": `"own":`, "Either": `^"...`, "Types": `^[0-9]`, "Overlapping": `^{"a":"[^"]*"}$|"b"`},
		"recursion.yml":   {"Tree": `^\{"name":"[^"]*","children":\[(\{"name":"[^"]*","children":\[\]\},?){2}\]\}$`, "Nullable": `null`, "Value": `^\[`, "Mutual": `"other":`},
	} {
		doc, _ := components(t, file, jsonvalue.SortedNames(map[string]bool{"Endless": true, "code-points": true, "long-repeat": true, "strong": true})...)
		for name, pattern := range bodies {
			p, err := text.CompilePattern(pattern)
			if err != nil {
				t.Fatal(err)
			}
			if body := made(t, doc, name, 1, false); !p.Matches(string(body)) {
				t.Errorf("%s: %s, want %s", name, body, pattern)
			}
		}
	}
}

// TestHarderSchemas checks that a value is found whenever one exists, whatever the seed.
func TestHarderSchemas(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds of CPU time")
	}
	doc, compiled := components(t, "harder.yml")
	for name := range doc.Components.Schemas {
		ref := &openapi3.SchemaRef{Ref: "#/components/schemas/" + name, Value: doc.Components.Schemas[name].Value}
		schema := compiled(name)
		for seed := range uint64(25) {
			m := New(doc, seed, nil)
			v, wrong := m.body(ref, ToClient, seed, seed%2 == 1, ref.Ref)
			if body := jsonvalue.Append(nil, v); wrong != "" || !holds(t, schema, body) {
				t.Errorf("%s: %s: %q", name, body, wrong)
				break
			}
		}
	}
}

// TestImpossibleSchemas checks that a warning names the problem, and that the body is still a JSON
// value.
func TestImpossibleSchemas(t *testing.T) {
	schemas := map[string]string{
		"false": `false`, "bounds": `{"type": "integer", "minimum": 2, "maximum": 1}`, "lengths": `{"type": "string", "minLength": 3, "maxLength": 2}`,
		"twins": `{"type": "array", "items": {"type": "boolean"}, "uniqueItems": true, "minItems": 3}`,
		"both":  `{"allOf": [{"type": "string"}, {"type": "integer"}]}`, "not": `{"type": "string", "not": {}}`,
		"closed": `{"type": "object", "required": ["a"], "additionalProperties": false}`,
		"same":   `{"oneOf": [{"type": "string"}, {"type": "string"}]}`, "enum": `{"type": "string", "enum": [1, 2]}`,
		"huge": `{"type": "array", "minItems": 1000000000, "items": {"type": "string"}}`, "long": `{"type": "string", "minLength": 1000000000}`,
		"depth": `{"type": "object", "required": ["a", "b"], "properties": {"a": {"$ref": "#/components/schemas/depth"}, "b": {"$ref": "#/components/schemas/depth"}}}`,
		"wide":  `{"type": "object", "minProperties": 1000000}`, "step": `{"type": "integer", "multipleOf": 7, "minimum": 1, "maximum": 6}`,
	}
	parts := make([]string, 0, len(schemas))
	for name, text := range schemas {
		parts = append(parts, `"`+name+`": `+text)
	}
	doc := schemaDocument(t, "3.1.0", "{"+strings.Join(parts, ",")+"}")
	m := New(doc, 0, nil)
	for name := range schemas {
		v, wrong := m.body(&openapi3.SchemaRef{Value: doc.Components.Schemas[name].Value}, ToClient, 0, false, "#")
		if wrong == "" || !json.Valid(jsonvalue.Append(nil, v)) {
			t.Errorf("%s: %q, %.100s", name, wrong, jsonvalue.Append(nil, v))
		}
	}
}

// TestNearestTexts checks that a text whose format is impossible keeps to its pattern and lengths.
func TestNearestTexts(t *testing.T) {
	for schema, pattern := range map[string]string{
		`{"type": "string", "format": "uuid", "pattern": "^[0-9a-f]{32}$"}`:                "^[0-9a-f]{32}$",
		`{"type": "string", "format": "date", "minLength": 8, "maxLength": 8}`:             "^.{8}$",
		`{"type": "string", "format": "date-time", "pattern": "^[0-9]+$", "minLength": 7}`: "^[0-9]{7,}$",
	} {
		doc := schemaDocument(t, "3.1.0", `{"S": `+schema+`}`)
		v, wrong := New(doc, 0, nil).body(doc.Components.Schemas["S"], ToClient, 0, false, "#")
		if s, _ := v.(string); wrong == "" || !regexp.MustCompile(pattern).MatchString(s) {
			t.Errorf("%s: %v, %q", schema, v, wrong)
		}
	}
}

// TestReasonsAreTrue checks that the reason given for an invalid body describes the body itself,
// not an intermediate attempt.
func TestReasonsAreTrue(t *testing.T) {
	const twins = `{"type": "array", "items": {"type": "boolean"}, "uniqueItems": true, "minItems": 3}`
	for schema, want := range map[string]string{
		`{"type": "object", "required": ["b"], "properties": {"a": {"type": "integer", "minimum": 2, "maximum": 1}, "b": ` + twins + `}}`:                               "fewer items were found than it requires",
		`{"type": "object", "required": ["b"], "properties": {"a": {"oneOf": [{"type": "string", "minLength": 3, "maxLength": 2}, {"const": 1}]}, "b": ` + twins + `}}`: "fewer items were found than it requires",
		`{"anyOf": [{"type": "integer", "minimum": 2, "maximum": 1}, {"type": "string", "minLength": 3, "maxLength": 2}]}`:                                              "is too small; expected at least 2",
		`{"type": "object", "minProperties": 2, "propertyNames": {"enum": ["a"]}}`:                                                                                      "fewer properties were found than it requires",
	} {
		doc := schemaDocument(t, "3.1.0", `{"S": `+schema+`}`)
		_, wrong := New(doc, 0, nil).body(doc.Components.Schemas["S"], ToClient, 0, false, "#")
		if wrong != want {
			t.Errorf("%s: %q, want %q", schema, wrong, want)
		}
	}
}

// TestWriteOnlyAndReadOnly checks that readOnly properties are left out of a request body, even if
// they are required, and that writeOnly properties are not.
func TestWriteOnlyAndReadOnly(t *testing.T) {
	doc, _ := components(t, "direction.yml")
	m := New(doc, 0, nil)
	ref := doc.Components.Schemas["User"]
	content := openapi3.Content{"text/plain": {Schema: &openapi3.SchemaRef{Value: &openapi3.Schema{}}}, "application/json": {Schema: ref}}
	media, body := m.RequestBody(&openapi3.RequestBody{Content: content}, "#/paths/~1users/post/requestBody")
	v, err := jsonvalue.Parse(body)
	if err != nil || media != "application/json" {
		t.Fatalf("%s: %v", media, err)
	}
	o := v.(*jsonvalue.Object)
	for name, want := range map[string]bool{"id": false, "name": true, "password": true} {
		if _, ok := o.Get(name); ok != want {
			t.Errorf("%s is in a request: %v in %s", name, ok, body)
		}
	}
}

// FuzzGenerate checks that a body is made in bounded time for every schema, and that the body is
// valid or reported as invalid.
func FuzzGenerate(f *testing.F) {
	for _, schema := range []string{
		`{"type": "object", "properties": {"a": {"$ref": "#/components/schemas/S"}}, "required": ["a"]}`, `{"oneOf": [{"type": "integer"}, {"$ref": "#/components/schemas/S"}]}`,
		`{"type": "number", "multipleOf": 1e-300, "minimum": 1e300}`, `{"minItems": 99999999, "type": "array", "uniqueItems": true}`,
		`{"enum": [null, {}, [1.0, 1]]}`, `{"pattern": "^(?=a)b{1,9999}$", "minLength": 4}`, `{"not": {"not": {"anyOf": [true, false]}}}`,
		`{"type": ["null", "array"], "prefixItems": [{"const": 1}], "contains": {"const": 2}, "unevaluatedItems": false}`,
		`{"if": {"required": ["a"]}, "then": {"properties": {"b": false}}, "dependentRequired": {"a": ["c"]}, "minProperties": 2, "propertyNames": {"maxLength": 1}}`,
		`{"x-faker": "internet.email"}`, `{"x-faker": {"datatype.number": {"min": 9, "max": 1e400}}, "type": ["string", "integer"]}`, `{"x-faker": {"lorem.words": [{"wordcount": [-1]}]}}`,
		`{"type": "object", "required": ["name", "dob", "city", "lat", "endDate"], "properties": {"name": {"const": ". "}, "dob": {"format": "date"}, "country": {"enum": ["CH"]}, "startDate": {"const": "9999-12-31"}}}`,
	} {
		f.Add([]byte(schema), uint64(0))
	}
	f.Fuzz(func(t *testing.T, schema []byte, seed uint64) {
		text := `{"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {}, "components": {"schemas": {"S": ` + string(schema) + `}}}`
		doc, err := openapi3.NewLoader().LoadFromData([]byte(text))
		if err != nil || doc.Components == nil || doc.Components.Schemas["S"] == nil {
			return
		}
		m := New(doc, 0, nil)
		ref := &openapi3.SchemaRef{Ref: "#/components/schemas/S", Value: doc.Components.Schemas["S"].Value}
		for _, fresh := range []bool{false, true} {
			v, wrong := m.body(ref, ToClient, seed, fresh, "#")
			check := validator{m: m, lenient: true}
			if found := check.mismatch(ref, v); wrong == "" && found != "" {
				t.Errorf("%s: %s is accepted as valid: %v", schema, jsonvalue.Append(nil, v), found)
			}
			if !json.Valid(jsonvalue.Append(nil, v)) {
				t.Errorf("%s: not JSON: %s", schema, jsonvalue.Append(nil, v))
			}
		}
	})
}
