package validate

import (
	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
)

// Values checks JSON values, as defined in package jsonvalue, against the schemas of the document
// that they are generated for. Each schema is compiled on first use. Values is safe for concurrent
// use.
type Values struct{ schemas *schemas }

// NewValues returns the checks for the bodies of requests or of responses. Properties that are only
// for the other direction are never required.
func NewValues(doc *openapi3.T, exact jsonvalue.Numbers, request bool) *Values {
	use := generated
	if request {
		use = requested
	}
	return &Values{newSchemas(doc, exact, use)}
}

func (vs *Values) run(s *openapi3.Schema, v any, lenient, silent bool) *run {
	v = plain(v)
	r := vs.schemas.begin(v)
	r.lenient, r.silent = lenient, silent
	return r.validate(vs.schemas.reference(s)(), v)
}

// Accepts reports whether a value satisfies a schema. If lenient is true, a oneOf accepts the branch
// that its discriminator names, even if other branches match too.
func (vs *Values) Accepts(s *openapi3.Schema, v any, lenient bool) bool {
	return vs.run(s, v, lenient, true).ok()
}

// Mismatch returns the first error in a value, preceded by the pointer of its place in the value;
// "" when there is none.
func (vs *Values) Mismatch(s *openapi3.Schema, v any, lenient bool) string {
	var found findings
	found.explain(0, inBody, "", nil, vs.run(s, v, lenient, false))
	verdict := found.verdict()
	if verdict == nil {
		return ""
	}
	first := verdict.Violations[0]
	if first.Pointer == "" {
		return first.Message
	}
	return first.Pointer + ": " + first.Message
}
