package openapi_test

import (
	"encoding/json"
	"testing"

	"mockserver/config/openapi"
	"mockserver/config/syntax"
)

// FuzzReadSchema reads arbitrary JSON Schemas. Nothing may panic, and a schema is either compiled or
// has errors.
func FuzzReadSchema(f *testing.F) {
	for _, schema := range []string{
		`{"$schema": "http://json-schema.org/draft-07/schema#", "$id": "http://a/b", "items": [{"$ref": "c#/d"}, true], "additionalItems": false, "dependencies": {"a": ["b"], "c": {}}, "definitions": {"c": {"$id": "#c"}}}`,
		`{"$ref": "#", "minLength": 2}`, `{"$defs": {"a": {"$anchor": "x", "$dynamicRef": "#x"}}, "$ref": "#x"}`, `false`, `{"type": 7}`, `[]`, `{"pattern": "(a)\\1"}`, `{"allOf": [{"$ref": "#"}]}`,
		`{"$id": "%zz", "properties": {"$ref": {"const": null}, "default": {"items": []}}, "exclusiveMinimum": true, "minimum": 3}`,
	} {
		f.Add(schema, `{"a": [1, "x", {}]}`)
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		root, err := syntax.ParseJSON([]byte(text))
		if err != nil {
			return
		}
		open := func(string) (*syntax.Node, syntax.Problems) {
			return nil, syntax.Problems{{What: "there is no such file"}}
		}
		schema, problems := openapi.ReadSchema(root.Document(), "schema.json", openapi.Options{Open: open})
		if (schema == nil) != (problems.Err() != nil) {
			t.Fatalf("the schema is %v, and its problems are %v", schema, problems)
		}
		if schema != nil && json.Valid([]byte(value)) {
			schema.Check([]byte(value))
		}
	})
}
