package export

import (
	"slices"

	"mockserver/config/syntax"
	"mockserver/internal/secret"
)

// parameters writes the path parameters, named as in the key, and the documented query parameters.
func (x *exporter) parameters(op, item *syntax.Node, key string, o *exported) {
	had := func(in, name string) bool {
		return x.has(slices.Concat(op.Get("parameters").List(), item.Get("parameters").List()), in, name)
	}
	names := pathNames(key)
	for i, name := range names {
		if had("path", name) {
			continue
		}
		p := syntax.NewMap().SetText("name", name).SetText("in", "path").Set("required", syntax.NewBool(true))
		if o.path.rest && i == len(names)-1 {
			p.SetText("description", "all that is left of the path, or nothing")
		}
		listIn(op, "parameters").Append(p.Set("schema", schemaOf(o.paramType(len(names)-1-i))))
	}
	for _, e := range o.endpoints {
		for _, q := range e.Doc.Query {
			if !had("query", q.Name) {
				listIn(op, "parameters").Append(syntax.NewMap().SetText("name", q.Name).SetText("in", "query").Set("schema", schemaOf(q.Type)))
			}
		}
	}
}

// has reports whether one of the parameters has a location and a name.
func (x *exporter) has(parameters []*syntax.Node, in, name string) bool {
	return slices.ContainsFunc(parameters, func(p *syntax.Node) bool {
		p = x.resolve(p)
		return p.Get("in").AsText() == in && p.Get("name").AsText() == name
	})
}

// paramType returns the type of a path parameter, counted from the last, if all endpoints use the
// same type for it; "" otherwise.
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
func (x *exporter) requestBody(op *syntax.Node, o *exported) {
	if op.Get("requestBody") != nil {
		return
	}
	var examples []*syntax.Node
	for _, e := range o.endpoints {
		if e.Doc.Body == "" {
			continue
		}
		if t, err := syntax.ParseJSON([]byte(secret.Text(e.Doc.Body))); err == nil {
			examples = append(examples, t)
		}
	}
	if len(examples) == 0 {
		return
	}
	media := syntax.NewMap()
	for _, t := range examples {
		addExample(media, t, circumstance{})
	}
	op.Set("requestBody", syntax.NewMap().Set("content", syntax.NewMap().Set("application/json", media)))
}
