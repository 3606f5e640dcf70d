package openapi

import (
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/generate"
	"mockserver/config/openapi/validate"
)

// ask finds the members of the default answer's body that have the values of path parameters, and
// sets o.Bound and o.Template. It sets neither if the body is not generated or cannot become a
// template.
func (o *Operation) ask(form *pathForm, declared []*openapi3.Parameter) {
	if o.Default >= len(o.Responses) || len(form.names) == 0 {
		return
	}
	a := &o.Responses[o.Default]
	tags := func(text string) bool { return strings.Contains(text, "{{") || strings.Contains(text, "{%") }
	switch {
	case a.generated == nil, slices.ContainsFunc(form.names, func(name string) bool { return !plainText(name) }),
		tags(string(a.Body)), slices.ContainsFunc(a.Headers, func(h Header) bool { return tags(h.Value) }),
		// Such a URL has the value of the body from when the document was read.
		slices.ContainsFunc(o.Callbacks, func(cb Callback) bool { return strings.Contains(cb.URL, "$response.body") }):
		return
	}
	if o.Bound = a.generated.Bind(a.Body, form.parameters(declared)); o.Bound == nil {
		return
	}
	o.Template = o.Bound.Template(a.Body, func(i int) string { return "path-params[" + strconv.Quote(form.names[i]) + "]" })
}

// parameters returns the parameters of a path in their order, with the schemas that declared has
// for them.
func (f *pathForm) parameters(declared []*openapi3.Parameter) []generate.PathParameter {
	all := make([]generate.PathParameter, len(f.names))
	for i, name := range f.names {
		all[i].Name = name
		for _, p := range declared {
			if p.In == openapi3.ParameterInPath && p.Name == name {
				all[i].Schema = validate.SchemaOf(p)
			}
		}
	}
	segments := strings.Split(f.plain, "/") // at least two: a path begins with a slash
	if i, last := len(all)-1, len(segments)-1; i >= 0 && strings.HasPrefix(segments[last], "{"+all[i].Name+"}") {
		all[i].Object = segments[last-1]
	}
	return all
}
