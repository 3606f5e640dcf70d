package admin

import (
	"cmp"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"

	"mockserver/internal/histogram"
)

// Paths at which the API describes itself, as a list and as an OpenAPI document.
const (
	indexPath    = "/__admin/"
	documentPath = "/__admin/openapi.json"
)

// index lists the requests of the API.
type index struct {
	OpenAPI  string       `json:"openapi" doc:"path of the OpenAPI document of the API"`
	Requests []indexEntry `json:"requests" doc:"all requests of the API"`
}

// indexEntry is one request.
type indexEntry struct {
	Method string `json:"method" doc:"method of the request"`
	Path   string `json:"path" doc:"path of the request; {id} and the like stand for an ID or a name"`
	What   string `json:"what" doc:"what the request does, in one line"`
}

// showIndex returns the list of all requests.
func (a *Admin) showIndex(w http.ResponseWriter, _ *http.Request) {
	list := index{OpenAPI: documentPath}
	for _, row := range a.table() {
		list.Requests = append(list.Requests, indexEntry{row.method, row.path, row.what})
	}
	answer(w, http.StatusOK, list)
}

// showDocument returns the OpenAPI document of the admin API.
func (a *Admin) showDocument(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, a.document())
}

// object is a JSON object in the document.
type object = map[string]any

// document builds the OpenAPI document from the table of requests. Schemas are derived from the
// types that are encoded, so the document contains every field of the responses.
func (a *Admin) document() object {
	s := schemas{}
	paths := map[string]object{}
	for _, row := range a.table() {
		if paths[row.path] == nil {
			paths[row.path] = object{}
		}
		paths[row.path][strings.ToLower(row.method)] = s.operation(&row)
	}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "mockserver admin API", "version": cmp.Or(a.opts.Build.Version, "dev"),
			"description": "Durations are in milliseconds unless a field says otherwise; times are in UTC. Fields and paths are stable: within a major version they are added, but not removed or changed in meaning.",
		},
		"paths": paths,
		"components": object{
			"schemas":         s,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer", "description": "the token of --admin-token; not needed if none is set and the address is on loopback"}},
		},
	}
}

// schemas contains the schemas of types, keyed by their names in the document.
type schemas map[string]any

// operation describes one request.
func (s schemas) operation(row *route) object {
	parameters := []object{}
	for _, part := range strings.Split(row.path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			parameters = append(parameters, object{"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": object{"type": "string"}})
		}
	}
	for _, p := range row.query {
		parameters = append(parameters, object{"name": p.name, "in": "query", "description": p.what, "schema": object{"type": p.kind}})
	}
	answers := object{"default": object{"description": "an error", "content": s.contents([]any{failure{}})}}
	for status, values := range row.answers {
		one := object{"description": http.StatusText(status)}
		if len(values) > 0 {
			one["content"] = s.contents(values)
		}
		answers[strconv.Itoa(status)] = one
	}
	o := object{"operationId": operationID(row), "summary": row.what, "responses": answers}
	if len(parameters) > 0 {
		o["parameters"] = parameters
	}
	if len(row.takes) > 0 {
		o["requestBody"] = object{"content": s.contents(row.takes)}
		s.close(row.takes)
	}
	if row.asks == withToken {
		o["security"] = []object{{"token": []string{}}, {}}
	}
	return o
}

// operationID names a request: "GET /__admin/runs/{id}" becomes getRunsId.
func operationID(row *route) string {
	id := strings.ToLower(row.method)
	words := strings.FieldsFunc(strings.TrimPrefix(row.path, "/__admin"), func(r rune) bool { return !unicode.IsLetter(r) })
	if len(words) == 0 {
		words = []string{"index"}
	}
	for _, word := range words {
		id += strings.ToUpper(word[:1]) + word[1:]
	}
	return id
}

// contents describes bodies. A string is the name of a media type; any other value stands for a
// JSON body of its type.
func (s schemas) contents(values []any) object {
	contents := object{}
	for _, value := range values {
		if media, ok := value.(string); ok {
			contents[media] = object{}
		} else {
			contents["application/json"] = object{"schema": s.of(reflect.TypeOf(value))}
		}
	}
	return contents
}

// of returns the schema of a type. For a struct that is encoded as an object, this is a reference
// to a schema in s, which of adds if it is missing.
func (s schemas) of(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[histogram.Snapshot]():
		return object{"type": "string", "contentEncoding": "base64"}
	case t.Kind() == reflect.Struct:
		name := schemaName(t)
		if _, done := s[name]; !done {
			s[name] = nil // a type may contain itself
			s[name] = s.ofStruct(t)
		}
		return object{"$ref": "#/components/schemas/" + name}
	case t == reflect.TypeFor[json.RawMessage](): // a row, whatever is in it
		return object{"type": "object"}
	case t.Kind() == reflect.Slice:
		return object{"type": "array", "items": s.of(t.Elem())}
	case t.Kind() == reflect.Array:
		return object{"type": "array", "items": s.of(t.Elem()), "minItems": t.Len(), "maxItems": t.Len()}
	case t.Kind() == reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case t.Kind() == reflect.Pointer:
		return s.of(t.Elem())
	case t.Kind() == reflect.Interface:
		return object{}
	case t.Kind() == reflect.Bool:
		return object{"type": "boolean"}
	case t.Kind() == reflect.String:
		return object{"type": "string"}
	case t.Kind() == reflect.Float64:
		return object{"type": "number"}
	}
	return object{"type": "integer"}
}

// close forbids unknown fields at the top level of request bodies; the server refuses them
// everywhere. Later versions may add fields to responses.
func (s schemas) close(bodies []any) {
	for _, body := range bodies {
		if t := reflect.TypeOf(body); t.Kind() == reflect.Struct {
			s[schemaName(t)].(object)["additionalProperties"] = false
		}
	}
}

// ofStruct returns the schema of a struct.
func (s schemas) ofStruct(t reflect.Type) object {
	properties, required := object{}, []string{}
	for _, f := range jsonFields(t) {
		one := s.of(f.kind)
		if f.kind.Kind() == reflect.Pointer && !f.optional {
			one = object{"anyOf": []object{one, {"type": "null"}}}
		}
		one["description"] = f.what
		properties[f.name] = one
		if !f.optional {
			required = append(required, f.name)
		}
	}
	o := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}

// schemaName returns the name of a type in the document: shownEndpoint becomes Endpoint.
func schemaName(t reflect.Type) string {
	name := strings.TrimPrefix(t.Name(), "shown")
	return strings.ToUpper(name[:1]) + name[1:]
}
