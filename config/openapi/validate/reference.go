package validate

import (
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// reference is what $ref is in the schemas that are compiled: a schema that is compiled
// when it is first asked for, and may lead to itself.
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

// Validate is what the validator calls for each value of the schema.
func (r *reference) Validate(c *jsonschema.ValidatorContext, v any) {
	if run := r.from.runs.of(c); run != nil { // there always is one
		run.follow(c, r.compiled(), v)
	}
}

// referred is the schema that another one refers to; nil for none.
func referred(s *jsonschema.Schema) *jsonschema.Schema {
	for _, extension := range s.Extensions {
		if r, ok := extension.(*reference); ok {
			return r.compiled()
		}
	}
	return nil
}
