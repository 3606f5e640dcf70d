package e2e_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/xuri/excelize/v2"

	"mockserver/config"
	"mockserver/config/syntax"
	"mockserver/internal/harness/volume"
	"mockserver/listener"
)

// levels is the nesting depth of the texts in these tests.
const levels = 100_000

// smallStack lowers the stack limit, so that unbounded recursion crashes the test binary after far
// fewer levels than with Go's default: each level takes a few hundred bytes.
func smallStack(t *testing.T) {
	if testing.Short() {
		t.Skip("it keeps a CPU busy for some seconds")
	}
	before := debug.SetMaxStack(8 << 20)
	t.Cleanup(func() { debug.SetMaxStack(before) })
}

// around returns a text inside the given number of openings and closings.
func around(opening, inside, closing string) string {
	return strings.Repeat(opening, levels) + inside + strings.Repeat(closing, levels)
}

// A configuration of any nesting depth is either served, or refused at the position where it is too
// deep; the previous one then stays in service. No configuration crashes the process.
func TestNesting_OfConfigurations(t *testing.T) {
	smallStack(t)
	t.Run("strict", func(t *testing.T) { nestConfigurations(t, true) })
	t.Run("not strict", func(t *testing.T) {
		volume.Only(t)
		nestConfigurations(t, false)
	})
}

// nestConfigurations reloads each of the configurations. With strict, documents are read strictly,
// and each configuration that is too deep must be refused. Without strict, it may also be served.
func nestConfigurations(t *testing.T, strict bool) {
	dir := t.TempDir()
	files := listener.NewReloader(config.Loader{Validate: true, StrictDocuments: strict}, dir)
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.yml", "- endpoint: {path: /a, response: {body: a}}")
	server, err := listener.Start(files.Load(), listener.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	files.Attach(server)
	for _, c := range nestedConfigurations() {
		t.Run(c.name, func(t *testing.T) {
			write("b."+c.syntax, c.text)
			err := files.Reload("a test")
			if err := os.Remove(filepath.Join(dir, "b."+c.syntax)); err != nil {
				t.Fatal(err)
			}
			var problems syntax.Problems
			switch {
			case c.want == "" && err != nil:
				t.Errorf("the configuration is refused: %.300s", err)
			case c.want == "", err == nil && !strict:
			case !errors.As(err, &problems):
				t.Errorf("the configuration is not refused, but %v", err)
			case !strings.Contains(problems.Error(), c.want):
				t.Errorf("the configuration is refused with %.300s\nwant %s", problems, c.want)
			}
			resp, err := http.Get(server.URL() + "/a")
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("afterwards /a is answered with %d", resp.StatusCode)
			}
		})
	}
}

// nested is a deeply nested configuration, and the message expected if it is refused: its
// position, and that it is too deep. The message is "" if the configuration is served.
type nested struct{ name, syntax, text, want string }

