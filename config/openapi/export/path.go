package export

import (
	"cmp"
	"strings"

	"mockserver/config/item"
	"mockserver/config/syntax"
)

// pathForm is a declared path in the form of OpenAPI.
type pathForm struct {
	template string // "/users/{id}"
	params   []pathParam
	rest     bool // the last parameter matches all remaining segments
}

type pathParam struct{ name, typ string }

// formOf returns the path of an endpoint in the form of OpenAPI. Braces in a declared path are
// literal.
func formOf(e *item.Endpoint) pathForm {
	if e.Operation != nil {
		return pathForm{template: trimmed(e.Operation.Path)}
	}
	text, _, _ := strings.Cut(e.Path.Value, "?")
	segments := strings.Split(strings.TrimPrefix(trimmed(text), "/"), "/")
	var p pathForm
	for i, s := range segments {
		switch {
		case strings.HasPrefix(s, ":"):
			name, typ, _ := strings.Cut(s[1:], "|")
			p.params = append(p.params, pathParam{name, typ})
			s = "{" + name + "}"
		case strings.HasPrefix(s, "*") && i == len(segments)-1:
			name := cmp.Or(s[1:], "rest")
			p.params, p.rest = append(p.params, pathParam{name: name}), true
			s = "{" + name + "}"
		default:
			s = strings.NewReplacer("{", "%7B", "}", "%7D").Replace(s)
		}
		segments[i] = s
	}
	p.template = "/" + strings.Join(segments, "/")
	return p
}

// trimmed returns a path without a trailing slash.
func trimmed(path string) string {
	if len(path) > 1 {
		return strings.TrimSuffix(path, "/")
	}
	return path
}

// schemas maps parameter types to schema types, except those that need more than a type.
var schemas = map[string]string{
	"int": "integer", "integer": "integer", "float": "number", "double": "number", "number": "number",
	"bool": "boolean", "boolean": "boolean", "array": "array", "list": "array",
}

// schemaOf returns the schema for the type of a parameter. An unknown type is a string.
func schemaOf(typ string) *syntax.Node {
	t := syntax.NewMap()
	switch typ = strings.ToLower(typ); typ {
	case "uuid":
		return t.SetText("type", "string").SetText("format", "uuid")
	case "date": // a date or a date-time
		return t.SetText("type", "string").Set("anyOf", syntax.NewList(
			syntax.NewMap().SetText("format", "date"), syntax.NewMap().SetText("format", "date-time")))
	case "float", "double":
		t.SetText("format", typ)
	}
	name := cmp.Or(schemas[typ], "string")
	if t.SetText("type", name); name == "array" {
		t.Set("items", syntax.NewMap())
	}
	return t
}
