package validate

import "github.com/santhosh-tekuri/jsonschema/v6"

// refKeyword is what $ref is in the schemas that are compiled. With its own the validator
// compiles all that a schema leads to at once, and seeks through all of that for each
// part: in a document of 10 MB, which is one large circle, that takes longer than
// everything else.
const refKeyword = "x-ref"

// reference is that keyword, compiled: a schema that is compiled later.
type reference struct {
	name   string
	schema *jsonschema.Schema // nil when it cannot be compiled
	runs   *runs
}

// references are those that were met.
type references struct {
	known   map[string]*reference
	pending []*reference // whose schema is to be compiled
	runs    *runs
}

func (rs *references) compile(_ *jsonschema.CompilerContext, schema map[string]any) (jsonschema.SchemaExt, error) {
	name, ok := schema[refKeyword].(string)
	if !ok {
		return nil, nil // that tells the validator that there is none
	}
	r := rs.known[name]
	if r == nil {
		r = &reference{name: name, runs: rs.runs}
		rs.known[name] = r
		rs.pending = append(rs.pending, r)
	}
	return r, nil
}

// Validate is what the validator calls for each value of the schema.
func (r *reference) Validate(c *jsonschema.ValidatorContext, v any) {
	if r.schema == nil {
		return
	}
	if run := r.runs.of(c); run != nil { // there always is one
		run.follow(c, r.schema, v)
	}
}

// referred is the schema that another one refers to; nil for none.
func referred(s *jsonschema.Schema) *jsonschema.Schema {
	for _, extension := range s.Extensions {
		if r, ok := extension.(*reference); ok {
			return r.schema
		}
	}
	return nil
}
