package validate

import (
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"mockserver/config/openapi/jsonvalue"
)

// Values checks JSON values, as defined in package jsonvalue, against the schemas of the document
// that they are generated for. Each schema is compiled on first use. Values is safe for concurrent
// use.
type Values struct{ schemas *schemas }

// NewValues returns the checks for the bodies of requests or of responses. Properties that are only
// for the other direction are never required.
func NewValues(doc *openapi3.T, exact jsonvalue.Numbers, request bool) *Values {
	use := answered
	if request {
		use = requested
	}
	return &Values{newSchemas(doc, exact, use)}
}

func (vs *Values) run(s *openapi3.Schema, v any, lenient, silent bool) *run {
	v = plain(v)
	r := vs.schemas.runs.begin(v)
	r.lenient, r.silent = lenient, silent
	return r.validate(vs.schemas.reference(s).compiled(), v)
}

// Fit reports whether a value satisfies a schema. If lenient is true, a oneOf accepts the branch
// that its discriminator names, even if other branches match too.
func (vs *Values) Fit(s *openapi3.Schema, v any, lenient bool) bool {
	if compiled := vs.schemas.reference(s).compiled(); isFlat(compiled, v) {
		return compiled.Validate(plain(v)) == nil
	}
	return vs.run(s, v, lenient, true).fits()
}

// isFlat reports whether a value is checked by no keyword of this package and by no nested schema.
func isFlat(s *jsonschema.Schema, v any) bool {
	switch v.(type) {
	case []any, *jsonvalue.Object:
		return false
	}
	return len(s.Extensions)+len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) == 0 && s.Not == nil && s.If == nil
}

// Mismatch returns the first error in a value, preceded by the pointer of its place in the value;
// "" when there is none.
func (vs *Values) Mismatch(s *openapi3.Schema, v any, lenient bool) string {
	if vs.Fit(s, v, lenient) {
		return ""
	}
	var found findings
	found.explain(0, inBody, "", nil, vs.run(s, v, lenient, false))
	verdict := found.verdict()
	if verdict == nil {
		return "does not fit its schema"
	}
	first := verdict.Violations[0]
	if first.Pointer == "" {
		return first.Message
	}
	return first.Pointer + ": " + first.Message
}

// variants implements a oneOf with a discriminator for generated values.
type variants struct {
	from   *schemas
	source *openapi3.Schema
	oneOf  *jsonschema.Schema
}

func (c *schemas) variants(s *openapi3.Schema) variants {
	return variants{c, s, &jsonschema.Schema{DraftVersion: draftVersion, OneOf: c.refs(s.OneOf)}}
}

// Validate implements the keyword for the validator.
func (k variants) Validate(c *jsonschema.ValidatorContext, v any) {
	s := k.oneOf
	if r := k.from.runs.of(c); r != nil && r.lenient {
		object, _ := v.(map[string]any)
		name, _ := object[k.source.Discriminator.PropertyName].(string)
		if i := k.named(name); i >= 0 {
			s = s.OneOf[i]
		}
	}
	if err := c.Validate(s, v, nil); err != nil {
		c.AddErr(err)
	}
}

// named returns the index of the branch that a discriminator value names; -1 when there is none.
func (k variants) named(value string) int {
	if mapped, ok := k.source.Discriminator.Mapping[value]; ok {
		value = lastToken(mapped.Ref)
	}
	for i, r := range k.source.OneOf {
		if r.Ref != "" && lastToken(r.Ref) == value {
			return i
		}
	}
	return -1
}
