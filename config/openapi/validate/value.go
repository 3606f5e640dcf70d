package validate

import (
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"mockserver/config/openapi/jsonvalue"
)

// Values holds JSON values, as package jsonvalue has them, against the schemas of a document
// that they are made for. Each schema is compiled when it is first asked. It may be used by many
// goroutines at once.
type Values struct{ schemas *schemas }

// NewValues returns what holds the bodies of requests, or of responses, against schemas.
// What is only for the other direction is required of neither.
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

// Fit reports whether a value satisfies a schema. A lenient answer takes of a oneOf what its
// discriminator names, even if others hold too.
func (vs *Values) Fit(s *openapi3.Schema, v any, lenient bool) bool {
	if compiled := vs.schemas.reference(s).compiled(); isFlat(compiled, v) {
		return compiled.Validate(plain(v)) == nil
	}
	return vs.run(s, v, lenient, true).fits()
}

// isFlat reports whether no keyword of ours, and none that asks another schema, is about a value.
func isFlat(s *jsonschema.Schema, v any) bool {
	switch v.(type) {
	case []any, *jsonvalue.Object:
		return false
	}
	return len(s.Extensions)+len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) == 0 && s.Not == nil && s.If == nil
}

// Mismatch is the first thing that is wrong with a value, after its pointer in the value; ""
// when nothing is.
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

// variants is what a oneOf with a discriminator is for values that are made.
type variants struct {
	from   *schemas
	source *openapi3.Schema
	oneOf  *jsonschema.Schema
}

func (c *schemas) variants(s *openapi3.Schema) variants {
	return variants{c, s, &jsonschema.Schema{DraftVersion: draftVersion, OneOf: c.refs(s.OneOf)}}
}

// Validate is what the validator calls for each value of the schema.
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

// named is the index of the branch that a value of the discriminator names; -1 for none.
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
