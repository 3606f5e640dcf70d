package config_test

import (
	"fmt"
	"strings"
	"testing"

	"mockserver/config"
)

// largeDocument returns a document such as a cloud provider's, in JSON, with the given number of
// kinds of resources, each with four operations and a schema that refers to two others.
func largeDocument(kinds int) []byte {
	const text = "The identifier of the resource that the service keeps, in the form that the console shows. It never changes."
	var b strings.Builder
	b.WriteString(`{"openapi": "3.0.3", "info": {"title": "cloud", "version": "1"}, "servers": [{"url": "https://api.example.com/v1"}], "paths": {`)
	for i := range kinds {
		ref := fmt.Sprintf(`{"$ref": "#/components/schemas/Resource%d"}`, i)
		response := func(status, schema string) string {
			return `"responses": {"` + status + `": {"description": "ok", "content": {"application/json": {"schema": ` + schema + `}}}, "default": {"$ref": "#/components/responses/Error"}}`
		}
		fmt.Fprintf(&b, `%s
"/services/s%d/resources%d": {"get": {"operationId": "list%d", "summary": %q, %s},
 "post": {"operationId": "create%d", "summary": %q, "requestBody": {"content": {"application/json": {"schema": %s}}}, %s}},
"/services/s%d/resources%d/{id}": {"parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}],
 "get": {"operationId": "get%d", "summary": %q, %s}, "delete": {"operationId": "delete%d", "responses": {"204": {"description": "gone"}}}}`,
			strings.Repeat(",", min(i, 1)), i%50, i, i, text, response("200", `{"type": "array", "items": `+ref+`}`), i, text, ref, response("201", ref),
			i%50, i, i, text, response("200", ref), i)
	}
	b.WriteString(`}, "components": {"responses": {"Error": {"description": "e", "content": {"application/json": {"schema": {"type": "object"}}}}}, "schemas": {`)
	for i := range kinds {
		fmt.Fprintf(&b, "%s\n"+`"Resource%d": {"type": "object", "description": %q, "required": ["field0"], "properties": {`, strings.Repeat(",", min(i, 1)), i, text)
		for k := range 8 {
			fmt.Fprintf(&b, `"field%d": {"type": "string", "description": %q, "maxLength": 64}, `, k, text)
		}
		fmt.Fprintf(&b, `"count": {"type": "integer", "maximum": 1000}, "child": {"$ref": "#/components/schemas/Resource%d"}, "list": {"type": "array", "items": {"$ref": "#/components/schemas/Resource%d"}}}}`,
			(i*7+1)%kinds, (i*13+5)%kinds)
	}
	b.WriteString("}}}")
	return []byte(b.String())
}

// A document whose schemas refer to each other is read completely; the benchmark measures the cost.
func TestLargeDocument(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds of CPU time")
	}
	const kinds = 300
	spec := config.Parse("cloud.json", largeDocument(kinds))
	if err := spec.Problems.Err(); err != nil || len(spec.Endpoints) != 4*kinds {
		t.Errorf("%d endpoints, %v", len(spec.Endpoints), err)
	}
}

// BenchmarkLargeDocument reads ten megabytes, which must take at most 5 s.
func BenchmarkLargeDocument(b *testing.B) {
	data := largeDocument(3200)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if spec := config.Parse("cloud.json", data); spec.Problems.Err() != nil {
			b.Fatal(spec.Problems)
		}
	}
}
