package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mockserver/internal/harness"
)

// petDocument is a document in several files: parts holds the files that it refers to.
const petDocument = `
openapi: 3.1.0
info: {title: Pets, version: '1'}
servers: [{url: 'https://{host}/api', variables: {host: {default: pets.example}}}]
paths:
  /pets:
    $ref: parts/paths.yml#/pets
  /pets/{petId}:
    parameters:
      - {name: petId, in: path, required: true, schema: {type: string}}
    get:
      operationId: getPet
      responses:
        '200': {$ref: 'parts/responses/pet.json'}
    delete:
      operationId: deletePet
      responses: {'204': {description: gone}}
  /reports/{id}.{format}:
    get:
      operationId: getReport
      parameters:
        - {name: id, in: path, required: true, schema: {type: string}}
        - {name: format, in: path, required: true, schema: {type: string}}
      responses: {'200': {description: ok, content: {text/plain: {example: a report}}}}
`

// writePets writes petDocument and its parts, and returns the path of the document.
func writePets(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	harness.WriteFile(t, dir, "parts/paths.yml", `pets:
  get:
    operationId: listPets
    responses:
      '200':
        description: all pets
        content:
          application/json:
            example: [{name: Rex, id: 12345678901234567890}]
`)
	harness.WriteFile(t, dir, "parts/responses/pet.json", `{"description": "a pet", "content": {"application/json": {"schema": {"$ref": "../schemas.yml#/definitions/Pet"}}}}`)
	harness.WriteFile(t, dir, "parts/schemas.yml", "definitions:\n  Pet:\n    type: object\n    required: [name]\n    properties: {name: {$ref: '#/definitions/Name'}}\n  Name: {const: Tom}\n")
	return harness.WriteFile(t, dir, "pets.yml", petDocument)
}

func TestOpenAPI_DocumentOfSeveralFiles(t *testing.T) {
	t.Parallel()
	p := Start(t, "-m", writePets(t))
	p.Get("/api/pets").Want(t, 200, `[{"name":"Rex","id":12345678901234567890}]`)
	p.Get("/api/pets/1").Want(t, 200, `{"name":"Tom"}`)
	p.Do("DELETE", "/api/pets/1", "").Want(t, 204, "")
	p.Get("/api/reports/7.pdf").Want(t, 200, "a report")
	if a := p.Get("/api/reports/7"); a.Status != 404 {
		t.Errorf("a path that lacks its format: %d", a.Status)
	}
	if a := p.Get("/pets"); a.Status != 404 {
		t.Errorf("a path without the base path: %d", a.Status)
	}
}

// References where OpenAPI has none are followed, relative to the file that contains them.
func TestOpenAPI_ReferencesToFilesAnywhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"parts/get.yml":           "responses: {$ref: responses.yml}\n",
		"parts/responses.yml":     `{"200": {description: ok, content: {application/json: {schema: {$ref: "#/S"}, examples: {$ref: "examples/all.yml"}}}}, S: {type: object}}`,
		"parts/examples/all.yml":  "one: {value: {$ref: pet.json}}\n",
		"parts/examples/pet.json": `{"name": {"$ref": "../name.json"}}`,
		"parts/name.json":         `"Rex"`,
		"parts/components.yml":    "schemas: {$ref: schemas/index.yml}\n",
		"parts/schemas/index.yml": "Pet: {$ref: pet.yml}\nName: {enum: [Tom]}\n",
		"parts/schemas/pet.yml":   "type: object\nrequired: [n]\nproperties: {n: {$ref: '../../api.yml#/components/schemas/Name'}}\n",
	} {
		harness.WriteFile(t, dir, name, text)
	}
	file := harness.WriteFile(t, dir, "api.yml", openAPI+`paths:
  /a: {get: {$ref: parts/get.yml}}
  /b: {get: {responses: {'200': {description: ok, content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}}}}
  /c: {get: {$ref: parts/none.yml}}
  /d: {get: {$ref: '#/paths/~1a/get'}}
components: {$ref: parts/components.yml}
`)
	code, stdout, _ := Refused(t, nil, "validate", "-m", file)
	if name := filepath.Join(dir, "parts/get.yml"); code != 0 || !strings.Contains(stdout, name+":1:19: #/responses/$ref: OpenAPI has no reference here") {
		t.Errorf("got exit code %d and %s, want the warning of a place in %s", code, stdout, name)
	}
	p := Start(t, "-m", file)
	p.Get("/a").Want(t, 200, `{"name":"Rex"}`)
	p.Get("/b").Want(t, 200, `{"n":"Tom"}`)
	p.Get("/c").Want(t, 200, "")
	p.Get("/d").Want(t, 200, `{"name":"Rex"}`)
}

