package e2e_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"testing"

	"mockserver/internal/harness"
)

// dynamicDocument has an answer of each kind: with examples, generated from a schema, and without
// a schema.
const dynamicDocument = `
openapi: 3.0.3
info: {title: Dynamic, version: '1'}
paths:
  /pets:
    get:
      operationId: listPets
      responses:
        '200':
          description: ok
          content:
            application/json:
              schema: {$ref: '#/components/schemas/Pet'}
              examples:
                one: {value: {id: 1001}}
                two: {value: {id: 1002}}
            text/csv: {example: 'id;1'}
        '404':
          description: none
          content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}
        '409':
          description: none
          content: {text/plain: {example: taken}}
  /plain:
    get:
      responses: {'200': {description: ok, content: {text/plain: {example: as it is}}}}
  /mine:
    get:
      operationId: mine
      responses: {'200': {description: ok, content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}}
components:
  schemas:
    Pet: {type: object, required: [id], properties: {id: {type: integer, minimum: 1000, maximum: 1000000000}}}
`

// petIDs returns the IDs in n successive answers to the same request.
func petIDs(t *testing.T, p *Process, n, status int, path string, headers ...string) []int {
	t.Helper()
	var ids []int
	for range n {
		a := p.Get(path, headers...)
		var pet struct{ ID int }
		if err := json.Unmarshal([]byte(a.Body), &pet); err != nil || a.Status != status {
			t.Fatalf("%s: got %d %q, want %d and a pet: %v", path, a.Status, a.Body, status, err)
		}
		if a.Header.Get("Content-Length") != strconv.Itoa(len(a.Body)) {
			t.Errorf("%s: got the length %s, want %d", path, a.Header.Get("Content-Length"), len(a.Body))
		}
		ids = append(ids, pet.ID)
	}
	return ids
}

func TestOpenAPI_Dynamic(t *testing.T) {
	t.Parallel()
	document := harness.WriteFile(t, t.TempDir(), "dynamic.yml", dynamicDocument)
	mocks := harness.WriteFile(t, t.TempDir(), "mocks.yml", "mine: {body: declared}\n")
	for name, args := range map[string][]string{
		"plain": {}, "validate": {"--validate"}, "seed": {"--seed", "7"}, "access log": {"--access-log"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Start(t, append([]string{"-c", document, "-m", mocks, "--dynamic"}, args...)...)
			ids := petIDs(t, p, 8, 200, "/pets")
			slices.Sort(ids)
			if ids[0] < 1000 || len(slices.Compact(slices.Clone(ids))) < 2 {
				t.Errorf("got the ids %v, want generated ones that differ", ids)
			}
			ids = petIDs(t, p, 8, 404, "/pets", "Prefer: code=404")
			slices.Sort(ids)
			if ids[0] < 1000 || len(slices.Compact(ids)) < 2 {
				t.Errorf("with a code: got the ids %v, want generated ones that differ", ids)
			}
			p.Get("/pets", "Prefer: dynamic=false").Want(t, 200, `{"id":1001}`)
			p.Get("/pets?__dynamic=false").Want(t, 200, `{"id":1001}`)
			p.Get("/pets", "Prefer: example=two").Want(t, 200, `{"id":1002}`)
			p.Get("/pets", "Prefer: code=409").Want(t, 409, "taken")
			p.Get("/pets", "Accept: text/csv").Want(t, 200, "id;1")
			p.Get("/plain").Want(t, 200, "as it is")
			p.Get("/mine").Want(t, 200, "declared")
			for _, wrong := range []string{"dynamic=maybe", "code=99"} {
				if a := p.Get("/pets", "Prefer: "+wrong); a.Status != 400 {
					t.Errorf("Prefer: %s: got %d %q, want 400", wrong, a.Status, a.Body)
				}
			}
			if a := p.Get("/plain", "Prefer: dynamic=true"); a.Status != 404 {
				t.Errorf("dynamic=true without a schema: got %d %q, want 404", a.Status, a.Body)
			}
			if a := p.Do("HEAD", "/pets", ""); a.Status != 200 || a.Body != "" {
				t.Errorf("HEAD: got %d %q, want 200 without a body", a.Status, a.Body)
			}
		})
	}
}

func TestOpenAPI_DynamicRepeatsWithASeed(t *testing.T) {
	t.Parallel()
	document := harness.WriteFile(t, t.TempDir(), "dynamic.yml", dynamicDocument)
	first := petIDs(t, Start(t, "-m", document, "--dynamic", "--seed", "7"), 5, 200, "/pets")
	second := petIDs(t, Start(t, "-m", document, "--dynamic", "--seed", "7"), 5, 200, "/pets")
	other := petIDs(t, Start(t, "-m", document, "--dynamic", "--seed", "8"), 5, 200, "/pets")
	if !slices.Equal(first, second) || slices.Equal(first, other) {
		t.Errorf("got %v and %v with one seed, and %v with another; want the first two equal", first, second, other)
	}
}
