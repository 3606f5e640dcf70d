package export

import (
	"strings"

	"mockserver/config"
	"mockserver/config/openapi/tree"
)

// pathForm is a declared path in the form of OpenAPI.
type pathForm struct {
	template string // "/users/{id}"
	params   []pathParam
	rest     bool // the last parameter matches all remaining segments
}

type pathParam struct{ name, typ string }

// formOf returns the path of an endpoint in the form of OpenAPI. Braces in it are literal.
func formOf(e *config.Endpoint) pathForm {
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
			name := s[1:]
			if name == "" {
				name = "rest"
			}
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
func schemaOf(typ string) *tree.Node {
	t := tree.NewMap()
	switch typ = strings.ToLower(typ); typ {
	case "uuid":
		return t.SetText("type", "string").SetText("format", "uuid")
	case "date": // a date or a date-time
		return t.SetText("type", "string").Set("anyOf", tree.NewList(
			tree.NewMap().SetText("format", "date"), tree.NewMap().SetText("format", "date-time")))
	case "float", "double":
		t.SetText("format", typ)
	}
	name := schemas[typ]
	if name == "" {
		name = "string"
	}
	if t.SetText("type", name); name == "array" {
		t.Set("items", tree.NewMap())
	}
	return t
}

// parameters writes the path parameters, named as in the key, and the documented query parameters.
func (x *exporter) parameters(op, item *tree.Node, key string, o *exported) {
	list := op.Get("parameters")
	if list == nil {
		list = tree.NewList()
	}
	had := func(in, name string) bool {
		for _, from := range [][]*tree.Node{list.List(), item.Get("parameters").List()} {
			for _, p := range from {
				if p = x.Resolve(p); p.Get("in").AsText() == in && p.Get("name").AsText() == name {
					return true
				}
			}
		}
		return false
	}
	names := PathNames(key)
	for i, name := range names {
		if had("path", name) {
			continue
		}
		p := tree.NewMap().SetText("name", name).SetText("in", "path").Set("required", tree.NewBool(true))
		if o.path.rest && i == len(names)-1 {
			p.SetText("description", "all that is left of the path, or nothing")
		}
		list.Append(p.Set("schema", schemaOf(o.paramType(len(names)-1-i))))
	}
	for _, e := range o.endpoints {
		for _, q := range e.Doc.Query {
			if !had("query", q.Name) {
				list.Append(tree.NewMap().SetText("name", q.Name).SetText("in", "query").Set("schema", schemaOf(q.Type)))
			}
		}
	}
	if list.Len() > 0 {
		op.Set("parameters", list)
	}
}

// paramType returns the type of a path parameter, counted from the last, if all endpoints use the
// same type for it.
func (o *exported) paramType(fromLast int) string {
	typ := ""
	for i, e := range o.endpoints {
		params := formOf(e).params
		at := len(params) - 1 - fromLast
		if at < 0 || i > 0 && params[at].typ != typ {
			return ""
		}
		typ = params[at].typ
	}
	return typ
}

// requestBody writes the examples of request bodies.
func (x *exporter) requestBody(op *tree.Node, o *exported) {
	if op.Get("requestBody") != nil {
		return
	}
	var examples []*tree.Node
	for _, e := range o.endpoints {
		if e.Doc.Body == "" {
			continue
		}
		if t, err := tree.ParseJSON([]byte(e.Doc.Body)); err == nil {
			examples = append(examples, t)
		}
	}
	if len(examples) == 0 {
		return
	}
	media := tree.NewMap()
	for _, t := range examples {
		addExample(media, t, circumstance{})
	}
	op.Set("requestBody", tree.NewMap().Set("content", tree.NewMap().Set("application/json", media)))
}
