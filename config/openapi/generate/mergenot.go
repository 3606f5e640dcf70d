package generate

import (
	"slices"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
)

// addNot makes the values of the merged schemas violate a schema in one of the possible ways. The
// way is a choice, like the choice of a branch. For keywords that have no opposite, such as pattern,
// values are generated until one violates the schema.
func (g *merger) addNot(s *openapi3.Schema) {
	g.hard = true
	if s.Always != nil {
		g.never = g.never || *s.Always
		return
	}
	if slices.Contains(g.negated, s) {
		return
	}
	g.negated = append(g.negated, s)
	ways := slices.DeleteFunc(slices.Clone(g.m.opposites(s)), func(ref *openapi3.SchemaRef) bool {
		possible := kinds(0)
		for _, name := range ref.Value.Type.Slice() {
			possible |= kindOf(name)
		}
		return possible != 0 && possible&g.kinds == 0
	})
	if len(ways) > 0 {
		g.add(ways[g.pick(len(ways))], false)
	}
}

// opposites returns schemas for the values that violate a schema: one for each keyword that can be
// violated on purpose. They are built once.
func (m *Maker) opposites(s *openapi3.Schema) []*openapi3.SchemaRef {
	known, ok := m.negations.Load(s)
	if !ok {
		var o opposites
		o.ofType(s, m.nullable(s))
		o.ofBounds(s)
		o.ofParts(s)
		known, _ = m.negations.LoadOrStore(s, o)
	}
	return known.(opposites)
}

type opposites []*openapi3.SchemaRef

// add adds a schema for values of the named types; none for any type.
func (o *opposites) add(s openapi3.Schema, types ...string) {
	if len(types) > 0 {
		s.Type = (*openapi3.Types)(&types)
	}
	*o = append(*o, &openapi3.SchemaRef{Value: &s})
}

func (o *opposites) ofType(s *openapi3.Schema, nullable bool) {
	if !s.Type.IsEmpty() {
		rest := slices.DeleteFunc([]string{"string", "number", "boolean", "object", "array", "null"}, func(name string) bool {
			return s.Type.Includes(name) || name == "null" && nullable
		})
		o.add(openapi3.Schema{}, rest...)
	}
	if s.Enum != nil || s.Const != nil {
		o.add(openapi3.Schema{}) // other values are tried
	}
}

// ofBounds adds the values beyond each bound of a schema, and any values for keywords that have no
// opposite.
func (o *opposites) ofBounds(s *openapi3.Schema) {
	excluded := func(b openapi3.ExclusiveBound) openapi3.ExclusiveBound {
		return openapi3.ExclusiveBound{Bool: openapi3.Ptr(!b.IsTrue())}
	}
	below := func(n uint64) *uint64 { return openapi3.Ptr(max(n, 1) - 1) }
	above := func(n *uint64) uint64 {
		if n == nil {
			return 0
		}
		return *n + 1
	}
	for _, way := range []struct {
		isBound bool
		beyond  openapi3.Schema
		typ     string
	}{
		{s.Min != nil, openapi3.Schema{Max: s.Min, ExclusiveMax: excluded(s.ExclusiveMin)}, "number"},
		{s.Max != nil, openapi3.Schema{Min: s.Max, ExclusiveMin: excluded(s.ExclusiveMax)}, "number"},
		{s.ExclusiveMin.Value != nil, openapi3.Schema{Max: s.ExclusiveMin.Value}, "number"},
		{s.ExclusiveMax.Value != nil, openapi3.Schema{Min: s.ExclusiveMax.Value}, "number"},
		{s.MultipleOf != nil, openapi3.Schema{}, "number"},
		{s.MinLength > 0, openapi3.Schema{MaxLength: below(s.MinLength)}, "string"},
		{s.MaxLength != nil, openapi3.Schema{MinLength: above(s.MaxLength)}, "string"},
		{s.Pattern != "" || s.Format != "", openapi3.Schema{}, "string"},
		{s.MinItems > 0, openapi3.Schema{MaxItems: below(s.MinItems)}, "array"},
		{s.MaxItems != nil, openapi3.Schema{MinItems: above(s.MaxItems)}, "array"},
		{s.MinProps > 0, openapi3.Schema{MaxProps: below(s.MinProps)}, "object"},
		{s.MaxProps != nil, openapi3.Schema{MinProps: above(s.MaxProps)}, "object"},
	} {
		if way.isBound {
			o.add(way.beyond, way.typ)
		}
	}
}

// ofParts adds the opposites of the schemas that a schema consists of.
func (o *opposites) ofParts(s *openapi3.Schema) {
	not := func(ref *openapi3.SchemaRef) *openapi3.SchemaRef {
		return &openapi3.SchemaRef{Value: &openapi3.Schema{Not: ref}}
	}
	if s.Items != nil {
		o.add(openapi3.Schema{Contains: not(s.Items)}, "array")
	}
	for _, name := range s.Required {
		never := &openapi3.SchemaRef{Value: &openapi3.Schema{Always: openapi3.Ptr(false)}}
		o.add(openapi3.Schema{Properties: openapi3.Schemas{name: never}}, "object")
	}
	for _, name := range jsonvalue.SortedNames(s.Properties) {
		o.add(openapi3.Schema{Required: []string{name}, Properties: openapi3.Schemas{name: not(s.Properties[name])}}, "object")
	}
	for _, part := range s.AllOf {
		*o = append(*o, not(part))
	}
	for _, branches := range []openapi3.SchemaRefs{s.AnyOf, s.OneOf} {
		if len(branches) == 0 {
			continue
		}
		var none openapi3.SchemaRefs
		for _, branch := range branches {
			none = append(none, not(branch))
		}
		o.add(openapi3.Schema{AllOf: none})
	}
	if s.Not != nil {
		*o = append(*o, s.Not)
	}
}
