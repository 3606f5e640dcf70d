package admin

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/internal/histogram"
)

// types contains the types in the document, with their names in it, in the order in which requests
// refer to them.
type types struct {
	names []string
	of    map[string]reflect.Type
}

func (ts *types) add(t *testing.T, kind reflect.Type) {
	t.Helper()
	if kind == reflect.TypeFor[histogram.Snapshot]() {
		return // the document has it as a string
	}
	switch kind.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		ts.add(t, kind.Elem())
	case reflect.Struct:
		name := schemaName(kind)
		before, known := ts.of[name]
		if known && before != kind {
			t.Errorf("%v and %v are both called %s", before, kind, name)
		}
		if known || kind.PkgPath() == "time" {
			return
		}
		ts.names, ts.of[name] = append(ts.names, name), kind
		for _, f := range fieldsOf(kind) {
			ts.add(t, f.Type)
		}
	}
}

// typesOf returns the types of requests and those of responses.
func typesOf(t *testing.T, table []route) (sent, received types) {
	t.Helper()
	sent, received = types{of: map[string]reflect.Type{}}, types{of: map[string]reflect.Type{}}
	received.add(t, reflect.TypeFor[failure]())
	for _, row := range table {
		for _, value := range row.takes {
			sent.add(t, reflect.TypeOf(value))
		}
		for _, status := range slices.Sorted(maps.Keys(row.responses)) {
			for _, value := range row.responses[status] {
				received.add(t, reflect.TypeOf(value))
			}
		}
	}
	return sent, received
}

func TestDocument_IsValidAndHasAllTypes(t *testing.T) {
	a := counting(t)
	a.metrics = a.exposition()
	text, err := json.Marshal(document(a.table()))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context(), openapi3.IsOpenAPI31OrLater()); err != nil {
		t.Error(err)
	}
	sent, ts := typesOf(t, a.table())
	for _, name := range sent.names { // later versions may add fields to responses only
		if _, both := ts.of[name]; both {
			t.Errorf("%s is in requests and in responses", name)
		}
		ts.names, ts.of[name] = append(ts.names, name), sent.of[name]
	}
	for name, one := range doc.Components.Schemas {
		_, closed := sent.of[name]
		if open := one.Value.AdditionalProperties.Has; (open == nil || *open) == closed {
			t.Errorf("%s is closed: %v, want %v", name, !closed, closed)
		}
	}
	if got := slices.Sorted(maps.Keys(doc.Components.Schemas)); !slices.Equal(got, slices.Sorted(slices.Values(ts.names))) {
		t.Errorf("the schemas are %v, want %v", got, ts.names)
	}
	for _, name := range ts.names {
		for _, f := range fieldsOf(ts.of[name]) {
			if f.What == "" {
				t.Errorf("%s.%s has no description: add a doc tag", name, f.Name)
			}
		}
	}
	for _, row := range a.table() {
		if row.what == "" || row.responses == nil {
			t.Errorf("%s %s has no description, or no answer", row.method, row.path)
		}
		if parameters := doc.Paths.Find(row.path).GetOperation(row.method).Parameters; len(parameters) != len(row.query)+strings.Count(row.path, "{") {
			t.Errorf("%s %s has %d parameters", row.method, row.path, len(parameters))
		}
	}
}

func TestDocument_IsLinkedFromThePage(t *testing.T) {
	page, err := pageFiles.ReadFile("page/index.html")
	if err != nil || !strings.Contains(string(page), `href="`+strings.TrimPrefix(documentPath, "/")+`"`) {
		t.Errorf("the page has no link to %s, %v", documentPath, err)
	}
}

func TestDocument_TheParametersOfASearchAreRead(t *testing.T) {
	nothing := searchOf(&query{})
	for _, p := range searched {
		q := &query{values: url.Values{p.name: {"x"}}}
		if s := searchOf(q); q.wrong == "" && reflect.DeepEqual(s, nothing) {
			t.Errorf("%s is documented but not read", p.name)
		}
	}
}

// docs/admin-api.md and openapi.json, which the admin address returns, are made from the table of
// requests. With MOCKSERVER_UPDATE=1 the test writes them.
func TestDocument_TheCommittedCopiesMatchTheAPI(t *testing.T) {
	a := counting(t)
	a.metrics = a.exposition()
	made := httptest.NewRecorder()
	respond(made, http.StatusOK, document(a.table()))
	for file, want := range map[string]string{
		"../../../docs/admin-api.md": manualOf(a.table()),
		"openapi.json":               made.Body.String(),
	} {
		if os.Getenv("MOCKSERVER_UPDATE") != "" {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil || string(got) != want {
			t.Errorf("%s does not match the API (%v); run MOCKSERVER_UPDATE=1 go test -run TestDocument ./listener/control/admin", file, err)
		}
	}
}

// manualOf returns the requests of the API as a page of the manual.
func manualOf(table []route) string {
	var b strings.Builder
	b.WriteString("# The admin API\n\n```console\n$ curl -s 127.0.0.1:8001/__admin/openapi.json > admin.openapi.json\n```\n\n" +
		"This document, which is also in [the source](../listener/control/admin/openapi.json), describes every request and\n" +
		"every field, as OpenAPI 3.1. Documentation tools show it as a page. [Operations](operations.md#the-admin-address) shows\n" +
		"how to use the API.\n\n" +
		"Paths and fields are stable: within a major version they are added, but not removed or changed in meaning. Clients\n" +
		"should ignore fields that they do not know. Times are in UTC (RFC 3339). Durations are in milliseconds unless a field says\n" +
		"otherwise. Fields that are not required are left out when they are empty.\n\n" +
		"## Requests\n\nA body that is not a media type is JSON: a schema of the document. The body of an error is a `Failure`, unless the table\n" +
		"says otherwise.\n\n| request | what | body | response |\n|---|---|---|---|\n")
	for _, row := range table {
		var responses []string
		for _, status := range slices.Sorted(maps.Keys(row.responses)) {
			responses = append(responses, strings.TrimSpace(fmt.Sprint(status, " ", bodyNames(row.responses[status]))))
		}
		target := row.path
		for i, p := range row.query {
			target += map[bool]string{true: "?", false: "&"}[i == 0] + p.name + "="
		}
		fmt.Fprintf(&b, "| `%s %s` | %s | %s | %s |\n", row.method, target, row.what, bodyNames(row.takes), strings.Join(responses, "; "))
	}
	return b.String()
}

// bodyNames returns the media types and the names of the schemas of bodies.
func bodyNames(bodies []any) string {
	var names []string
	for _, value := range bodies {
		name, media := value.(string)
		if reference, named := (schemas{}.of(reflect.TypeOf(value)))["$ref"].(string); named {
			name = path.Base(reference)
		} else if !media {
			name = "object"
		}
		names = append(names, "`"+name+"`")
	}
	return strings.Join(names, ", ")
}
