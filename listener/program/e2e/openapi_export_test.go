package e2e_test

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"gopkg.in/yaml.v3"

	"mockserver/internal/harness"
	"mockserver/internal/harness/volume"
)

func TestExport_OfADocumentKeepsItsMeaning(t *testing.T) {
	t.Parallel()
	dirs := []string{File("config/testdata/openapi"), File("examples")}
	for _, dir := range dirs {
		for _, file := range documentsIn(t, dir) {
			t.Run(filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				keepsItsMeaning(t, file)
			})
		}
	}
}

// keepsItsMeaning exports a document and expects the export to be served like the document, and to
// be exported unchanged.
func keepsItsMeaning(t *testing.T, file string) {
	d := readDocument(t, file)
	first := exportOf(t, "-m", d.file)
	exported := harness.WriteFile(t, t.TempDir(), "exported.yml", first)
	if volume.Full() {
		if second := exportOf(t, "-m", exported); second != first {
			t.Errorf("the export of the export differs:\n%s\nafter\n%s", second, first)
		}
	}
	p, q := Start(t, "-m", d.file, "--no-webhooks"), Start(t, "-m", exported, "--no-webhooks")
	for _, op := range d.operations() {
		asked := []string{""}
		for code := range op.responses {
			asked = append(asked, "code="+strings.ReplaceAll(code, "default", "200"))
		}
		for _, prefer := range asked {
			a, b := p.Do(op.method, op.path, "", "Prefer: "+prefer), q.Do(op.method, op.path, "", "Prefer: "+prefer)
			a.Header.Del("Date")
			b.Header.Del("Date")
			if !reflect.DeepEqual(a, b) {
				t.Errorf("%s %s %s: the document answers %v, its export %v", op.method, op.path, prefer, a, b)
			}
		}
	}
}

func TestExport_TheTwoFormsAreOneDocument(t *testing.T) {
	t.Parallel()
	file := File("examples/tasks.yml")
	var fromYAML, fromJSON any
	if err := yaml.Unmarshal([]byte(exportOf(t, "-c", file)), &fromYAML); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(exportOf(t, "-c", file, "--export-format", "json")), &fromJSON); err != nil {
		t.Fatal(err)
	}
	a, errA := json.Marshal(fromYAML)
	b, errB := json.Marshal(fromJSON)
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Errorf("got %s (%v) as YAML and %s (%v) as JSON", a, errA, b, errB)
	}
}

// A server of the exported document gives the same fixed answers as a server of the original.
func TestExport_OfFixedResponsesServesThem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := harness.WriteFile(t, dir, "api.yml", `
- endpoint: {path: "/pets/:id|int", response: {body: {id: 7}, headers: {X-Shop: a}}}
- endpoint: {path: /pets, method: POST, response: {status: 201, body: made, headers: {Content-Type: text/plain}}}
- endpoint: {path: "/pets/:id|int", method: DELETE, response: {status: 204}}
- endpoint: {path: "/{literal}", response: {body: "no template"}}
- endpoint: {path: /, response: {status: 404, body: '[1.50]'}}
`)
	p, q := Start(t, "-c", file), Start(t, "-m", harness.WriteFile(t, dir, "exported.yml", exportOf(t, "-c", file)))
	for _, call := range []string{"GET /pets/7", "POST /pets", "DELETE /pets/7", "GET /%7Bliteral%7D", "GET /"} {
		method, path, _ := strings.Cut(call, " ")
		a, b := p.Do(method, path, ""), q.Do(method, path, "")
		if a.Status != b.Status || exampleBody(a.Body) != exampleBody(b.Body) || a.Header.Get("Content-Type") != b.Header.Get("Content-Type") || a.Header.Get("X-Shop") != b.Header.Get("X-Shop") {
			t.Errorf("%s: got %v, its export answers %v", call, a, b)
		}
	}
}

// exampleBody returns a JSON body without insignificant white space.
func exampleBody(text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	compact, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return string(compact)
}

