package config_test

import (
	"strings"
	"testing"

	"mockserver/internal/harness"
)

// With itemSchema of OpenAPI 3.2, the members of an item are the fields of an event, and data with a contentSchema is
// JSON. Lines and JSON sequences have an item each. There are ten, or as many as the schema next to it allows.
func TestBodiesOfSequences(t *testing.T) {
	path := harness.WriteFile(t, t.TempDir(), "api.yml", `
openapi: 3.2.0
info: {title: t, version: "1"}
paths:
  /events:
    get:
      responses:
        "200":
          description: OK
          content:
            text/event-stream:
              itemSchema:
                type: object
                required: [event, data, id, retry]
                properties: {event: {type: string, const: add}, id: {type: string, const: "7"}, retry: {type: integer, const: 50}}
                oneOf: [{$ref: "#/components/schemas/Json"}]
  /texts:
    get:
      responses:
        "200":
          description: OK
          content:
            text/event-stream:
              schema: {type: array, minItems: 2, maxItems: 3}
              itemSchema: {type: object, required: [data], properties: {data: {type: string, const: "a\nb"}}}
  /lines:
    get:
      responses:
        "200": {description: OK, content: {application/jsonl: {itemSchema: {type: object, required: [n], properties: {n: {const: 1}}}}}}
  /sequence:
    get:
      responses:
        "200": {description: OK, content: {application/json-seq: {schema: {type: array, minItems: 12}, itemSchema: {const: 1}}}}
  /example:
    get:
      responses:
        "200": {description: OK, content: {text/event-stream: {itemSchema: {type: object, properties: {data: {type: string}}}, example: [{event: x, data: "{}"}, {data: z}]}}}
components:
  schemas:
    Json:
      properties:
        data:
          type: string
          contentMediaType: application/json
          contentSchema: {type: object, required: [a], properties: {a: {const: 1}}}
`)
	operations, _ := readFile(t, path, 0)
	for path, want := range map[string]string{
		"/events":   strings.Repeat("event: add\nid: 7\nretry: 50\ndata: {\"a\":1}\n\n", 10),
		"/texts":    strings.Repeat("data: a\ndata: b\n\n", 3),
		"/lines":    strings.Repeat("{\"n\":1}\n", 10),
		"/sequence": strings.Repeat("\x1e1\n", 12),
		"/example":  "event: x\ndata: {}\n\ndata: z\n\n",
	} {
		if got := string(operations["GET "+path].Responses[0].Body); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
