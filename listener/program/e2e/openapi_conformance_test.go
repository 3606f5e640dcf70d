package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"
)

// These tests compare the answers of operations with their OpenAPI documents. They read the
// documents themselves, and use a validator that the program does not use, so that a bug in the
// program is not hidden by the same bug here.

// documentsVariable names a directory of documents that are served and called in addition to those
// of this repository.
const documentsVariable = "MOCKSERVER_OPENAPI_DOCUMENTS"

func TestConformance_OurDocuments(t *testing.T) {
	t.Parallel()
	conform(t, File("config/testdata/openapi"))
	conform(t, File("examples"))
}

func TestConformance_DocumentsElsewhere(t *testing.T) {
	t.Parallel()
	dir := os.Getenv(documentsVariable)
	if dir == "" {
		t.Skipf("%s does not name a directory of documents", documentsVariable)
	}
	conform(t, dir)
}

// unfit lists the calls whose answers cannot conform to their schema, with the reason in the
// document.
var unfit = map[string]string{
	"recursion.yml GET /endless":                      "the schema asks for itself without end",
	"recursion.yml GET /endless code=200":             "the schema asks for itself without end",
	"examples.yml GET /named code=200, example=wrong": "the example is not what its schema accepts, and sent as it is",
}

// conform serves every document in a directory and calls its operations.
func conform(t *testing.T, dir string) {
	t.Helper()
	files := documentsIn(t, dir)
	if len(files) == 0 {
		t.Fatalf("no document in %s", dir)
	}
	for _, file := range files {
		name, err := filepath.Rel(dir, file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.ToSlash(name), func(t *testing.T) {
			t.Parallel()
			conformDocument(t, file)
		})
	}
}

// conformDocument calls every operation of a document: without a preference, and for each status
// and each named example.
func conformDocument(t *testing.T, file string) {
	d := readDocument(t, file)
	p := Start(t, "-m", d.file)
	called := 0
	for _, op := range d.operations() {
		called++
		op.check(t, p, op.usual(), "")
		for code, at := range op.responses {
			if status, err := strconv.Atoi(code); err != nil || status < http.StatusOK {
				continue
			}
			op.check(t, p, code, "code="+code)
			_, response := d.resolve(at)
			for media, content := range mapAt(response, "content") {
				for example := range mapAt(content, "examples") {
					op.check(t, p, code, "code="+code+", example="+example, "Accept: "+media)
				}
			}
		}
	}
	if len(mapAt(d.root, "paths")) > 0 && called == 0 {
		t.Error("no operation was called")
	}
}

// documentsIn returns the files below a directory that identify themselves as OpenAPI documents.
// It skips directories named "broken" and "data".
func documentsIn(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "broken" || entry.Name() == "data"):
			return fs.SkipDir
		case !slices.Contains([]string{".yml", ".yaml", ".json"}, filepath.Ext(path)):
			return nil
		}
		v, err := readPlain(path)
		if err != nil {
			return err
		}
		if m, ok := v.(map[string]any); ok && (m["openapi"] != nil || m["swagger"] != nil) {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// apiDocument is a document as its files contain it.
type apiDocument struct {
	t        *testing.T
	file     string // absolute path
	root     any
	compiler *jsonschema.Compiler
}

func readDocument(t *testing.T, file string) *apiDocument {
	t.Helper()
	file, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	root, err := readPlain(file)
	if err != nil {
		t.Fatal(err)
	}
	d := &apiDocument{t: t, file: file, root: root, compiler: jsonschema.NewCompiler()}
	draft := jsonschema.Draft2020
	if !strings.HasPrefix(textAt(root, "openapi"), "3.1") {
		draft = jsonschema.Draft7 // keys next to a reference are ignored, as in OpenAPI 3.0
	}
	d.compiler.DefaultDraft(draft)
	d.compiler.AssertFormat()
	d.compiler.UseLoader(fileLoader{})
	return d
}

// fileLoader loads files for the validator, and converts OpenAPI 3.0 schemas to JSON Schema.
type fileLoader struct{}

func (fileLoader) Load(address string) (any, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "file" {
		return nil, fmt.Errorf("%s: only files are read", address)
	}
	v, err := readPlain(filepath.FromSlash(u.Path))
	modern(v)
	return v, err
}

// readPlain decodes YAML or JSON to the types that encoding/json produces.
func readPlain(file string) (any, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	data, err := json.Marshal(textKeys(v))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(data))
}