func nestedConfigurations() []nested {
	body := func(text string) string {
		return "- endpoint:\n    path: /b\n    response:\n      body: |-\n        " + text + "\n"
	}
	condition := func(text string) string {
		return "- endpoint:\n    path: /b\n    if: |-\n        " + text + "\n    response: {body: b}\n"
	}
	media := func(schema string) string {
		return `{"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": {"/b": {"get": {"responses": {"200": {"description": "d",` +
			` "content": {"application/json": ` + schema + `}}}}}}}`
	}
	const values = "values are nested more than 1000 deep"
	return []nested{
		{"calls in a body", "yml", body("{{" + around("pick(", "1", ")") + "}}"), "b.yml:5:511: [0].endpoint.response.body: functions are nested more than 100 deep"},
		{"calls in a condition", "yml", condition(around("pick(", "1", ")")), "b.yml:4:509: [0].endpoint.if: functions are nested more than 100 deep"},
		{"calls in arguments of filters", "yml", body("{{" + around("path|default:pick(", "1", ")") + "}}"), "b.yml:5:1824: [0].endpoint.response.body: functions are nested more than 100 deep"},
		{"if blocks", "yml", body(around("{%if path%}", "", "{%endif%}")), "blocks are nested more than 100 deep"},
		{"for blocks", "yml", body(strings.Repeat("{%for a in json-params%}", levels)), "blocks are nested more than 100 deep"},
		{"opening braces", "yml", body(strings.Repeat("{{", levels)), "b.yml:5:9: [0].endpoint.response.body: {{ is not closed"},
		{"filters", "yml", body("{{path" + strings.Repeat("|trim", levels) + "}}"), ""},
		{"not", "yml", condition(strings.Repeat("not ", levels) + "path"), "b.yml:4:413: [0].endpoint.if: the condition is nested more than 100 deep"},
		{"parentheses", "yml", condition(around("(", "path", ")")), "b.yml:4:110: [0].endpoint.if: the condition is nested more than 100 deep"},
		{"not and parentheses", "yml", condition(around("not(", "path", ")")), "b.yml:4:212: [0].endpoint.if: the condition is nested more than 100 deep"},
		{"a way into a body", "yml", condition("json-params" + strings.Repeat(".a", levels) + " = 1"), "b.yml:4:9: [0].endpoint.if: the path into a value has more than 1000 steps"},
		{"indexes into a body", "yml", condition("json-params" + strings.Repeat("[0]", levels) + " = 1"), "b.yml:4:9: [0].endpoint.if: the path into a value has more than 1000 steps"},
		{"an expression", "yml", condition(`path matches "` + around("(", "a", ")") + `"`), "b.yml:4:22: [0].endpoint.if: the regular expression is not valid"},
		{"lists in brackets", "yml", around("[", "", "]"), "b.yml:1:1: " + values},
		{"maps in braces", "yml", around("{a: ", "1", "}"), "b.yml:1:1: " + values},
		{"lists in one line", "yml", strings.Repeat("- ", levels) + "a", "b.yml:1:1: " + values},
		{"a body's lists", "yml", "- endpoint: {path: /b, response: {body: " + around("[", "", "]") + "}}", values},
		{"JSON lists", "json", around("[", "", "]"), "b.json:1:1001: " + values},
		{"JSON objects", "json", around(`{"a":`, "1", "}"), "b.json:1:5001: " + values},
		{"EDN vectors", "edn", around("[", "", "]"), "b.edn:1:1001: " + values},
		{"EDN lists and maps", "edn", around("({:a ", "1", "})"), values},
		{"EDN discards", "edn", around("#_ ", "", "a "), values},
		{"EDN tags", "edn", strings.Repeat("#a ", levels) + "a", values},
		{"EDN metadata", "edn", strings.Repeat("^:a ", levels) + "[]", "b.edn:1:1: ^:a is Clojure code"},
		{"schemas", "json", media(`{"schema": ` + around(`{"items":`, "{}", "}") + `}`), values},
		{"schemas that hold at once", "json", media(`{"schema": ` + around(`{"allOf":[`, "{}", "]}") + `}`), values},
		{"references to references", "json", chained(`%s`), "the reference starts a chain of more than 100 references"},
		{"schemas by reference", "json", chained(`{"type":"array","minItems":1,"items":%s}`), ""},
		{"schemas that hold at once, by reference", "json", chained(`{"allOf":[%s]}`), "the schema contains itself"},
		{"an example", "json", media(`{"example": ` + around("[", "", "]") + `}`), values},
		{"a pattern", "json", media(`{"schema": {"type": "string", "pattern": "` + around("(", "a", ")") + `"}}`), ""},
		{"a mocks file", "yml", "/b:\n  get: {response: {body: " + around("[", "", "]") + "}}", values},
		{"a WebSocket's pattern of JSON", "yml", "- websocket:\n    path: /w\n    on-message:\n      - pattern: '{" + strings.Repeat(`"a":[`, levels) + "'\n        response: a\n", "[0].websocket.on-message[0].pattern: the pattern is not a valid RE2 expression"},
		{"a WebSocket's expression", "yml", "- websocket:\n    path: /w\n    on-message:\n      - pattern: '" + around("(", "a", ")") + "'\n        response: a\n", "[0].websocket.on-message[0].pattern: the pattern is not a valid RE2 expression"},
		{"a path", "yml", "- endpoint: {path: " + strings.Repeat("/b", levels) + ", response: {body: b}}", ""},
	}
}

