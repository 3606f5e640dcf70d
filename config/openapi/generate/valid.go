package generate

import "github.com/getkin/kin-openapi/openapi3"

// validator checks values against schemas during generation. It also checks formats.
type validator struct {
	m       *Maker
	request bool // readOnly properties are never required; if false, this applies to writeOnly ones
	// lenient makes a oneOf with a discriminator accept the branch that the discriminator names,
	// even if other branches match too.
	lenient bool
}

// accepts reports whether a value satisfies a schema.
func (c *validator) accepts(ref *openapi3.SchemaRef, v any) bool {
	return ref == nil || ref.Value == nil || c.m.values[c.request]().Accepts(ref.Value, v, c.lenient)
}

// mismatch returns what is wrong with a value; "" when nothing is.
func (c *validator) mismatch(ref *openapi3.SchemaRef, v any) string {
	if ref == nil || ref.Value == nil {
		return ""
	}
	return c.m.values[c.request]().Mismatch(ref.Value, v, c.lenient)
}

// describing returns the combination of the schemas that describe a value. In each choice, it is the
// first branch that accepts the value.
func (c *validator) describing(v any, refs ...*openapi3.SchemaRef) *merged {
	return c.m.merge(refs, func(n int, branch func(i int) *openapi3.SchemaRef) int {
		for i := range n {
			if c.accepts(branch(i), v) {
				return i
			}
		}
		return 0
	})
}

// propertySchema returns the schema of a property; nil when there is none.
func (c *validator) propertySchema(g *merged, name string) *openapi3.SchemaRef {
	return firstOf(c.m.propertyOf(g.schemas, name).schemas)
}

func firstOf(refs []*openapi3.SchemaRef) *openapi3.SchemaRef {
	if len(refs) == 0 {
		return nil
	}
	return refs[0]
}