// textKeys converts the keys of maps to texts: in some documents, a status is a number.
func textKeys(v any) any {
	switch v := v.(type) {
	case map[any]any:
		m := map[string]any{}
		for key, value := range v {
			m[fmt.Sprint(key)] = textKeys(value)
		}
		return m
	case map[string]any:
		for key, value := range v {
			v[key] = textKeys(value)
		}
	case []any:
		for i := range v {
			v[i] = textKeys(v[i])
		}
	}
	return v
}

// modern converts nullable, exclusive bounds and write-only properties to JSON Schema.
func modern(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			modern(item)
		}
	case map[string]any:
		if typ, ok := v["type"].(string); ok && v["nullable"] == true {
			v["type"] = []any{typ, "null"}
		}
		if parts, ok := v["allOf"]; ok && v["nullable"] == true {
			v["anyOf"] = []any{map[string]any{"type": "null"}, map[string]any{"allOf": parts}}
			delete(v, "allOf")
		}
		if required, ok := v["required"].([]any); ok {
			v["required"] = slices.DeleteFunc(required, func(name any) bool {
				key, _ := name.(string)
				return mapAt(v, "properties", key)["writeOnly"] == true // not part of answers
			})
		}
		for exclusive, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
			if set, ok := v[exclusive].(bool); ok {
				delete(v, exclusive)
				if set {
					v[exclusive] = v[bound]
					delete(v, bound)
				}
			}
		}
		for _, value := range v {
			modern(value)
		}
	}
}

// mapAt and textAt return the value at a path of keys; they return a zero value if it has another
// type.
func mapAt(v any, keys ...string) map[string]any {
	for _, key := range keys {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	m, _ := v.(map[string]any)
	return m
}

func textAt(v any, keys ...string) string {
	m := mapAt(v, keys[:len(keys)-1]...)
	text, _ := m[keys[len(keys)-1]].(string)
	return text
}

// place is the position of a value: a file, and a JSON pointer in it.
type place struct {
	file    string
	pointer string // "/paths/~1pets"
}

func (p place) below(keys ...string) place {
	for _, key := range keys {
		p.pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
	}
	return p
}

func (p place) String() string {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(p.file)}
	return u.String() + "#" + (&url.URL{Path: p.pointer}).EscapedPath()
}

// resolve follows references from a place, across files, and returns the value found.
func (d *apiDocument) resolve(at place) (place, any) {
	d.t.Helper()
	v, err := readPlain(at.file)
	if err != nil {
		d.t.Fatal(err)
	}
	for token := range strings.SplitSeq(strings.TrimPrefix(at.pointer, "/"), "/") {
		if at.pointer == "" {
			break
		}
		key := strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch parent := v.(type) {
		case map[string]any:
			v = parent[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(parent) {
				d.t.Fatalf("%v: there is no item %s", at, key)
			}
			v = parent[i]
		default:
			d.t.Fatalf("%v: there is no value", at)
		}
	}
	ref := textAt(v, "$ref")
	if ref == "" {
		return at, v
	}
	file, pointer, _ := strings.Cut(ref, "#")
	if decoded, err := url.PathUnescape(pointer); err == nil {
		pointer = decoded
	}
	to := place{at.file, pointer}
	if file != "" {
		to.file = filepath.Join(filepath.Dir(at.file), filepath.FromSlash(file))
	}
	return d.resolve(to)
}

// calledOperation is an operation, with everything that is needed to call it.
type calledOperation struct {
	d         *apiDocument
	method    string
	path      string // with the values of its parameters
	at        place
	responses map[string]place
	swagger   bool
	produces  []string
}

var callMethods = []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}

