package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mockserver/config"
)

const head = "openapi: 3.0.3\ninfo: {title: t, version: '1'}\n"

// broken are documents with errors, and what is reported for each: "line:column: pointer:" and a
// part of the message.
var broken = []struct{ name, doc, place, what string }{
	{"reference to nothing", head + `paths:
  /pets:
    get:
      responses:
        '200':
          description: ok
          content:
            application/json:
              schema: {$ref: '#/components/schemas/Petz'}
components:
  schemas:
    Pet: {type: object}
`, "11:31: #/paths/~1pets/get/responses/200/content/application~1json/schema/$ref", `there is no "Petz" there (did you mean "Pet"?)`},
	{"reference to another kind", head + `paths:
  /pets:
    get:
      responses:
        '200': {$ref: '#/components/schemas/Pet'}
components:
  schemas:
    Pet: {type: object}
`, "7:24: #/paths/~1pets/get/responses/200/$ref", "one of schemas; expected one of responses"},
	{"references in a circle", head + `paths: {}
components:
  schemas:
    A: {$ref: '#/components/schemas/B'}
    B: {$ref: '#/components/schemas/A'}
`, "6:16: #/components/schemas/A/$ref", "leads back to itself"},
	{"a schema that contains itself", head + `paths: {}
components:
  schemas:
    A:
      allOf:
        - $ref: '#/components/schemas/A'
`, "7:7: #/components/schemas/A", "contains itself"},
	{"a path item of itself", head + `paths:
  /a: {$ref: '#/paths/~1a'}
`, "4:15: #/paths/~1a/$ref", "leads back to itself"},
	{"a parameter that is not declared", head + `paths:
  /pets/{petId}:
    get:
      responses: {'200': {description: ok}}
`, "5:5: #/paths/~1pets~1{petId}/get", `path parameter "petId" is not declared`},
	{"a parameter that is not in the path", head + `paths:
  /pets:
    parameters:
      - {name: petId, in: path, required: true, schema: {type: string}}
    get:
      responses: {'200': {description: ok}}
`, "6:9: #/paths/~1pets/parameters/0", `"petId" is not in the path of GET`},
	{"paths of one shape", head + `paths:
  /pets/{a}:
    get: {parameters: [{name: a, in: path, required: true, schema: {}}], responses: {'200': {description: ok}}}
  /pets/{b}:
    get: {parameters: [{name: b, in: path, required: true, schema: {}}], responses: {'200': {description: ok}}}
`, "6:3: #/paths/~1pets~1{b}", "same shape as /pets/{a} on line 4"},
	{"an operationId twice", head + `paths:
  /a:
    get: {operationId: x, responses: {'200': {description: ok}}}
    post: {operationId: x, responses: {'200': {description: ok}}}
`, "6:25: #/paths/~1a/post/operationId", `operationId "x" is already given at`},
	{"a brace without another", head + "paths:\n  /a/{b:\n    get: {responses: {'200': {description: ok}}}\n", "4:3: #/paths/~1a~1{b", "has no matching }"},
	{"a path without a slash", head + "paths:\n  a:\n    get: {responses: {'200': {description: ok}}}\n", "4:3: #/paths/a", "does not begin with /"},
	{"an unknown version", "openapi: 4.0.0\ninfo: {}\n", "1:10: #/openapi", `the version is "4.0.0"; expected OpenAPI 3.0, 3.1 or 3.2, or Swagger 2.0`},
	{"an old version", "swagger: '1.2'\n", "1:11: #/swagger", `the version is "1.2"`},
	{"a version that is a list", "openapi: [3]\n", "1:10: #/openapi", "is a list"},
	{"a type that there is none", head + "paths: {}\ncomponents:\n  schemas:\n    A: {type: strin}\n", "6:15: #/components/schemas/A/type", `the type "strin" does not exist`},
	{"a text for a number", head + "paths: {}\ncomponents:\n  schemas:\n    A: {type: string, minLength: long}\n", "6:34: #/components/schemas/A/minLength", "is a text; expected an integer from 0"},
	{"a list for a map", head + "paths: []\n", "3:8: #/paths", "is a list; expected a map"},
	{"no info", "openapi: 3.0.3\npaths: {}\n", "1:1: #", "info is missing"},
	{"no version of its own", "openapi: 3.0.3\ninfo: {title: a}\npaths: {}\n", "2:7: #/info", "version is missing"},
	{"no responses", head + "paths:\n  /a:\n    get: {summary: a}\n", "5:10: #/paths/~1a/get", "responses is missing"},
	{"a path parameter that may be missing", head + "paths:\n  /a/{b}:\n    get: {parameters: [{name: b, in: path, schema: {}}], responses: {'200': {description: ok}}}\n",
		"5:24: #/paths/~1a~1{b}/get/parameters/0", `the path parameter "b" lacks required: true`},
	{"no paths", head, "1:1: #", "paths is missing"},
	{"a response without a description", head + "paths:\n  /a:\n    get:\n      responses:\n        '200': {}\n", "7:16: #/paths/~1a/get/responses/200", "description is missing"},
	{"a remote reference", head + "paths: {}\ncomponents:\n  schemas:\n    A: {$ref: 'https://api.example.com/a.yml#/A'}\n", "6:16: #/components/schemas/A/$ref", "--allow-remote-refs"},
	{"a file that there is none", head + "paths: {}\ncomponents:\n  schemas:\n    A: {$ref: 'nothing.yml'}\n", "6:16: #/components/schemas/A/$ref", "nothing.yml: there is no such file"},
	{"a server variable that is not declared", head + "servers: [{url: 'https://{host}/v1'}]\npaths: {}\n", "3:11: #/servers/0", "undeclared"},
	{"a key twice", head + "paths: {}\npaths: {}\n", "4:1: ", "already given on line 3"},
	{"not YAML", head + "paths: {\n", "", ""},
}

