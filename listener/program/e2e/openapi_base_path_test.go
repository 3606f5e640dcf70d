package e2e_test

import (
	"os"
	"strings"
	"testing"

	"mockserver/config"
	"mockserver/internal/harness"
)

// serversDocument has servers for the document, for a path and for an operation.
const serversDocument = `
openapi: 3.0.3
info: {title: Servers, version: '1'}
servers: [{url: 'https://api.example/v1'}]
paths:
  /:
    get: {responses: {'200': {description: ok, content: {text/plain: {example: root}}}}}
  /pets/{id}:
    get:
      operationId: getPet
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      responses: {'200': {description: ok, content: {text/plain: {example: a pet}}}}
  /path:
    servers: [{url: 'https://other.example/of-path'}]
    get: {responses: {'200': {description: ok, content: {text/plain: {example: path}}}}}
    put:
      servers: [{url: 'https://other.example/of-operation'}]
      responses: {'200': {description: ok, content: {text/plain: {example: operation}}}}
`

// oldDocument is a Swagger 2.0 document with a basePath.
const oldDocument = `
swagger: '2.0'
info: {title: Old, version: '1'}
host: old.example
basePath: /old
produces: [text/plain]
paths:
  /things:
    get: {responses: {'200': {description: ok, schema: {type: string}, examples: {text/plain: a thing}}}}
`

func TestOpenAPI_BasePath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	document := harness.WriteFile(t, dir, "servers.yml", serversDocument)
	old := harness.WriteFile(t, dir, "old.yml", oldDocument)
	for value, base := range map[string]string{"/v2": "/v2", "/v2/": "/v2", "/a/b.c": "/a/b.c", "/": ""} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			mocks := harness.WriteFile(t, t.TempDir(), "mocks.yml", "PUT "+base+"/path: {body: mine}\n")
			p := Start(t, "-c", document, "-c", old, "-m", mocks, "--base-path", value, "--validate")
			root := base
			if root == "" {
				root = "/"
			}
			p.Get(root).Want(t, 200, "root")
			p.Get(base+"/pets/7").Want(t, 200, "a pet")
			p.Get(base+"/path").Want(t, 200, "path")
			p.Do("PUT", base+"/path", "").Want(t, 200, "mine")
			if a := p.Get(base + "/things"); a.Status != 200 { // the body is generated from a converted schema
				t.Errorf("Swagger 2.0: got %d %q", a.Status, a.Body)
			}
			if a := p.Get(base + "/pets/x"); a.Status != 400 {
				t.Errorf("an id that is not an integer: got %d %q, want 400", a.Status, a.Body)
			}
			for _, path := range []string{"/v1/pets/7", "/of-path/path", "/old/things"} {
				if a := p.Get(path); a.Status != 404 {
					t.Errorf("%s: got %d %q, want 404", path, a.Status, a.Body)
				}
			}
		})
	}
}

func TestOpenAPI_BasePathOfTheEnvironmentHoldsAtReload(t *testing.T) {
	t.Parallel()
	document := harness.WriteFile(t, t.TempDir(), "servers.yml", serversDocument)
	p := Launch(t, []string{"MOCKSERVER_BASE_PATH=/env"}, "-m", document, "-p", "0").Listening()
	p.Get("/env/path").Want(t, 200, "path")
	seen := len(p.Output())
	if err := os.WriteFile(document, []byte(strings.Replace(serversDocument, "example: path", "example: changed", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	p.WaitLine(seen, "configuration reloaded")
	p.Get("/env/path").Want(t, 200, "changed")
}

func TestOpenAPI_BasePathOfValidateAndExport(t *testing.T) {
	t.Parallel()
	document := harness.WriteFile(t, t.TempDir(), "servers.yml", serversDocument)
	code, stdout, stderr := Refused(t, nil, "validate", "-m", document, "--base-path", "/v2")
	if code != 0 || !strings.Contains(stdout, "GET /v2/pets/{id}\n") || strings.Contains(stdout, "/v1") {
		t.Errorf("validate: got exit code %d, %s%s, want 0 and paths under /v2", code, stdout, stderr)
	}
	for value, path := range map[string]string{"/v2": "/v2/path", "/": "/path"} {
		exported := harness.WriteFile(t, t.TempDir(), "exported.yml", exportOf(t, "-m", document, "--base-path", value))
		p := Start(t, "-m", exported)
		p.Get(path).Want(t, 200, "path")
		p.Do("PUT", path, "").Want(t, 200, "operation")
	}
}

func TestOpenAPI_BasePathThatIsNoPathIsRefused(t *testing.T) {
	t.Parallel()
	document := harness.WriteFile(t, t.TempDir(), "servers.yml", serversDocument)
	for _, value := range []string{"", "v2", "/v2?a=b", "/v2#a", "/a b", "/{tenant}/v2", "/:tenant", "/*", "//host/v2", "/a//b", "/../v2", "/%2e%2e", "/%zz", "https://api.example/v2", "/a\\b"} {
		code, stdout, stderr := Refused(t, nil, "-m", document, "--base-path", value)
		if code != 2 || !strings.Contains(stderr, "--base-path") || !strings.Contains(stderr, "a path that begins with a slash, such as /v2") {
			t.Errorf("--base-path %q: got exit code %d, %s%s, want 2 and the expected form", value, code, stdout, stderr)
		}
		if value == "" {
			continue
		}
		spec := config.Loader{BasePath: value}.Parse("servers.yml", []byte(serversDocument))
		if err := spec.Problems.Err(); err == nil || !strings.Contains(err.Error(), "Loader.BasePath is ") {
			t.Errorf("Loader.BasePath %q: got %v, want an error that names it", value, err)
		}
	}
}

func TestOpenAPI_BasePathOfTheLoader(t *testing.T) {
	t.Parallel()
	spec := config.Loader{BasePath: "/v2"}.Parse("servers.yml", []byte(serversDocument))
	if err := spec.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for i := range spec.Endpoints {
		paths = append(paths, spec.Endpoints[i].Path.Value)
	}
	if got, want := strings.Join(paths, " "), "/v2 /v2/pets/{id} /v2/path /v2/path"; got != want {
		t.Errorf("got the paths %s, want %s", got, want)
	}
}