// chained returns a document with a chain of schemas, each of which refers to the next one.
func chained(form string) string {
	const links = 20_000 // each of them is a schema to check
	var b strings.Builder
	b.WriteString(`{"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": {"/b": {"get": {"responses": {"200": {"description": "d",` +
		` "content": {"application/json": {"schema": {"$ref": "#/components/schemas/s0"}}}}}}}}, "components": {"schemas": {`)
	for i := range links {
		fmt.Fprintf(&b, `"s%d": `+form+`, `, i, fmt.Sprintf(`{"$ref": "#/components/schemas/s%d"}`, i+1))
	}
	fmt.Fprintf(&b, `"s%d": {"type": "string"}}}}`, links)
	return b.String()
}

// nestedResponses are endpoints that receive deeply nested requests.
const nestedResponses = `
- endpoint: {method: POST, path: /json, if: json-params.a.a.a = 1, response: {body: deep}}
- endpoint:
    method: POST
    path: /json
    response:
      body: '{"a": {{json-params.a}}, "n": {{json-params|length}}, "first": {{json-params|first}}, "all": [{% for x in json-params %}1{% endfor %}]}'
- endpoint: {method: POST, path: /form, response: {body: "{{form-params.f|length}}"}}
- endpoint: {path: /query, response: {body: "{{query-params.f|length}}"}}
- websocket:
    path: /talk
    on-message:
      - {pattern: {a: {a: {a: "{{x}}"}}}, response: deep}
      - {pattern: ".*", response: "{{message|length}}"}
`

// nestedDocument validates requests against a schema that refers to itself.
const nestedDocument = `{"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": {"/checked": {"post": {
  "parameters": [{"name": "q", "in": "query", "style": "deepObject", "explode": true, "schema": {"$ref": "#/components/schemas/tree"}}],
  "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/tree"}},
    "application/x-www-form-urlencoded": {"schema": {"$ref": "#/components/schemas/tree"}}}},
  "responses": {"200": {"description": "d", "content": {"application/json": {"example": {}}}}}}}},
  "components": {"schemas": {"tree": {"anyOf": [{"type": "object", "additionalProperties": {"$ref": "#/components/schemas/tree"}},
    {"type": "array", "items": {"$ref": "#/components/schemas/tree"}}]}}}}`