// operations returns all operations of the document.
func (d *apiDocument) operations() []*calledOperation {
	d.t.Helper()
	var all []*calledOperation
	for path := range mapAt(d.root, "paths") {
		if strings.HasPrefix(path, "x-") {
			continue
		}
		at, item := d.resolve(place{file: d.file}.below("paths", path))
		for _, method := range callMethods {
			operation, ok := item.(map[string]any)[method].(map[string]any)
			if !ok {
				continue
			}
			op := &calledOperation{d: d, method: strings.ToUpper(method), at: at.below(method), responses: map[string]place{}, swagger: textAt(d.root, "swagger") != ""}
			for code := range mapAt(operation, "responses") {
				if !strings.HasPrefix(code, "x-") {
					op.responses[code], _ = d.resolve(op.at.below("responses", code))
				}
			}
			op.path = d.base() + op.filled(path, at, item, operation)
			op.produces = texts(operation["produces"])
			if op.produces == nil {
				op.produces = texts(mapAt(d.root)["produces"])
			}
			all = append(all, op)
		}
	}
	return all
}

func texts(v any) []string {
	var all []string
	list, _ := v.([]any)
	for _, item := range list {
		all = append(all, fmt.Sprint(item))
	}
	return all
}

// base returns the path of the first server.
func (d *apiDocument) base() string {
	if base := textAt(d.root, "basePath"); base != "" {
		return strings.TrimSuffix(base, "/")
	}
	servers, _ := mapAt(d.root)["servers"].([]any)
	if len(servers) == 0 {
		return ""
	}
	address := textAt(servers[0], "url")
	for name, variable := range mapAt(servers[0], "variables") {
		address = strings.ReplaceAll(address, "{"+name+"}", textAt(variable, "default"))
	}
	u, err := url.Parse(address)
	if err != nil {
		d.t.Fatal(err)
	}
	return strings.TrimSuffix(u.Path, "/")
}

// filled returns a path with values for its parameters that match their types.
func (o *calledOperation) filled(path string, itemAt place, item any, operation map[string]any) string {
	values := map[string]string{}
	for _, from := range []struct {
		at place
		in any
	}{{itemAt, item}, {o.at, operation}} {
		list, _ := mapAt(from.in)["parameters"].([]any)
		for i := range list {
			at, p := o.d.resolve(from.at.below("parameters", strconv.Itoa(i)))
			if textAt(p, "in") != "path" {
				continue
			}
			schema := p
			if mapAt(p)["schema"] != nil {
				_, schema = o.d.resolve(at.below("schema"))
			}
			values[textAt(p, "name")] = sampleOf(p, schema)
		}
	}
	for name, value := range values {
		path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(value))
	}
	return path
}

func sampleOf(p, schema any) string {
	for _, v := range []any{mapAt(p)["example"], mapAt(schema)["example"]} {
		if v != nil {
			return fmt.Sprint(v)
		}
	}
	if enum, ok := mapAt(schema)["enum"].([]any); ok && len(enum) > 0 {
		return fmt.Sprint(enum[0])
	}
	if textAt(schema, "type") == "boolean" {
		return "true"
	}
	return "7"
}

