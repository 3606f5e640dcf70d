package generate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/internal/harness/volume"
)

// schemaDocument reads components as a document of the given OpenAPI version.
func schemaDocument(t testing.TB, version, components string) *openapi3.T {
	t.Helper()
	text := fmt.Sprintf(`{"openapi": %q, "info": {"title": "t", "version": "1"}, "paths": {}, "components": {"schemas": %s}}`, version, components)
	doc, err := openapi3.NewLoader().LoadFromData([]byte(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return doc
}

// independent compiles schemas with a validator that shares no code with the generator of bodies.
// It first rewrites the keywords that differ in OpenAPI 3.0.
func independent(t testing.TB, version, components string) func(name string) *jsonschema.Schema {
	t.Helper()
	all, err := jsonschema.UnmarshalJSON(strings.NewReader(`{"components": {"schemas": ` + components + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(version, "3.0") {
		all = fromOpenAPI30(all)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource("test:all", all); err != nil {
		t.Fatal(err)
	}
	return func(name string) *jsonschema.Schema {
		s, err := c.Compile("test:all#/components/schemas/" + name)
		if err != nil {
			t.Fatalf("%v in %s", err, components)
		}
		return s
	}
}

// fromOpenAPI30 rewrites nullable and boolean exclusive bounds.
func fromOpenAPI30(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = fromOpenAPI30(v[i])
		}
	case map[string]any:
		for name := range v {
			if name != "enum" && name != "default" && name != "example" {
				v[name] = fromOpenAPI30(v[name])
			}
		}
		if v["nullable"] == true {
			v["type"] = []any{v["type"], "null"}
		}
		for bound, excluded := range map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"} {
			if flag, ok := v[excluded].(bool); ok {
				delete(v, excluded)
				if flag {
					v[excluded] = v[bound]
				}
			}
		}
	}
	return v
}

// holds reports whether a body is JSON that the schema accepts. If not, it fails the test.
func holds(t testing.TB, schema *jsonschema.Schema, body []byte) bool {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Errorf("not JSON: %v: %s", err, body)
		return false
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("%v\nbody %s", err, body)
		return false
	}
	return true
}

// made returns a body for the named schema, and fails the test if the body is not valid.
func made(t testing.TB, doc *openapi3.T, name string, seed uint64, fresh bool) []byte {
	t.Helper()
	m := New(doc, 0, nil)
	ref := &openapi3.SchemaRef{Ref: "#/components/schemas/" + name, Value: doc.Components.Schemas[name].Value}
	v, wrong := m.body(ref, ToClient, seed, fresh, ref.Ref)
	if wrong != "" {
		t.Errorf("%s: %s: %s", name, wrong, jsonvalue.Append(nil, v))
	}
	return jsonvalue.Append(nil, v)
}

// TestGeneratedBodiesAreValid generates random schemas, each of which is known to have a valid
// value, and checks their bodies with an independent validator.
func TestGeneratedBodiesAreValid(t *testing.T) {
	rounds := 60
	if !volume.Full() {
		rounds = 6
	}
	for _, version := range []string{"3.0.3", "3.1.0"} {
		t.Run(version, func(t *testing.T) {
			const each = 30
			for round := range rounds {
				checkRandomSchemas(t, version, uint64(round), each)
				if t.Failed() {
					return
				}
			}
		})
	}
}

func checkRandomSchemas(t *testing.T, version string, seed uint64, count int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	maker := randomSchemas{Rand: r, modern: strings.HasPrefix(version, "3.1")}
	all := map[string]any{"Tree": maker.tree()}
	for i := range count {
		all[fmt.Sprintf("S%d", i)] = maker.schema(3)
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	doc := schemaDocument(t, version, string(text))
	compiled := independent(t, version, string(text))
	for name := range all {
		for s := range uint64(2) {
			body := made(t, doc, name, s, s == 1)
			if !holds(t, compiled(name), body) || t.Failed() {
				text, _ := json.Marshal(all[name])
				t.Fatalf("round %d, %s: %s", seed, name, text)
			}
		}
	}
}

// randomSchemas generates satisfiable schemas.
type randomSchemas struct {
	*rand.Rand
	modern bool
}

func (r *randomSchemas) chance(percent int) bool { return r.IntN(100) < percent }

// schema generates a schema of the given depth: a schema with a type, a composed schema, or a
// reference.
func (r *randomSchemas) schema(depth int) map[string]any {
	if depth > 0 && r.chance(25) {
		return r.combined(depth - 1)
	}
	var s map[string]any
	switch n := r.IntN(8); {
	case n < 3 && depth > 0:
		s = r.object(depth - 1)
	case n == 3 && depth > 0:
		s = r.array(depth - 1)
	case n == 4:
		s = r.number()
	case n == 5:
		s = map[string]any{"type": "boolean"}
	case n == 6 && depth > 0:
		return map[string]any{"$ref": "#/components/schemas/Tree"}
	default:
		s = r.text()
	}
	if r.chance(10) {
		if r.modern {
			s["type"] = []any{s["type"], "null"}
		} else {
			s["nullable"] = true
		}
	}
	return s
}

func (r *randomSchemas) tree() map[string]any {
	tree := map[string]any{"$ref": "#/components/schemas/Tree"}
	return map[string]any{
		"type": "object", "required": []string{"value", "children"},
		"properties": map[string]any{
			"value": r.text(), "next": tree, "children": map[string]any{"type": "array", "items": tree},
			"byName": map[string]any{"type": "object", "additionalProperties": tree},
		},
	}
}

func (r *randomSchemas) text() map[string]any {
	s := map[string]any{"type": "string"}
	switch r.IntN(6) {
	case 0:
		s["format"] = []string{"date", "date-time", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uri-reference", "uri-template", "iri", "uuid", "json-pointer", "relative-json-pointer", "regex", "byte", "password"}[r.IntN(18)]
	case 1:
		s["enum"] = []string{"red", "green", "blue"}[:1+r.IntN(3)]
	case 2:
		s["pattern"] = []string{`^[A-Z]{2}\d{4}$`, `^(\d{3}-){2}\d{4}$`, `^[^\s@]+@[^\s@]+$`, `^\w+$`, `[a-f]{3,}`, `^(red|green|b(lue|lack))$`, `^$|^x`, `^[^a-z]{5}$`}[r.IntN(8)]
	case 3:
		low := r.IntN(40)
		s["minLength"], s["maxLength"] = low, low+r.IntN(20)
		if r.chance(30) {
			s["pattern"] = `^[a-z]*$`
		}
	case 4:
		if r.modern {
			s["const"] = "fixed"
		} else {
			s["default"] = "usual"
		}
	}
	return s
}

func (r *randomSchemas) number() map[string]any {
	whole := r.chance(50)
	s := map[string]any{"type": "number"}
	if whole {
		s["type"] = "integer"
		s["format"] = []string{"int32", "int64"}[r.IntN(2)]
	}
	low := float64(r.IntN(2000)-1000) / 4
	step := []float64{0.1, 0.25, 3, 0.01, 7.5}[r.IntN(5)]
	if r.chance(50) {
		s["minimum"] = low
	}
	if r.chance(50) {
		s["maximum"] = low + 40
	}
	if r.chance(40) {
		s["multipleOf"] = step
	}
	for bound, excluded := range map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"} {
		value, ok := s[bound]
		if !ok || r.chance(60) {
			continue
		}
		if !r.modern {
			s[excluded] = r.chance(70)
		} else {
			s[excluded] = value
			delete(s, bound)
		}
	}
	return s
}

func (r *randomSchemas) array(depth int) map[string]any {
	s := map[string]any{"type": "array", "items": r.schema(depth)}
	low := r.IntN(4)
	switch n := r.IntN(4); {
	case n == 0:
		s["minItems"], s["maxItems"] = low, low+r.IntN(3)
	case n == 1:
		s["uniqueItems"] = true
		s["minItems"] = low
		s["items"] = map[string]any{"type": "integer", "minimum": 1, "maximum": 5}
	case n == 2 && r.modern:
		s["prefixItems"] = []any{r.schema(depth), r.text()}
		s["items"] = r.chance(50)
	case n == 3 && r.modern:
		s["items"] = map[string]any{"type": "string", "maxLength": 30}
		s["contains"] = map[string]any{"type": "string", "pattern": "^x"}
		s["minContains"], s["maxContains"] = low, low+1
	}
	return s
}

func (r *randomSchemas) object(depth int) map[string]any {
	properties := map[string]any{}
	var required []string
	for i := range 1 + r.IntN(5) {
		name := []string{"id", "name", "email", "createdAt", "count", "tags"}[i]
		properties[name] = r.schema(depth)
		if r.chance(50) {
			required = append(required, name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties}
	if r.chance(10) {
		required = append(required, "undeclared")
	} else if r.chance(40) {
		s["additionalProperties"] = []any{false, true, r.schema(depth)}[r.IntN(3)]
	}
	if len(required) > 0 {
		s["required"] = required
	}
	if r.chance(20) {
		s["minProperties"] = len(properties) - 1
		s["maxProperties"] = max(len(required), len(properties)-1)
	}
	if r.modern {
		r.objectOf31(s, properties, depth)
	}
	return s
}

func (r *randomSchemas) objectOf31(s, properties map[string]any, depth int) {
	switch r.IntN(6) {
	case 0:
		s["patternProperties"] = map[string]any{"^x-[a-z]+$": r.schema(depth)}
	case 1:
		s["propertyNames"] = map[string]any{"pattern": "^[a-zA-Z]+$"}
	case 2:
		if _, ok := s["maxProperties"]; !ok {
			s["dependentRequired"] = map[string]any{"id": []string{"extra"}}
			delete(s, "additionalProperties")
		}
	case 3:
		if _, ok := s["maxProperties"]; !ok {
			s["dependentSchemas"] = map[string]any{"id": map[string]any{"required": []string{"extra"}, "properties": map[string]any{"extra": r.text()}}}
			delete(s, "additionalProperties")
		}
	case 4:
		properties["kind"] = map[string]any{"enum": []string{"a", "b"}}
		delete(s, "additionalProperties")
		delete(s, "maxProperties")
		s["if"] = map[string]any{"properties": map[string]any{"kind": map[string]any{"const": "a"}}, "required": []string{"kind"}}
		s["then"] = map[string]any{"required": []string{"whenA"}, "properties": map[string]any{"whenA": r.number()}}
		s["else"] = map[string]any{"required": []string{"whenB"}}
	}
}

// combined generates a schema composed of others. The branches of a oneOf exclude each other.
func (r *randomSchemas) combined(depth int) map[string]any {
	switch r.IntN(5) {
	case 0:
		return map[string]any{"oneOf": []any{
			map[string]any{"type": "string", "minLength": r.IntN(3)},
			r.number(),
			map[string]any{"type": "array", "items": r.schema(depth)},
		}}
	case 1:
		return map[string]any{"oneOf": []any{r.tagged("a", depth), r.tagged("b", depth)}}
	case 2:
		return map[string]any{"anyOf": []any{r.schema(depth), r.schema(depth)}}
	case 3:
		low := float64(r.IntN(10))
		return map[string]any{"allOf": []any{
			map[string]any{"type": "number", "minimum": low}, map[string]any{"type": "integer", "maximum": low + 20, "multipleOf": 2}, map[string]any{"multipleOf": 3},
		}}
	}
	all := []any{
		map[string]any{"type": "object", "required": []string{"first"}, "properties": map[string]any{"first": r.schema(depth)}},
		map[string]any{"type": "object", "properties": map[string]any{"second": r.schema(depth)}},
	}
	return map[string]any{"allOf": all, "not": map[string]any{"required": []string{"second"}}}
}

func (r *randomSchemas) tagged(tag string, depth int) map[string]any {
	return map[string]any{
		"type": "object", "required": []string{"tag"},
		"properties": map[string]any{"tag": map[string]any{"type": "string", "enum": []string{tag}}, "value": r.schema(depth)},
	}
}