// Requests of any nesting depth are answered; none crashes the process.
func TestNesting_OfRequests(t *testing.T) {
	smallStack(t)
	spec := config.Join(config.Parse("a.yml", []byte(nestedResponses)), config.Loader{Validate: true}.Parse("b.json", []byte(nestedDocument)))
	server, err := listener.Start(spec, listener.Options{MaxMessage: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	const asJSON, formType, inHeader = "application/json", "application/x-www-form-urlencoded", 30_000
	const noJSON = `{"a": null, "n": null, "first": null, "all": []}`
	for _, c := range []struct {
		name, path, kind, prefer, body string
		status                         int
		want                           string
	}{
		{"lists", "/json", asJSON, "", around("[", "", "]"), 200, noJSON},
		{"objects", "/json", asJSON, "", around(`{"a":`, "1", "}"), 200, noJSON},
		{"opening brackets", "/json", asJSON, "", strings.Repeat("[", levels), 200, noJSON},
		{"XML", "/json", "application/xml", "", around("<a>", "", "</a>"), 200, noJSON},
		{"brackets of a form", "/form", formType, "", "f=" + around("[", "", "]"), 200, strconv.Itoa(2 * levels)},
		{"names of a form", "/checked", formType, "", "q" + strings.Repeat("[a]", levels) + "=1", 422, "invalid_body"},
		{"names of a query", "/checked?q" + strings.Repeat("[a]", inHeader/3) + "=1", asJSON, "", "{}", 400, "invalid_request"},
		{"checked lists", "/checked", asJSON, "", around("[", "", "]"), 400, "invalid_request"},
		{"checked objects", "/checked", asJSON, "", around(`{"a":`, "{}", "}"), 400, "invalid_request"},
		{"parts in parts", "/form", "multipart/form-data; boundary=b", "", strings.Repeat("--b\r\nContent-Type: multipart/form-data; boundary=b\r\n\r\n", levels/10), 200, ""},
		{"preferences", "/checked", asJSON, strings.Repeat("a;", inHeader), "{}", 200, "{}"},
		{"quoted preferences", "/checked", asJSON, strings.Repeat(`"\`, inHeader), "{}", 200, "{}"},
		{"a media type", "/json", "application/json;" + strings.Repeat(`a="\`, inHeader/4), "", "{}", 200, `"all": []`},
	} {
		t.Run(c.name, func(t *testing.T) {
			req, err := http.NewRequest("POST", server.URL()+c.path, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", c.kind)
			if c.prefer != "" {
				req.Header.Set("Prefer", c.prefer)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || resp.StatusCode != c.status || !strings.Contains(string(body), c.want) {
				t.Errorf("%d %.300s, %v\nwant %d %s", resp.StatusCode, body, err, c.status, c.want)
			}
		})
	}
	t.Run("a message", func(t *testing.T) {
		conn, _, err := websocket.Dial(context.Background(), strings.Replace(server.URL(), "http", "ws", 1)+"/talk", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.CloseNow()
		for text, want := range map[string]string{around(`{"a":`, "1", "}"): strconv.Itoa(6*levels + 1), `{"a":{"a":{"a":[]}}}`: "deep"} {
			if err := conn.Write(context.Background(), websocket.MessageText, []byte(text)); err != nil {
				t.Fatal(err)
			}
			if _, got, err := conn.Read(context.Background()); string(got) != want || err != nil {
				t.Errorf("%.20s… is answered with %s, %v, want %s", text, got, err, want)
			}
		}
	})
}

// A workbook with deeply nested XML is either served or refused when it is loaded.
func TestNesting_OfWorkbooks(t *testing.T) {
	smallStack(t)
	book := excelize.NewFile()
	var whole bytes.Buffer
	if err := book.Write(&whole); err != nil {
		t.Fatal(err)
	}
	read, err := zip.NewReader(bytes.NewReader(whole.Bytes()), int64(whole.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for _, deep := range []string{"xl/worksheets/sheet1.xml", "xl/workbook.xml", "xl/styles.xml"} {
		t.Run(deep, func(t *testing.T) {
			var made bytes.Buffer
			archive := zip.NewWriter(&made)
			for _, part := range read.File {
				in, err := part.Open()
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(in)
				if err != nil {
					t.Fatal(err)
				}
				if part.Name == deep { // inside the outermost element
					end := bytes.LastIndex(text, []byte("</"))
					text = []byte(string(text[:end]) + around("<a>", "", "</a>") + string(text[end:]))
				}
				out, err := archive.Create(part.Name)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := out.Write(text); err != nil {
					t.Fatal(err)
				}
			}
			if err := archive.Close(); err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "b.xlsx"), made.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			spec := config.Parse(filepath.Join(dir, "a.yml"), []byte("- endpoint: {path: /b, response: {external-body: {path: b.xlsx, provider: xlsx, sheet-name: Sheet1}}}"))
			server, err := listener.Start(spec, listener.Options{})
			var problems syntax.Problems
			switch {
			case err == nil:
				_ = server.Close()
			case !errors.As(err, &problems) || !strings.Contains(err.Error(), "b.xlsx"):
				t.Errorf("the error names no workbook: %.300s", err)
			}
		})
	}
}