func TestBrokenDocuments(t *testing.T) {
	for _, c := range broken {
		t.Run(c.name, func(t *testing.T) {
			spec := config.Loader{StrictDocuments: true}.Parse("api.yml", []byte(c.doc))
			errs := spec.Problems.Errors()
			if len(errs) == 0 || len(spec.Endpoints) > 0 {
				t.Fatalf("no error found; %d endpoints", len(spec.Endpoints))
			}
			for _, p := range errs {
				if strings.HasPrefix(p.String(), "api.yml:"+c.place) && strings.Contains(p.What, c.what) {
					return
				}
			}
			t.Errorf("got %v\nwant api.yml:%s … %s", errs, c.place, c.what)
		})
	}
}

// A document that serves nothing is an error, at the key that is not indented as was meant.
func TestDocumentsWithoutOperations(t *testing.T) {
	for _, c := range []struct{ doc, want string }{
		{head, "1:1: #: the document has no operations; expected paths with methods"},
		{head + "paths:\n", "1:1: #: the document has no operations; expected paths with methods"},
		{head + "/a: {get: {responses: {'200': {description: ok}}}}\n", `3:1: #: "/a" is a path, but the document has no paths; indent it further, so that it is inside paths`},
		{head + "paths:\n/a:\n  get: {responses: {'200': {description: ok}}}\n", `4:1: #: "/a" is next to paths; indent it further`},
		{head + "paths:\n  /a:\n  get: {responses: {'200': {description: ok}}}\n", `5:3: #: "get" is a method, not a path; indent it further`},
		{head + "paths:\n  /a:\n    get:\n    summary: a\n", `5:5: #: "get" is null; expected an operation`},
	} {
		problems := config.Parse("api.yml", []byte(c.doc)).Problems
		errs := problems.Errors()
		if len(errs) != 1 || !strings.HasPrefix(errs[0].String(), "api.yml:"+c.want) || strings.Contains(fmt.Sprint(problems), "served") {
			t.Errorf("%s: got %v, want %s", c.doc, problems, c.want)
		}
	}
	dir := t.TempDir()
	for name, doc := range map[string]string{
		"a.yml": head + "paths:\n  /a: {get: {responses: {'200': {$ref: 'b.yml#/components/responses/ok'}}}}\n",
		"b.yml": head + "components: {responses: {ok: {description: ok}}}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(doc), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if spec := config.Load(dir); spec.Problems.Err() != nil || len(spec.Endpoints) != 1 {
		t.Errorf("parts of a document: %v", spec.Problems)
	}
	empty := config.Parse("api.yml", []byte(head+"paths: {}\n")).Problems
	if len(empty) != 1 || !empty[0].Warning || !strings.Contains(empty[0].What, "has no operations") {
		t.Errorf("empty paths: %v", empty)
	}
	modern := "openapi: 3.1.0\ninfo: {title: a, version: '1'}\nwebhooks: {paid: {post: {responses: {'200': {description: ok}}}}}\n"
	if spec := config.Parse("api.yml", []byte(modern)); spec.Problems.Err() != nil {
		t.Errorf("webhooks alone: %v", spec.Problems)
	}
}

