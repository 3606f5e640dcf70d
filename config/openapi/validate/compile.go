package validate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/internal/list"
)

// Kinds of warnings that can occur many times in one document.
const (
	manyUnchecked  = "rules that requests are not checked against"
	manyUndeclared = "security schemes are not declared; requests are not checked against them"
)

// Compiler compiles the request checks for the operations of a document. Each document needs its
// own Compiler: call Add for each operation, then Finish.
type Compiler struct {
	doc     *openapi3.T
	schemas *schemas
	forms   forms
	// warn receives a warning about something that requests cannot be checked against, with its
	// kind and the JSON pointer of its place in the document.
	warn func(kind, pointer, what string)
}

// New returns a Compiler for a document whose references are resolved. exact contains the numbers
// of which the document itself has only approximate values.
func New(doc *openapi3.T, exact jsonvalue.Numbers, warn func(kind, pointer, what string)) *Compiler {
	c := &Compiler{doc: doc, warn: warn, schemas: newSchemas(doc, exact, received)}
	c.schemas.warn = func(what string) { warn(manyUnchecked, "#", what) }
	c.forms = forms{map[*schema]*form{}, c.schemas}
	return c
}

// Add compiles the checks of an operation. path includes the base path; pointer is the operation's
// JSON pointer in the document. Parts that cannot be compiled cause a warning, and requests are
// checked against the rest. The checks can be used after Finish.
func (c *Compiler) Add(path, pointer string, item *openapi3.PathItem, source *openapi3.Operation) *Checks {
	checks := &Checks{path: parsePath(path), security: c.security(source, pointer), named: map[string]bool{}}
	for _, p := range ParametersOf(item, source) {
		if compiled, ok := c.parameter(p, pointer); ok {
			checks.parameters = append(checks.parameters, compiled)
			checks.named[p.Name] = checks.named[p.Name] || p.In == inQuery
		}
	}
	if b := source.RequestBody; b != nil && b.Value != nil {
		checks.body = c.body(b.Value)
	}
	return checks
}

// Finish compiles the schemas that the added operations refer to, so that no request has to wait.
func (c *Compiler) Finish() { c.schemas.finish() }

// ParametersOf returns the parameters of an operation, including those of its path. A parameter of
// the operation overrides one of the path with the same name and location.
func ParametersOf(item *openapi3.PathItem, op *openapi3.Operation) []*openapi3.Parameter {
	var all []*openapi3.Parameter
	add := func(list openapi3.Parameters) {
		for _, ref := range list {
			if p := ref.Value; p != nil {
				all = slices.DeleteFunc(all, func(q *openapi3.Parameter) bool { return q.In == p.In && q.Name == p.Name })
				all = append(all, p)
			}
		}
	}
	if item != nil {
		add(item.Parameters)
	}
	add(op.Parameters)
	return all
}

// SchemaOf returns the schema of a parameter or of its content; nil when there is none.
func SchemaOf(p *openapi3.Parameter) *openapi3.Schema {
	ref := p.Schema
	for _, m := range p.Content {
		if ref == nil {
			ref = m.Schema
		}
	}
	if ref == nil {
		return nil
	}
	return ref.Value
}

// formOf returns the form of a schema; nil when there is none.
func (c *Compiler) formOf(s *openapi3.Schema) *form {
	if s == nil {
		return nil
	}
	return c.forms.of(c.schemas.reference(s)())
}

// parameter compiles a parameter. It returns false for headers that OpenAPI does not treat as
// parameters, because they have keys of their own, and, with a warning, for an invalid style.
func (c *Compiler) parameter(source *openapi3.Parameter, pointer string) (parameter, bool) {
	name := strings.ToLower(source.Name)
	if source.In == inHeader && (name == "accept" || name == "content-type" || name == "authorization") {
		return parameter{}, false
	}
	p := parameter{
		in: source.In, name: source.Name, pointer: below("/"+source.In, pointerName(source.In, source.Name)),
		required: source.Required, allowEmpty: source.AllowEmptyValue, reserved: source.AllowReserved,
	}
	method, err := source.SerializationMethod()
	if err != nil {
		c.warn(manyUnchecked, pointer, "requests are not checked against a parameter: "+err.Error())
		return parameter{}, false
	}
	p.style, p.explode = method.Style, method.Explode
	for name := range source.Content {
		p.json = jsonvalue.IsJSON(jsonvalue.BaseType(name))
	}
	if len(source.Content) == 0 || p.json {
		p.form = c.formOf(SchemaOf(source))
	}
	return p, true
}

// pointerName returns a name as used in the pointer of a violation. Header names are in lower case,
// because they are case-insensitive.
func pointerName(in, name string) string {
	if in == inHeader {
		return strings.ToLower(name)
	}
	return name
}

func (c *Compiler) body(source *openapi3.RequestBody) *body {
	b := &body{required: source.Required}
	for names, m := range source.Content {
		for name := range strings.SplitSeq(names, ",") {
			name, _, _ = strings.Cut(strings.ToLower(name), ";")
			compiled := media{name: strings.TrimSpace(name)}
			if m.Schema != nil {
				compiled.form = c.formOf(m.Schema.Value)
			}
			compiled.properties = propertiesOf(compiled.form, m.Encoding)
			b.media = append(b.media, compiled)
		}
	}
	slices.SortFunc(b.media, func(x, y media) int {
		return cmp.Or(strings.Count(x.name, "*")-strings.Count(y.name, "*"), strings.Compare(x.name, y.name))
	})
	b.accepts = strings.Join(list.Map(b.media, func(m media) string { return m.name }), ", ")
	return b
}

// propertiesOf returns the properties of a form as parameters, by name.
func propertiesOf(f *form, encodings map[string]*openapi3.Encoding) map[string]*parameter {
	if f == nil {
		return nil
	}
	all := make(map[string]*parameter, len(f.properties))
	for name, property := range f.properties {
		encoding := encodings[name]
		method := encoding.SerializationMethod()
		p := &parameter{in: inBody, name: name, pointer: below(bodyPointer, name), style: method.Style, explode: method.Explode, form: property}
		if encoding != nil {
			p.media = encoding.ContentType
		}
		all[name] = p
	}
	return all
}