// A mocks file declares the answers of operations; declared endpoints take precedence over all
// operations.
func TestOpenAPI_Joined(t *testing.T) {
	t.Parallel()
	document := writePets(t)
	mocks := harness.WriteFile(t, t.TempDir(), "mocks.yml", `
getPet:
  status: 200
  headers: {X-Id: '{{path-params.petId}}'}
  body: {id: '{{path-params.petId}}'}
deletePet:
  response: {status: 409, body: not today}
GET /api/reports/{id}.{format}:
  if: path-params.format = csv
  body: '{{path-params.id}};1'
`)
	p := Start(t, "-c", document, "-m", mocks)
	p.Get("/api/pets/x7").Want(t, 200, `{"id":"x7"}`)
	if id := p.Get("/api/pets/x7").Header.Get("X-Id"); id != "x7" {
		t.Errorf("X-Id: %q", id)
	}
	p.Do("DELETE", "/api/pets/1", "").Want(t, 409, "not today")
	p.Get("/api/reports/q1.csv").Want(t, 200, "q1;1")
	p.Get("/api/reports/q1.pdf").Want(t, 200, "a report")

	list := harness.WriteFile(t, t.TempDir(), "list.yml", "- endpoint: {path: '/api/pets/:any', response: {body: 'declared {{path-params.any}}'}}\n")
	p = Start(t, "-m", document, "-c", list)
	p.Get("/api/pets/1").Want(t, 200, "declared 1")
	p.Do("DELETE", "/api/pets/1", "").Want(t, 204, "")
}

