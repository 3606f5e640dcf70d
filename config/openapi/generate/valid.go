package generate

import (
	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/openapi/validate"
)

// validator checks values against schemas during generation. It also checks formats.
type validator struct {
	m       *Maker
	request bool // readOnly properties are never required; if false, this applies to writeOnly ones
	// lenient makes a oneOf with a discriminator accept the branch that the discriminator names,
	// even if other branches match too.
	lenient bool
}

// deepestSchema stops infinite recursion.
const deepestSchema = 200

// values returns the compiled schemas for a direction.
func (m *Maker) values(request bool) *validate.Values {
	way := &m.ways[0]
	if request {
		way = &m.ways[1]
	}
	way.once.Do(func() { way.values = validate.NewValues(m.doc, m.Numbers, request) })
	return way.values
}

// accepts reports whether a value satisfies a schema.
func (c *validator) accepts(ref *openapi3.SchemaRef, v any) bool {
	return ref == nil || ref.Value == nil || c.m.values(c.request).Accepts(ref.Value, v, c.lenient)
}

// mismatch returns what is wrong with a value; "" when nothing is.
func (c *validator) mismatch(ref *openapi3.SchemaRef, v any) string {
	if ref == nil || ref.Value == nil {
		return ""
	}
	return c.m.values(c.request).Mismatch(ref.Value, v, c.lenient)
}

// holding returns the schemas within s that apply to the same value v. Of anyOf and oneOf, these
// are the branches that accept v.
func (c *validator) holding(s *openapi3.Schema, v any) []*openapi3.SchemaRef {
	var all []*openapi3.SchemaRef
	add := func(ref *openapi3.SchemaRef, checked bool) {
		if ref != nil && ref.Value != nil && (!checked || c.accepts(ref, v)) {
			all = append(all, ref)
		}
	}
	for _, ref := range s.AllOf {
		add(ref, false)
	}
	for _, branches := range []openapi3.SchemaRefs{s.AnyOf, s.OneOf} {
		for _, ref := range branches {
			add(ref, true)
		}
	}
	if s.If != nil {
		if c.accepts(s.If, v) {
			add(s.If, false)
			add(s.Then, false)
		} else {
			add(s.Else, false)
		}
	}
	if o, ok := v.(*jsonvalue.Object); ok {
		for _, name := range jsonvalue.SortedNames(s.DependentSchemas) {
			if _, ok := o.Get(name); ok {
				add(s.DependentSchemas[name], false)
			}
		}
	}
	return all
}
