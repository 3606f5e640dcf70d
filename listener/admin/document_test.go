package admin

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/internal/histogram"
	"mockserver/listener/admin/schema"
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
		name := schema.Name(kind)
		before, known := ts.of[name]
		if known && before != kind {
			t.Errorf("%v and %v are both called %s", before, kind, name)
		}
		if known || kind.PkgPath() == "time" {
			return
		}
		ts.names, ts.of[name] = append(ts.names, name), kind
		for _, f := range schema.Fields(kind) {
			ts.add(t, f.Type)
		}
	}
}

func typesOf(t *testing.T, table []route) types {
	t.Helper()
	ts := types{of: map[string]reflect.Type{}}
	ts.add(t, reflect.TypeFor[failure]())
	for _, row := range table {
		bodies := slices.Clone(row.takes)
		for _, status := range slices.Sorted(maps.Keys(row.answers)) {
			bodies = append(bodies, row.answers[status]...)
		}
		for _, value := range bodies {
			ts.add(t, reflect.TypeOf(value))
		}
	}
	return ts
}

func TestDocument_IsValidAndHasAllTypes(t *testing.T) {
	a := counting(t)
	a.metrics = a.exposition()
	text, err := json.Marshal(a.document())
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
	ts := typesOf(t, a.table())
	if got := slices.Sorted(maps.Keys(doc.Components.Schemas)); !slices.Equal(got, slices.Sorted(slices.Values(ts.names))) {
		t.Errorf("the schemas are %v, want %v", got, ts.names)
	}
	for _, name := range ts.names {
		for _, f := range schema.Fields(ts.of[name]) {
			if f.What == "" {
				t.Errorf("%s.%s has no description: add a doc tag", name, f.Name)
			}
		}
	}
	for _, row := range a.table() {
		if row.what == "" || row.answers == nil {
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

// docs/admin-api.md is generated from the same table and types as the document. With
// MOCKSERVER_UPDATE=1 the test writes it.
func TestDocument_TheManualHasEveryField(t *testing.T) {
	const file = "../../docs/admin-api.md"
	a := counting(t)
	a.metrics = a.exposition()
	want := manualOf(t, a.table())
	if os.Getenv("MOCKSERVER_UPDATE") != "" {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != want {
		t.Errorf("docs/admin-api.md does not match the API (%v); run MOCKSERVER_UPDATE=1 go test -run TestDocument ./listener/admin", err)
	}
}

// manualOf returns the API as a page of the manual.
func manualOf(t *testing.T, table []route) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Fields of the admin API\n\n```console\n$ curl -s 127.0.0.1:8001/__admin/openapi.json > admin.openapi.json\n```\n\n" +
		"This document describes the same for tools, as OpenAPI 3.1. [Operations](operations.md#the-admin-address) shows how to use\nthe API.\n\n" +
		"Paths and fields are stable: within a major version they are added, but not removed or changed in meaning. Clients should\n" +
		"ignore fields that they do not know. Times are in UTC (RFC 3339). Durations are in milliseconds unless a field says\n" +
		"otherwise. \"Optional\" fields are left out when they are empty. The body of an error is a\n" +
		"[Failure](#failure), unless the table says otherwise.\n\n" +
		"## Requests\n\n| request | what | body | response |\n|---|---|---|---|\n")
	for _, row := range table {
		var answers, takes []string
		for _, status := range slices.Sorted(maps.Keys(row.answers)) {
			answers = append(answers, strings.TrimSpace(fmt.Sprint(status, " ", strings.Join(linksTo(row.answers[status]), ", "))))
		}
		takes = linksTo(row.takes)
		path := row.path
		for i, p := range row.query {
			path += map[bool]string{true: "?", false: "&"}[i == 0] + p.name + "="
		}
		fmt.Fprintf(&b, "| `%s %s` | %s | %s | %s |\n", row.method, path, row.what, strings.Join(takes, ", "), strings.Join(answers, "; "))
	}
	ts := typesOf(t, table)
	for _, name := range ts.names {
		fmt.Fprintf(&b, "\n## %s\n\n| field | type | what |\n|---|---|---|\n", name)
		for _, f := range schema.Fields(ts.of[name]) {
			kind := linkTo(f.Type)
			if f.Optional {
				kind += ", optional"
			} else if f.Type.Kind() == reflect.Pointer {
				kind += " or null"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Name, kind, f.What)
		}
	}
	return b.String()
}

func linksTo(bodies []any) (links []string) {
	for _, value := range bodies {
		if media, ok := value.(string); ok {
			links = append(links, "`"+media+"`")
		} else {
			links = append(links, linkTo(reflect.TypeOf(value)))
		}
	}
	return links
}

// linkTo returns the name of a type, with a link to its description.
func linkTo(kind reflect.Type) string {
	one := schema.Set{}.Of(kind)
	switch {
	case one["$ref"] != nil:
		name := schema.Name(deref(kind))
		return "[" + name + "](#" + strings.ToLower(name) + ")"
	case one["type"] == "array":
		return "list of " + linkTo(deref(kind).Elem())
	case one["type"] == "object" && kind.Elem().Kind() != reflect.Interface:
		return "object of " + linkTo(kind.Elem())
	case one["format"] == "date-time":
		return "time"
	case one["contentEncoding"] != nil:
		return "[histogram](fleet.md#raw-histograms)"
	}
	return fmt.Sprint(one["type"])
}

func deref(kind reflect.Type) reflect.Type {
	if kind.Kind() == reflect.Pointer {
		return kind.Elem()
	}
	return kind
}
