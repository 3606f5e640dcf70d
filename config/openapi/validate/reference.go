package validate

import (
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// reference implements $ref in compiled schemas. The schema is compiled on first use, and may refer
// to itself.
type reference struct {
	from   *schemas
	source *openapi3.Schema
	once   sync.Once
	schema *jsonschema.Schema
}

func (r *reference) compiled() *jsonschema.Schema {
	r.once.Do(func() { r.schema = r.from.schema(r.source) })
	return r.schema
}

// Validate implements the keyword for the validator.
func (r *reference) Validate(c *jsonschema.ValidatorContext, v any) {
	if run := r.from.runs.of(c); run != nil { // there is always a run
		run.follow(c, r.compiled(), v)
	}
}

// referred returns the schema that another one refers to; nil when there is none.
func referred(s *jsonschema.Schema) *jsonschema.Schema {
	for _, extension := range s.Extensions {
		if r, ok := extension.(*reference); ok {
			return r.compiled()
		}
	}
	return s.Ref
}
