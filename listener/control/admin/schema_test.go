package admin

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"

	"mockserver/internal/histogram"
)

// jsonField is a member of the JSON encoding of a struct.
type jsonField struct {
	Name, What string
	Type       reflect.Type
	Optional   bool // omitted if empty
}

// fieldsOf returns the JSON members of a struct, including those of embedded structs.
func fieldsOf(t reflect.Type) []jsonField {
	var fields []jsonField
	for _, f := range reflect.VisibleFields(t) {
		if name, options, tagged := strings.Cut(f.Tag.Get("json"), ","); f.IsExported() && name != "" && name != "-" {
			fields = append(fields, jsonField{name, f.Tag.Get("doc"), f.Type, tagged && (strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero"))})
		}
	}
	return fields
}

// object is a JSON object.
type object = map[string]any

// schemas contains the schemas of structs, keyed by their names in the document.
type schemas map[string]any

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

// close forbids unknown fields in the schema of a request body, as the server does, and in those to
// which it refers. Later versions may add fields to responses.
func (s schemas) close(t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		s.close(t.Elem())
	case reflect.Struct:
		if one, open := s[schemaName(t)].(object); open && one["additionalProperties"] == nil {
			one["additionalProperties"] = false
			for _, f := range fieldsOf(t) {
				s.close(f.Type)
			}
		}
	}
}

// ofStruct returns the schema of a struct.
func (s schemas) ofStruct(t reflect.Type) object {
	properties, required := object{}, []string{}
	for _, f := range fieldsOf(t) {
		one := s.of(f.Type)
		if f.Type.Kind() == reflect.Pointer && !f.Optional {
			one = object{"anyOf": []object{one, {"type": "null"}}}
		}
		one["description"] = f.What
		properties[f.Name] = one
		if !f.Optional {
			required = append(required, f.Name)
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

// document builds the OpenAPI document from the table of requests. Schemas are derived from the
// types that are encoded, so the document contains every field of the responses.
func document(table []route) object {
	s := schemas{}
	paths := map[string]object{}
	for _, row := range table {
		if paths[row.path] == nil {
			paths[row.path] = object{}
		}
		paths[row.path][strings.ToLower(row.method)] = operation(s, &row)
	}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "mockserver admin API", "version": "dev",
			"description": "Durations are in milliseconds unless a field says otherwise; times are in UTC. Fields and paths are stable: within a major version they are added, but not removed or changed in meaning.",
		},
		"paths": paths,
		"components": object{
			"schemas":         s,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer", "description": "the token of --admin-token; not needed if none is set and the address is on loopback"}},
		},
	}
}

// operation describes one request.
func operation(s schemas, row *route) object {
	parameters := []object{}
	for _, part := range strings.Split(row.path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			parameters = append(parameters, object{"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": object{"type": "string"}})
		}
	}
	for _, p := range row.query {
		parameters = append(parameters, object{"name": p.name, "in": "query", "description": p.what, "schema": object{"type": p.kind}})
	}
	responses := object{"default": object{"description": "an error", "content": s.contents([]any{failure{}})}}
	for status, values := range row.responses {
		one := object{"description": http.StatusText(status)}
		if len(values) > 0 {
			one["content"] = s.contents(values)
		}
		responses[strconv.Itoa(status)] = one
	}
	o := object{"operationId": operationID(row), "summary": row.what, "responses": responses}
	if len(parameters) > 0 {
		o["parameters"] = parameters
	}
	if len(row.takes) > 0 {
		o["requestBody"] = object{"content": s.contents(row.takes)}
		for _, body := range row.takes {
			s.close(reflect.TypeOf(body))
		}
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