func TestExport_DeclaredEndpointsJoinAndReplaceOperations(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	document := harness.WriteFile(t, dir, "shop.yml", `
openapi: 3.0.3
info: {title: Shop, version: "1"}
servers: [{url: /v1}]
paths:
  /a:
    get: {operationId: getA, responses: {"200": {$ref: "#/components/responses/A"}, "404": {description: none}}}
  /b:
    get: {operationId: getB, responses: {"200": {description: b, content: {application/json: {example: {b: 1}}}}}}
    post: {operationId: postB, responses: {"201": {description: made}}}
  /c:
    get: {operationId: getC, responses: {"200": {description: c, content: {application/json: {example: {c: 1}}}}}}
components:
  responses:
    A: {description: a, content: {application/json: {example: {a: 1}}}}
`)
	declared := harness.WriteFile(t, dir, "declared.yml", `
- endpoint: {path: /v1/b, response: {body: {b: 2}}}
- endpoint: {path: /v1/a, if: query-params.x = 1, response: {status: 402, body: {a: 3}}}
- endpoint: {path: /c, response: {body: {root: true}}}
- endpoint: {path: /d, method: PUT, response: {body: {d: 1}}}
`)
	mocks := harness.WriteFile(t, dir, "mocks.yml", `
getC: {status: 418, body: {short: true}}
`)
	args := []string{"-c", document, "-c", declared, "-m", mocks}
	text := exportOf(t, args...)
	p, q := Start(t, args...), Start(t, "-m", harness.WriteFile(t, dir, "exported.yml", text))
	for _, call := range []string{"GET /v1/a", "GET /v1/b", "POST /v1/b", "GET /v1/c", "GET /c", "PUT /d", "GET /v1/d"} {
		method, path, _ := strings.Cut(call, " ")
		a, b := p.Do(method, path, ""), q.Do(method, path, "")
		if a.Status != b.Status || a.Status != 404 && exampleBody(a.Body) != exampleBody(b.Body) {
			t.Errorf("%s: got %v, its export answers %v\n%s", call, a, b, text)
		}
	}
	if strings.Contains(text, "getB") || !strings.Contains(text, "postB") {
		t.Errorf("the replaced operation is present, or the other one is missing:\n%s", text)
	}
	if b := q.Do("GET", "/v1/a", "", "Prefer: code=402"); exampleBody(b.Body) != `{"a":3}` {
		t.Errorf("the answer with a condition: got %v\n%s", b, text)
	}
}

func TestExport_SaysWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	file := harness.WriteFile(t, t.TempDir(), "declared.yml", `
- endpoint: {method: POST, path: /b, response: {}, webhook: {method: POST, url: "http://ann:hunter2@127.0.0.1:1/x", sign: {secret: hunter2}}}
- endpoint: {path: /c, response: {external-body: {provider: json, path: "http://ann:hunter2@127.0.0.1:1/x"}}}
`)
	code, stdout, stderr := Refused(t, nil, "export", "-c", file)
	if code != 0 || strings.Contains(stdout+stderr, "hunter2") || !strings.Contains(stdout, "http://xxxxx@127.0.0.1:1/x") ||
		!strings.Contains(stderr, "warning: left out, because OpenAPI cannot express it: webhooks\n") {
		t.Errorf("exit code %d, %q and\n%s", code, stderr, stdout)
	}
}

func TestExport_SaysWhatKeepsItFromADocument(t *testing.T) {
	t.Parallel()
	file := harness.WriteFile(t, t.TempDir(), "api.yml", "- endpoint: {path: /a, response: {statsu: 200}}\n")
	code, stdout, stderr := Refused(t, nil, "export", "-c", file)
	if code != 2 || stdout != "" || !strings.Contains(stderr, `did you mean "status"?`) {
		t.Errorf("got exit code %d, %q and %q, want the error and no document", code, stdout, stderr)
	}
	if code, _, stderr := Refused(t, nil, "export", "-c", file, "--export-format", "xml"); code != 2 || !strings.Contains(stderr, "yaml or json") {
		t.Errorf("got exit code %d and %q, want the expected values", code, stderr)
	}
	pets := File("examples/petstore.yml")
	other := harness.WriteFile(t, t.TempDir(), "b.yml", "openapi: 3.1.0\ninfo: {title: B, version: \"1\"}\npaths: {/b: {get: {responses: {\"200\": {description: b}}}}}\n")
	if code, stdout, stderr := Refused(t, nil, "export", "-c", pets, "-m", other); code != 2 || stdout != "" || !strings.Contains(stderr, "there are 2 OpenAPI documents; expected at most one") {
		t.Errorf("got exit code %d, %q and %q, want the error and no document", code, stdout, stderr)
	}
}

// exportOf runs export, which must succeed, and validates its output as OpenAPI.
func exportOf(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := Refused(t, nil, append([]string{"export"}, args...)...)
	if code != 0 {
		t.Fatalf("export %v: exit code %d, %s", args, code, stderr)
	}
	doc, err := openapi3.NewLoader().LoadFromData([]byte(stdout)) // the document contains only references to itself
	if err != nil {
		t.Fatalf("export %v: %v\n%s", args, err, stdout)
	}
	if err := doc.Validate(t.Context(), openapi3.DisableExamplesValidation(), openapi3.DisableSchemaPatternValidation()); err != nil {
		t.Errorf("export %v: %v", args, err)
	}
	return stdout
}

// The export of every example is a valid document.
func TestExport_OfEveryExampleIsADocument(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"*.yml", "*.edn"} {
		files, err := filepath.Glob(File("examples", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			if filepath.Base(file) != "petstore-mocks.yml" { // which needs a document
				exportOf(t, "-c", file)
			}
		}
	}
}