// usual returns the response sent to a request without a preference: the lowest 2xx, or else
// default, or else the lowest one declared.
func (o *calledOperation) usual() string {
	var codes []string
	for code := range o.responses {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	for _, code := range codes {
		if code[0] == '2' {
			return code
		}
	}
	if slices.Contains(codes, "default") {
		return "default"
	}
	if len(codes) == 0 {
		return ""
	}
	return codes[0]
}

// statusOf returns the status that a declared response is sent with.
func statusOf(code string) int {
	if status, err := strconv.Atoi(code); err == nil {
		return status
	}
	if len(code) == 3 && strings.EqualFold(code[1:], "xx") {
		return int(code[0]-'0') * 100
	}
	return http.StatusOK
}

// check calls the operation and compares the answer with a response in the document.
func (o *calledOperation) check(t *testing.T, p *Process, code, prefer string, headers ...string) {
	t.Helper()
	if prefer != "" {
		headers = append(headers, "Prefer: "+prefer)
	}
	a := p.Do(o.method, o.path, "", headers...)
	call := strings.TrimSpace(o.method + " " + o.path + " " + prefer)
	if a.Status != statusOf(code) {
		t.Errorf("%s: got status %d, want %d; %s", call, a.Status, statusOf(code), a.Body)
		return
	}
	if code == "" || o.method == http.MethodHead {
		return
	}
	contents, schemaAt := o.contents(code)
	if len(contents) == 0 || a.Status == http.StatusNoContent || a.Status == http.StatusNotModified {
		if a.Body != "" {
			t.Errorf("%s: got the body %q, want none", call, a.Body)
		}
		return
	}
	media := o.media(t, call, a, contents, headers)
	if schema, ok := schemaAt[media]; ok {
		if err := o.d.validate(schema, a.Header.Get("Content-Type"), a.Body); err != nil && unfit[filepath.Base(o.d.file)+" "+call] == "" {
			t.Errorf("%s: the body does not fit its schema %v: %v\n%s", call, schema, err, a.Body)
		}
	}
}

// contents returns the media types of a response, and the places of the schemas of those that have
// one.
func (o *calledOperation) contents(code string) (all []string, schemas map[string]place) {
	at := o.responses[code]
	_, response := o.d.resolve(at)
	schemas = map[string]place{}
	if o.swagger {
		for media := range mapAt(response, "examples") {
			all = append(all, media)
		}
		if mapAt(response)["schema"] == nil {
			return all, nil
		}
		for _, media := range append(o.produces, "application/json") {
			all = append(all, media)
			schemas[media] = at.below("schema")
		}
		return all, schemas
	}
	for media, content := range mapAt(response, "content") {
		all = append(all, media)
		if mapAt(content)["schema"] != nil {
			schemas[media] = at.below("content", media, "schema")
		}
	}
	return all, schemas
}

// media returns the declared media type that the type of an answer matches. It checks that there is
// one and, if the request has no Accept header, that the answer is JSON where JSON is declared.
func (o *calledOperation) media(t *testing.T, call string, a Response, contents, headers []string) string {
	t.Helper()
	got := a.Header.Get("Content-Type")
	var fits []string
	for _, media := range contents {
		if covers(media, got) {
			fits = append(fits, media)
		}
	}
	switch {
	case len(fits) == 0:
		t.Errorf("%s: got the media type %q, want one of %q", call, got, contents)
		return ""
	case !strings.Contains(strings.Join(headers, "\n"), "Accept:") && slices.ContainsFunc(contents, isJSONType) && !isJSONType(got):
		t.Errorf("%s: got the media type %q, want JSON, one of %q", call, got, contents)
	}
	return fits[0]
}

// covers reports whether a declared media type, or a range of types, matches that of an answer.
func covers(declared, got string) bool {
	declared, got = baseType(declared), baseType(got)
	prefix, isRange := strings.CutSuffix(declared, "*")
	return declared == got || declared == "*/*" || isRange && strings.HasPrefix(got, prefix)
}

func baseType(media string) string {
	if base, _, err := mime.ParseMediaType(media); err == nil {
		return base
	}
	return strings.ToLower(media)
}

func isJSONType(media string) bool {
	base := baseType(media)
	return base == "application/json" || strings.HasSuffix(base, "+json")
}

// validate validates a body against the schema at a place. A body that is not JSON counts as a
// text.
func (d *apiDocument) validate(at place, media, body string) error {
	schema, err := d.compiler.Compile(at.String())
	if err != nil {
		return fmt.Errorf("the schema cannot be compiled: %w", err)
	}
	var v any = body
	switch {
	case isJSONType(media):
		if v, err = jsonschema.UnmarshalJSON(strings.NewReader(body)); err != nil {
			return fmt.Errorf("not valid JSON: %w", err)
		}
	case !strings.HasPrefix(media, "text/") || strings.Contains(media, "xml"):
		return nil
	}
	err = schema.Validate(v)
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		return invalid
	}
	return err
}
