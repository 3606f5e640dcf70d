package schema

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"mockserver/internal/histogram"
)

// object is a JSON object.
type object = map[string]any

// Set contains the schemas of structs, keyed by their names in the document.
type Set map[string]any

// Contents describes bodies. A string is the name of a media type; any other value stands for a
// JSON body of its type.
func (s Set) Contents(values []any) object {
	contents := object{}
	for _, value := range values {
		if media, ok := value.(string); ok {
			contents[media] = object{}
		} else {
			contents["application/json"] = object{"schema": s.Of(reflect.TypeOf(value))}
		}
	}
	return contents
}

// Of returns the schema of a type. For a struct that is encoded as an object, this is a reference
// to a schema in s, which Of adds if it is missing.
func (s Set) Of(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[histogram.Snapshot]():
		return object{"type": "string", "contentEncoding": "base64"}
	case t.Kind() == reflect.Struct:
		name := Name(t)
		if _, done := s[name]; !done {
			s[name] = nil // a type may contain itself
			s[name] = s.ofStruct(t)
		}
		return object{"$ref": "#/components/schemas/" + name}
	case t == reflect.TypeFor[json.RawMessage](): // a row, whatever is in it
		return object{"type": "object"}
	case t.Kind() == reflect.Slice:
		return object{"type": "array", "items": s.Of(t.Elem())}
	case t.Kind() == reflect.Array:
		return object{"type": "array", "items": s.Of(t.Elem()), "minItems": t.Len(), "maxItems": t.Len()}
	case t.Kind() == reflect.Map:
		return object{"type": "object", "additionalProperties": s.Of(t.Elem())}
	case t.Kind() == reflect.Pointer:
		return s.Of(t.Elem())
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

// Close forbids unknown fields in the schema of a request body, as the server does, and in those to
// which it refers. Later versions may add fields to responses.
func (s Set) Close(t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		s.Close(t.Elem())
	case reflect.Struct:
		if one, open := s[Name(t)].(object); open && one["additionalProperties"] == nil {
			one["additionalProperties"] = false
			for _, f := range Fields(t) {
				s.Close(f.Type)
			}
		}
	}
}

// ofStruct returns the schema of a struct.
func (s Set) ofStruct(t reflect.Type) object {
	properties, required := object{}, []string{}
	for _, f := range Fields(t) {
		one := s.Of(f.Type)
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

// Name returns the name of a type in the document: shownEndpoint becomes Endpoint.
func Name(t reflect.Type) string {
	name := strings.TrimPrefix(t.Name(), "shown")
	return strings.ToUpper(name[:1]) + name[1:]
}