// A server may have an empty URL, which is relative.
func TestAnEmptyURLOfAServerIsNoFault(t *testing.T) {
	doc := head + "servers: [{url: ''}]\ntags: [{name: ''}]\npaths:\n  /a: {get: {responses: {'200': {description: ''}}}}\n"
	if spec := (config.Loader{StrictDocuments: true}).Parse("api.yml", []byte(doc)); spec.Problems.Err() != nil || len(spec.Endpoints) != 1 {
		t.Errorf("got %v", spec.Problems)
	}
}

// All errors are reported at once, in the order of the file.
func TestMistakesOfDocumentsTogether(t *testing.T) {
	spec := config.Loader{StrictDocuments: true}.Parse("api.yml", []byte(head+`paths:
  /a/{id}:
    get: {responses: {'200': {description: ok}}}
  /b:
    get: {responses: {'200': {}}}
components:
  schemas:
    A: {type: nonsense}
    B: {$ref: '#/components/schemas/C'}
`))
	var lines []int
	for _, p := range spec.Problems.Errors() {
		lines = append(lines, p.Pos.Line)
	}
	if want := []int{5, 7, 10, 11}; !slices.Equal(lines, want) {
		t.Errorf("got errors on lines %v, want %v:\n%v", lines, want, spec.Problems)
	}
}

func TestKeysWithoutMeaningAreWarnings(t *testing.T) {
	spec := config.Parse("api.yml", []byte(head+"paths:\n  /a:\n    get: {sumary: x, responses: {'200': {description: ok}}}\n"))
	warnings := spec.Problems.Warnings()
	if len(spec.Endpoints) != 1 || len(warnings) != 1 || !strings.Contains(warnings[0].String(), `5:11: #/paths/~1a/get/sumary: "sumary" is not read (did you mean "summary"?)`) {
		t.Errorf("%d endpoints, %v", len(spec.Endpoints), spec.Problems)
	}
}

// A document of OpenAPI 3.2 causes a warning only for each key that is new and not read.
func TestNewKeysAreWarnings(t *testing.T) {
	text := strings.Replace(head, "3.0.3", "3.2.0", 1) + "$self: http://a/\npaths:\n  /a:\n    query: {responses: {'200': {description: ok}}}\n" +
		"    additionalOperations: {LINK: {responses: {'200': {description: ok}}}}\n"
	spec := config.Parse("api.yml", []byte(text))
	if got := fmt.Sprint(spec.Problems); len(spec.Problems.Warnings()) != 1 || len(spec.Endpoints) != 2 || got != `api.yml:3:1: #/$self: "$self" is not read; extensions begin with x-` {
		t.Errorf("%d endpoints, %s", len(spec.Endpoints), got)
	}
}

// The kind of a file is recognized by its content, not by its name.
func TestFilesAreRecognisedByContent(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	list := write("openapi.yml", "- endpoint: {path: '/pets/:id', response: {body: declared}}\n")
	document := write("list.json", `{"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {"/pets/{petId}": {
		"parameters": [{"name": "petId", "in": "path", "required": true, "schema": {"type": "string"}}],
		"get": {"operationId": "getPet", "responses": {"200": {"description": "a pet"}}},
		"delete": {"operationId": "deletePet", "responses": {"204": {"description": "gone"}}}}}}`)
	mocks := write("anything.yaml", "deletePet: {status: 202, body: 'bye {{path-params.petId}}'}\n")
	for _, paths := range [][]string{{document, list, mocks}, {mocks, document, list}, {dir}} {
		spec := config.Load(paths...)
		if err := spec.Problems.Err(); err != nil {
			t.Fatalf("%v: %v", paths, err)
		}
		var got []string
		for _, e := range spec.Endpoints {
			got = append(got, e.EffectiveMethod()+" "+e.Path.Value)
		}
		if want := []string{"GET /pets/:id", "GET /pets/{petId}", "DELETE /pets/{petId}"}; !slices.Equal(got, want) {
			t.Errorf("%v: got %v, want %v", paths, got, want)
		}
		if e := spec.Endpoints[2]; e.Response.Status != 202 || e.Response.Raw || e.Operation == nil {
			t.Errorf("%v: the mocks file does not determine the answer: %+v", paths, e.Response)
		}
	}
}