func TestOpenAPI_BrokenDocumentIsRefused(t *testing.T) {
	t.Parallel()
	document := writePets(t)
	part := filepath.Join(filepath.Dir(document), "parts", "schemas.yml")
	if err := os.WriteFile(part, []byte("definitions:\n  Pet: {type: object, properties: {name: {$ref: '#/definitions/Nam'}}}\n  Name: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := Refused(t, nil, "-m", document, "--strict-documents")
	want := part + `:2:50: #/definitions/Pet/properties/name/$ref: the reference "#/definitions/Nam" does not resolve: there is no "Nam" there (did you mean "Name"?)`
	if code != 2 || strings.TrimSpace(stderr) != want {
		t.Errorf("%d %s\nnot %s", code, stderr, want)
	}
}

// A change to a document, or to a file that it refers to, causes a reload; a broken document is
// reported, and a repaired one is served.
func TestOpenAPI_Reload(t *testing.T) {
	t.Parallel()
	document := writePets(t)
	dir := filepath.Dir(document)
	p := Start(t, "-m", document, "--strict-documents")
	seen := len(p.Output())
	harness.WriteFile(t, dir, "parts/schemas.yml", "definitions:\n  Pet: {const: {name: Tim}}\n")
	p.WaitLine(seen, "configuration reloaded")
	p.Get("/api/pets/1").Want(t, 200, `{"name":"Tim"}`)

	seen = len(p.Output())
	harness.WriteFile(t, dir, "parts/schemas.yml", "definitions: {Pet: {type: nonsense}}\n")
	p.WaitLine(seen, "configuration not reloaded", "schemas.yml:1:27", "nonsense")
	p.Get("/api/pets/1").Want(t, 200, `{"name":"Tim"}`)
	harness.WriteFile(t, dir, "parts/schemas.yml", "definitions: {Pet: {const: mended}}\n")
	p.WaitLine(seen, "configuration reloaded")
	p.Get("/api/pets/1").Want(t, 200, `"mended"`)

	seen = len(p.Output())
	harness.WriteFile(t, dir, "pets.yml", strings.ReplaceAll(petDocument, "parts/responses/pet.json", "parts/new.yml"))
	p.WaitLine(seen, "configuration not reloaded", "new.yml: there is no such file")
	harness.WriteFile(t, dir, "parts/new.yml", "description: new\ncontent: {text/plain: {example: new}}\n")
	p.WaitLine(seen, "configuration reloaded")
	p.Get("/api/pets/1").Want(t, 200, "new")
}

// If a document causes many warnings of one kind, the log has one line for them, also at a reload,
// and validate lists them all. Warnings about other configurations are logged in full.
func TestOpenAPI_ManyWarnings(t *testing.T) {
	t.Parallel()
	var document, own strings.Builder
	document.WriteString("openapi: 3.0.3\ninfo: {title: Many, version: '1'}\npaths:\n")
	for i := range 5 {
		key := "odd: 1, "
		if i < 2 {
			key = ""
		}
		fmt.Fprintf(&document, "  /p%d: {get: {%sresponses: {'200': {description: '', content: {application/json: {example: %d, schema: {type: string}}}}}}}\n", i, key, i)
		fmt.Fprintf(&own, "- endpoint: {path: /own%d, response: {headers: {Date: now}}}\n", i)
	}
	const sent, left, odd = "sent anyway", "writes this header itself", "is not read"
	for _, format := range []string{"println", "json"} {
		dir := t.TempDir()
		args := []string{"-f", format, "-m", harness.WriteFile(t, dir, "many.yml", document.String()), "-c", harness.WriteFile(t, dir, "own.yml", own.String())}
		p := Start(t, args...)
		p.Signal(syscall.SIGHUP)
		p.WaitLine(0, "configuration reloaded")
		p.Signal(syscall.SIGTERM)
		p.Exit()
		lines := func(parts ...string) (n int) {
			for _, line := range p.Output() {
				if containsAll(line, parts) {
					n++
				}
			}
			return n
		}
		for text, once := range map[string]int{"configuration warning": 1 + 3 + 5, sent: 1, odd: 3, left: 5, "mockserver validate": 1} {
			if n := lines(text); n != 2*once {
				t.Errorf("%s: got %d lines with %q after a start and a reload, want %d", format, n, text, 2*once)
			}
		}
		counted := map[string]string{"println": "count=", "json": `"count":`}[format]
		if lines(counted+"5", "many.yml:4:", "#/paths/~1p0/get/", sent) != 2 {
			t.Errorf("%s: the line lacks the number of warnings or the place of the first", format)
		}
		p = Launch(t, nil, append([]string{"validate"}, args...)...)
		if code := p.Exit(); code != 0 || lines(sent) != 5 || lines(odd) != 3 || lines(left) != 5 {
			t.Errorf("%s: validate exits with %d and does not list all warnings", format, code)
		}
	}
}

func TestOpenAPI_RemoteReferences(t *testing.T) {
	t.Parallel()
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/schemas/pet.yml":
			_, _ = io.WriteString(w, "$ref: name.json#/Named\n")
		case "/schemas/name.json":
			_, _ = io.WriteString(w, `{"Named": {"const": "from afar"}, "Local": {"$ref": "file:///etc/hostname"}}`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer remote.Close()
	with := func(ref string) string {
		return harness.WriteFile(t, t.TempDir(), "api.yml", "openapi: 3.1.0\ninfo: {title: t, version: '1'}\npaths:\n  /pet:\n    get: {responses: {'200': {description: ok, "+
			"content: {application/json: {schema: {$ref: '"+remote.URL+ref+"'}}}}}}\n")
	}
	document := with("/schemas/pet.yml")
	code, _, stderr := Refused(t, nil, "-m", document, "--strict-documents")
	if code != 2 || !strings.Contains(stderr, document+":5:") || !strings.Contains(stderr, "such references are read only with --allow-remote-refs") {
		t.Errorf("without the flag: %d %s", code, stderr)
	}
	p := Launch(t, []string{"MOCKSERVER_ALLOW_REMOTE_REFS=true"}, "-m", document).Listening()
	p.Get("/pet").Want(t, 200, `"from afar"`)

	code, _, stderr = Refused(t, nil, "-m", with("/missing.yml"), "--allow-remote-refs")
	if code != 2 || !strings.Contains(stderr, "/missing.yml cannot be fetched: it answered with status 404 Not Found") {
		t.Errorf("a missing document: %d %s", code, stderr)
	}
	code, _, stderr = Refused(t, nil, "-m", with("/schemas/name.json#/Local"), "--allow-remote-refs", "--strict-documents")
	if code != 2 || !strings.Contains(stderr, "a document from another host refers to") {
		t.Errorf("a remote document that refers to a local file: %d %s", code, stderr)
	}
}

func TestOpenAPI_Callbacks(t *testing.T) {
	t.Parallel()
	got := make(chan string, 10)
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- r.Method + " " + r.URL.String() + " " + r.Header.Get("Content-Type") + " " + r.Header.Get("X-Kind") + " " + string(body)
	}))
	defer target.Close()
	document := harness.WriteFile(t, t.TempDir(), "api.yml", `
openapi: 3.0.3
info: {title: t, version: '1'}
paths:
  /orders/{kind}:
    post:
      parameters: [{name: kind, in: path, required: true, schema: {type: string}}]
      responses:
        '201':
          description: taken
          headers: {Location: {schema: {type: string}, example: /orders/7}}
          content: {application/json: {example: {id: o 7, n: 3}}}
      callbacks:
        paid:
          '{$request.body#/callback/url}/{$request.path.kind}/{$request.query.q}/{$request.header.X-Ref}?m={$method}&s={$statusCode}&id={$response.body#/id}&at={$response.header.Location}':
            post:
              x-sleep-time: 0
              parameters: [{name: X-Kind, in: header, schema: {type: string}, example: '{{kind}}'}]
              requestBody: {content: {application/json: {example: {text: '{{json-params.secret}}'}}}}
              responses: {'200': {description: ok}}
`)
	p := Start(t, "-m", document)
	p.Do("POST", "/orders/book?q=1%202", `{"callback": {"url": "`+target.URL+`/hook"}, "secret": "s"}`, "X-Ref: r/1", "Content-Type: application/json").
		Want(t, 201, `{"id":"o 7","n":3}`)
	want := `POST /hook/book/1%202/r%2F1?m=POST&s=201&id=o%207&at=%2Forders%2F7 application/json {{kind}} {"text":"{{json-params.secret}}"}`
	if line := <-got; line != want {
		t.Errorf("got  %s\nwant %s", line, want)
	}
	seen := len(p.Output())
	p.Do("POST", "/orders/book", `{}`, "Content-Type: application/json").Want(t, 201, `{"id":"o 7","n":3}`)
	p.WaitLine(seen, "webhook failed", "is not a valid URL")
}

// The webhooks of an OpenAPI 3.1 document are listed in the log, and never sent.
func TestOpenAPI_Catalogue(t *testing.T) {
	t.Parallel()
	p := Start(t, "-m", harness.WriteFile(t, t.TempDir(), "api.yml", `
openapi: 3.1.0
info: {title: t, version: '1'}
webhooks:
  newPet: {post: {requestBody: {content: {application/json: {schema: {type: object}}}}, responses: {'200': {description: ok}}}}
  oldPet: {post: {responses: {'200': {description: ok}}}}
`))
	p.WaitLine(0, "webhooks", "count=2", "newPet oldPet")
}
