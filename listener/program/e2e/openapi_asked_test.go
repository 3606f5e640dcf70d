package e2e_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"mockserver/internal/harness"
)

// askedDocument has objects that are identified by their requests, in the ways that real documents
// use.
const askedDocument = `
openapi: 3.0.3
info: {title: Asked, version: '1'}
paths:
  /pets/{petId}:
    parameters: [{name: petId, in: path, required: true, schema: {type: integer, format: int64}}]
    get:
      responses: {'200': {description: ok, content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}}
    put:
      operationId: replacePet
      responses: {'200': {description: ok, content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}}
  /orders/{id}:
    get:
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses:
        '200':
          description: ok
          content: {application/json: {schema: {type: object, properties: {orderId: {type: string}, note: {type: string, example: 'it is "so"'}}}}}
  /tenants/{tenant_id}/users/{userId}:
    get:
      parameters:
        - {name: tenant_id, in: path, required: true, schema: {type: string}}
        - {name: userId, in: path, required: true, schema: {type: string, format: uuid}}
      responses:
        '200':
          description: ok
          content:
            application/json:
              schema:
                type: object
                properties:
                  data:
                    allOf:
                      - {type: object, properties: {id: {type: string, format: uuid}}}
                      - {type: object, properties: {tenantId: {type: string}}}
  /vaults/{vault}:
    get:
      parameters: [{name: vault, in: path, required: true, schema: {$ref: '#/components/schemas/Vault'}}]
      responses: {'200': {description: ok, content: {application/json: {schema: {type: object, properties: {vault: {$ref: '#/components/schemas/Vault'}}}}}}}
  /kinds/{kind}:
    get:
      parameters: [{name: kind, in: path, required: true, schema: {type: string}}]
      responses: {'200': {description: ok, content: {application/json: {schema: {type: object, properties: {kind: {type: string, enum: [cat, dog]}}}}}}}
  /pets/{petId}/owner:
    get:
      parameters: [{name: petId, in: path, required: true, schema: {type: integer}}]
      responses: {'200': {description: ok, content: {application/json: {schema: {type: object, properties: {id: {type: integer, example: 4}}}}}}}
  /examples/{id}:
    get:
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      responses: {'200': {description: ok, content: {application/json: {example: {id: 3}}}}}
  /braces/{id}:
    get:
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      responses: {'200': {description: ok, content: {application/json: {schema: {type: object, properties: {id: {type: integer, example: 5}, text: {type: string, example: '{{none}}'}}}}}}}
  /carts/{id}/items:
    get:
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}, {name: limit, in: query, schema: {type: integer}}]
      responses:
        '200':
          description: ok
          content: {application/json: {schema: {type: object, properties: {id: {type: integer}, items: {type: array, items: {type: integer, example: 1}}}}}}
components:
  schemas:
    Vault: {type: string, pattern: '^[\da-z"]+$', minLength: 3, maxLength: 5, example: none}
    Pet: {type: object, required: [id], properties: {id: {type: integer, format: int64, example: 10}, name: {type: string, example: Rex}}}
`

func TestOpenAPI_TheObjectThatIsAskedFor(t *testing.T) {
	t.Parallel()
	document := harness.WriteFile(t, t.TempDir(), "asked.yml", askedDocument)
	mocks := harness.WriteFile(t, t.TempDir(), "mocks.yml", "replacePet: {latency: {max: 1ms}}\n")
	const uuid = "0d9c5e3a-7a57-4c1c-9d5a-2f7f3b1c0a11"
	for name, args := range map[string][]string{"plain": {}, "admin": {"--admin", "127.0.0.1:0"}, "validate": {"--validate"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Start(t, append([]string{"-c", document, "-m", mocks}, args...)...)
			for _, c := range []struct{ method, path, body string }{
				{"GET", "/pets/77", `{"id":77,"name":"Rex"}`},
				{"GET", "/pets/9007199254740993", `{"id":9007199254740993,"name":"Rex"}`},
				{"PUT", "/pets/-3", `{"id":-3,"name":"Rex"}`},
				{"GET", "/orders/A%20%22b%22", `{"orderId":"A \"b\"","note":"it is \"so\""}`},
				{"GET", "/orders/%7B%7Bmethod%7D%7D", `{"orderId":"{{method}}","note":"it is \"so\""}`},
				{"GET", "/tenants/acme/users/" + uuid, `{"data":{"id":"` + uuid + `","tenantId":"acme"}}`},
				{"GET", "/vaults/a%227b", `{"vault":"a\"7b"}`},
				{"GET", "/kinds/dog", `{"kind":"cat"}`},
				{"GET", "/pets/77/owner", `{"id":4}`},
				{"GET", "/examples/77", `{"id":3}`},
				{"GET", "/braces/77", `{"id":5,"text":"{{none}}"}`},
				{"GET", "/carts/77/items", `{"id":77,"items":[1]}`},
				{"GET", "/carts/77/items?limit=0", `{"id":77,"items":[]}`},
			} {
				a := p.Do(c.method, c.path, "")
				if a.Status != 200 || a.Body != c.body || a.Header.Get("Content-Length") != strconv.Itoa(len(c.body)) {
					t.Errorf("%s %s: got %d %q, want 200 %q", c.method, c.path, a.Status, a.Body, c.body)
				}
			}
			if name != "validate" {
				p.Get("/vaults/ab").Want(t, 200, `{"vault":"ab"}`)
				p.Get("/tenants/acme/users/none").Want(t, 200, `{"data":{"id":"none","tenantId":"acme"}}`)
				p.Get("/pets/none").Want(t, 200, `{"id":10,"name":"Rex"}`)
			}
		})
	}
}

func TestOpenAPI_TheObjectThatIsAskedForIsMadeAnew(t *testing.T) {
	t.Parallel()
	p := Start(t, "-m", harness.WriteFile(t, t.TempDir(), "asked.yml", askedDocument), "--dynamic")
	for path, want := range map[string]string{"/pets/77": "77", "/carts/78/items?limit=1": "78", "/pets/77/owner": ""} {
		seen := map[string]bool{}
		for range 5 {
			a := p.Get(path)
			var object struct{ ID json.Number }
			if err := json.Unmarshal([]byte(a.Body), &object); err != nil || want != "" && object.ID.String() != want {
				t.Errorf("%s: got %d %q, want the id %s: %v", path, a.Status, a.Body, want, err)
			}
			seen[a.Body] = true
		}
		if len(seen) < 2 {
			t.Errorf("%s: got the same body all five times", path)
		}
	}
	if a := p.Get("/pets/none"); a.Status != 200 || strings.Contains(a.Body, "none") {
		t.Errorf("an id that is not a number: got %d %q", a.Status, a.Body)
	}
}