func TestBrokenMocksFiles(t *testing.T) {
	dir := t.TempDir()
	document := filepath.Join(dir, "api.yml")
	text := head + "paths:\n  /pets:\n    get: {operationId: listPets, responses: {'200': {description: ok}}}\n"
	if err := os.WriteFile(document, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, place, what string }{
		{"listPet: {status: 200}\n", "1:1: listPet", `there is no operation with that operationId (did you mean "listPets"?)`},
		{"GET /pet: {status: 200}\n", "1:1: GET /pet", `there is no operation with that method and path (did you mean "GET /pets"?)`},
		{"nothing: {status: 200}\n", "1:1: nothing", "such as GET /pets"},
		{"listPets: {status: 1000}\n", "1:20: listPets.response.status", "an integer from 200 to 599"},
		{"listPets: {headers: {Content-Type: [a/b, c/d]}}\n", "1:36: listPets.response.headers.Content-Type", "has several values; expected one"},
		{"listPets: {statsu: 201, status: 200}\n", "1:12: listPets.statsu", "unknown key"},
		{"listPets:\n  response: {status: 200}\n  latency: fast\n", "3:12: listPets.latency", "a map"},
		{"listPets: created\n", "1:11: listPets", `is a text ("created"); expected a map with keys of an answer, such as body`},
		{"GET /pets: [{status: 201}]\n", "1:12: GET /pets", "is a list; expected a map with"},
		{"listPets:\n", "1:10: listPets", "is null; expected a map with"},
		{"listPets: {status: 201}\nlistDogs: 4\n", "2:1: listDogs", "there is no operation"},
		{"created: listPets\n", "1:1: ", "expected a list of endpoints"},
		{"listPets: {path: /x}\n", "1:12: listPets.path", "unknown key"},
	} {
		mocks := filepath.Join(dir, "mocks.yml")
		if err := os.WriteFile(mocks, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		errs := config.Load(document, mocks).Problems.Errors()
		if len(errs) != 1 || !strings.HasPrefix(errs[0].String(), mocks+":"+c.place) || !strings.Contains(errs[0].What, c.what) {
			t.Errorf("%s\ngot %v\nwant %s … %s", c.text, errs, c.place, c.what)
		}
	}
	alone := config.Parse("mocks.yml", []byte("listPets: {status: 200}\n")).Problems.Errors()
	if len(alone) != 1 || !strings.Contains(alone[0].What, "needs an OpenAPI document") {
		t.Errorf("a mocks file alone: %v", alone)
	}
	for _, text := range []string{"paths: {/a: {}}\n", "servers: []\npaths: {/a: {}}\n"} {
		bare := config.Parse("api.yml", []byte(text)).Problems.Errors()
		if len(bare) != 1 || !strings.Contains(bare[0].What, "no version of OpenAPI") {
			t.Errorf("%s is a document without a version: %v", text, bare)
		}
	}
}

// Every way to write paths and servers leads to the expected paths.
func TestPathsOfDocuments(t *testing.T) {
	const rest = "\n    get: {responses: {'200': {description: ok}}}\n"
	const id = "\n    parameters: [{name: id, in: path, required: true, schema: {}}]"
	for _, c := range []struct{ servers, path, own, want string }{
		{"", "/a", "", "/a"},
		{"servers: [{url: 'https://x.example/v1/'}]", "/a", "", "/v1/a"},
		{"servers: [{url: /v1}, {url: /v2}]", "/", "", "/v1"},
		{"servers: [{url: v1}]", "/a", "", "/v1/a"},
		{"servers: [{url: '//x.example/b/c'}]", "/a", "", "/b/c/a"},
		{"servers: [{url: 'https://{h}/{v}', variables: {h: {default: x.example}, v: {default: v3, enum: [v3, v4]}}}]", "/a", "", "/v3/a"},
		{"servers: [{url: /v1}]", "/a", "\n    servers: [{url: /own}]", "/own/a"},
		{"", "/a/{id}", id, "/a/{id}"},
		{"", "/a/{.id}", id, "/a/{id}"},
		{"", "/a/{;id*}", id, "/a/{id}"},
		{"", "/a/{id}.json", id, "/a/{id}.json"},
		{"", "/v1/things:batch", "", "/v1/things:batch"},
		{"", "/:a/*", "", "/:a/*"},
	} {
		doc := head + c.servers + "\npaths:\n  '" + c.path + "':" + c.own + rest
		spec := config.Parse("api.yml", []byte(doc))
		if len(spec.Endpoints) != 1 || spec.Problems.Err() != nil {
			t.Errorf("%s\n%v", doc, spec.Problems)
			continue
		}
		if got := spec.Endpoints[0].Path.Value; got != c.want || !spec.Endpoints[0].Template {
			t.Errorf("%s\nis served at %s, want %s", doc, got, c.want)
		}
	}
}

// A problem of a converted document names its place in the original one.
func TestSwagger2_PointersAreThoseOfTheOriginal(t *testing.T) {
	for range 20 {
		spec := config.Parse("old.yml", []byte(`{swagger: "2.0", info: {title: t, version: "1"}, paths: {}, definitions: {Loop: {allOf: [{$ref: "#/definitions/Loop"}]}}}`))
		if got := fmt.Sprint(spec.Problems); !strings.Contains(got, "#/definitions/Loop: the schema contains itself") {
			t.Fatalf("got %s", got)
		}
	}
}

// TestSwagger2: a document of Swagger 2.0 is converted, with a warning, and keeps its positions.
func TestSwagger2(t *testing.T) {
	spec := config.Load("testdata/openapi/swagger2.json")
	warnings := spec.Problems.Warnings()
	if err := spec.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0].String(), "swagger2.json:2:15: #/swagger: this is a document of Swagger 2.0") {
		t.Errorf("%v", warnings)
	}
	var got []string
	for _, e := range spec.Endpoints {
		got = append(got, e.Method+" "+e.Path.Value+" "+e.Pos.String()[len("testdata/openapi/"):])
	}
	want := []string{"POST /v2/pets/{id} swagger2.json:9:15", "GET /v2/pets/{id} swagger2.json:17:14", "GET /v2/all swagger2.json:26:14"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Documents and mocks files may also be EDN.
func TestDocumentsInEDN(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"api.edn":   `{:openapi "3.0.3" :info {:title "t" :version "1"} :paths {"/a" {:get {:operationId "getA" :responses {"200" {:description "ok"}}}}}}`,
		"mocks.edn": `{:getA {:status 203 :body {:id "{{query-params.id}}"}}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	spec := config.Load(dir)
	if len(spec.Problems) > 0 || len(spec.Endpoints) != 1 || spec.Endpoints[0].Response.Status != 203 || spec.Endpoints[0].Response.Body.Value != `{"id":"{{query-params.id}}"}` {
		t.Errorf("%+v %v", spec.Endpoints, spec.Problems)
	}
}

// A callback URL in a mocks file or a document becomes the expected template.
func TestCallbackURLs(t *testing.T) {
	for _, c := range []struct{ url, want, warning string }{
		{"{$request.body#/a/0/b-c}", "{{json-params.a.0.b-c}}", ""},
		{"{$request.body#/dc:title/a~1\"b}", `{{json-params["dc:title"]["a/\"b"]}}`, ""},
		{"$request.query.target", "{{query-params.target}}", ""},
		{"{$request.body}", "{{json-params}}", ""},
		{"http://x.example/{$request.header.X-Id}", "http://x.example/{{header-params.X-Id}}", ""},
		{"http://x.example/?u={$url}", "http://x.example/?u=http://{{host}}{{path}}{% if query-string %}?{{query-string}}{% endif %}", ""},
		{"http://x.example/{$response.body#/list/1}", "http://x.example/b%20c", ""},
		{"{$response.body#/url}/x", "http://y.example/z/x", ""},
		{"http://x.example/{$response.body#/none}", "", "no text or number of that name"},
		{"http://x.example/{$response.header.Location}", "", "no header of that name"},
		{"http://x.example/{$request.path.a b}", "", "letters, digits"},
		{"http://x.example/{$request.cookie.a}", "", "expected after $request.:"},
		{"http://x.example/{id}", "", "not a runtime expression"},
		{"http://x.example/{$url", "", "has no matching }"},
		{"ftp://x.example", "", "is not a valid URL"},
	} {
		doc := head + "paths:\n  /a:\n    post:\n      responses: {'200': {description: ok, content: {application/json: {example: {list: [a, b c], url: 'http://y.example/z'}}}}}\n" +
			"      callbacks: {c: {'" + c.url + "': {post: {responses: {'200': {description: ok}}}}}}\n"
		spec := config.Parse("api.yml", []byte(doc))
		if len(spec.Endpoints) != 1 {
			t.Errorf("%s: %v", c.url, spec.Problems)
			continue
		}
		got, warning := "", ""
		if hooks := spec.Endpoints[0].Webhooks; len(hooks) == 1 {
			got = hooks[0].URL.Value
		}
		if w := spec.Problems.Warnings(); len(w) > 0 {
			warning = w[0].String()
		}
		if got != c.want || (c.warning == "") != (warning == "") || !strings.Contains(warning, c.warning) {
			t.Errorf("%s: %q, %q", c.url, got, warning)
		}
	}
}

func TestDelaysOfCallbacks(t *testing.T) {
	for _, c := range []struct {
		given string
		want  time.Duration
		wrong bool
	}{
		{"x-sleep-time: 0, ", config.AtOnce, false}, {"x-sleep-time: 0.25, ", 250 * time.Millisecond, false}, {"x-sleep-time: 2s, ", 2 * time.Second, false},
		{"x-sleep-time: '3', ", 3 * time.Second, false}, {"", 0, false}, {"x-sleep-time: soon, ", 0, true}, {"x-sleep-time: -1, ", 0, true}, {"x-sleep-time: [1], ", 0, true},
		{"x-sleep-time: {seconds: 1}, ", 0, true},
	} {
		doc := head + "paths:\n  /a:\n    post:\n      responses: {'200': {description: ok}}\n" +
			"      callbacks: {c: {'http://x.example': {post: {" + c.given + "responses: {'200': {description: ok}}}}}}\n"
		spec := config.Parse("api.yml", []byte(doc))
		if wrong := spec.Problems.Err() != nil; wrong != c.wrong {
			t.Errorf("%s: %v", c.given, spec.Problems)
		} else if what := spec.Problems.Error(); strings.Contains(c.given, "{") && !strings.Contains(what, `is {"seconds":1}; expected`) {
			t.Errorf("%s: got %s", c.given, what)
		} else if !wrong && spec.Endpoints[0].Webhooks[0].Delay != c.want {
			t.Errorf("%s: %v", c.given, spec.Endpoints[0].Webhooks[0].Delay)
		}
	}
}

// A thousand errors and a thousand warnings are kept, with one line for the rest of each.
func TestOpenAPIWarningsDoNotHideErrors(t *testing.T) {
	text := "openapi: 3.0.3\ninfo: {title: t, version: '1'}\npaths:\n  /: {get: {responses: {'200': {description: ''}}"
	for i := range 1500 {
		text += fmt.Sprintf(", odd%d: 1", i)
	}
	spec := config.Loader{StrictDocuments: true}.Parse("many.yml", []byte(text+"}, post: {responses: 7}}\n"))
	if err := spec.Problems.Err(); err == nil || !strings.Contains(err.Error(), "#/paths/~1/post/responses: is a number") {
		t.Errorf("got the errors %v", err)
	}
	warnings := spec.Problems.Warnings()
	if len(warnings) != 1001 || !strings.Contains(warnings[1000].What, "more than 1000 warnings") {
		t.Errorf("got %d warnings, the last is %v", len(warnings), warnings[len(warnings)-1])
	}
}
