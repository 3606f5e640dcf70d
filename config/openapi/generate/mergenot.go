package generate

import (
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// escape changes the merged schemas so that values violate a schema in one way.
type escape func()

// addNot makes the values of the merged schemas violate a schema in one of the possible ways. The
// way is a choice, like the choice of a branch.
func (g *merger) addNot(s *openapi3.Schema) {
	g.hard = true
	switch {
	case s.Always != nil:
		g.never = g.never || *s.Always
		return
	case slices.Contains(g.negated, s):
		return
	}
	g.negated = append(g.negated, s)
	var ways []escape
	for _, of := range []func(*openapi3.Schema) []escape{
		g.otherTypes, g.otherNumbers, g.otherTexts, g.otherItems, g.otherNames, g.otherProperties, g.otherParts,
	} {
		ways = append(ways, of(s)...)
	}
	switch {
	case len(ways) > 0:
		ways[g.pick(len(ways))]()
	case !asksMore(s):
		g.never = true
	}
}

// asksMore reports whether a schema has keywords without an escape. For those keywords, values are
// generated until one violates the schema.
func asksMore(s *openapi3.Schema) bool {
	return s.MultipleOf != nil || s.Pattern != "" || s.Format != "" || s.UniqueItems ||
		s.If != nil || s.Contains != nil || s.PropertyNames != nil || len(s.PatternProperties) > 0 ||
		len(s.DependentRequired) > 0 || len(s.DependentSchemas) > 0 || len(s.PrefixItems) > 0 ||
		s.AdditionalProperties.Has != nil || s.AdditionalProperties.Schema != nil ||
		s.UnevaluatedItems.Has != nil || s.UnevaluatedItems.Schema != nil ||
		s.UnevaluatedProperties.Has != nil || s.UnevaluatedProperties.Schema != nil
}

// only returns an escape that also restricts the types to k, because a keyword does not apply to
// other types. It returns none when the merged schemas already exclude k.
func (g *merger) only(k kinds, way escape) []escape {
	if g.kinds&k == 0 {
		return nil
	}
	return []escape{func() {
		g.kinds &= k
		way()
	}}
}

func nothing() {}

func (g *merger) otherTypes(s *openapi3.Schema) (ways []escape) {
	if s.Enum != nil || s.Const != nil {
		ways = append(ways, nothing) // other values are tried
	}
	if s.Type.IsEmpty() {
		return ways
	}
	rest := g.kinds
	for _, name := range *s.Type {
		rest &^= kindOf(name)
	}
	if g.m.nullable(s) {
		rest &^= kindNull
	}
	return append(g.only(rest, nothing), ways...)
}

func (g *merger) otherNumbers(s *openapi3.Schema) (ways []escape) {
	of := g.m.Numbers.Of
	if s.Min != nil {
		ways = append(ways, g.only(kindNumber, func() { g.lower(of(s.Min), !s.ExclusiveMin.IsTrue()) })...)
	}
	if s.Max != nil {
		ways = append(ways, g.only(kindNumber, func() { g.raise(of(s.Max), !s.ExclusiveMax.IsTrue()) })...)
	}
	if v := s.ExclusiveMin.Value; v != nil {
		ways = append(ways, g.only(kindNumber, func() { g.lower(of(v), false) })...)
	}
	if v := s.ExclusiveMax.Value; v != nil {
		ways = append(ways, g.only(kindNumber, func() { g.raise(of(v), false) })...)
	}
	if s.MultipleOf != nil {
		ways = append(ways, g.only(kindNumber, nothing)...)
	}
	return ways
}

func (g *merger) otherTexts(s *openapi3.Schema) (ways []escape) {
	if s.MinLength > 0 {
		ways = append(ways, g.only(kindString, func() { g.maxLength = least(g.maxLength, openapi3.Ptr(s.MinLength-1)) })...)
	}
	if s.MaxLength != nil {
		ways = append(ways, g.only(kindString, func() { g.minLength = max(g.minLength, clampCount(*s.MaxLength)+1) })...)
	}
	if s.Pattern != "" || s.Format != "" {
		ways = append(ways, g.only(kindString, nothing)...)
	}
	return ways
}

func (g *merger) otherItems(s *openapi3.Schema) (ways []escape) {
	if s.MinItems > 0 {
		ways = append(ways, g.only(kindArray, func() { g.maxItems = least(g.maxItems, openapi3.Ptr(s.MinItems-1)) })...)
	}
	if s.MaxItems != nil {
		ways = append(ways, g.only(kindArray, func() { g.minItems = max(g.minItems, clampCount(*s.MaxItems)+1) })...)
	}
	if s.Items != nil && s.Items.Value != nil {
		ways = append(ways, g.only(kindArray, func() { g.add(g.m.breaking(s, ""), false) })...)
	}
	return ways
}

func (g *merger) otherNames(s *openapi3.Schema) (ways []escape) {
	if s.MinProps > 0 {
		ways = append(ways, g.only(kindObject, func() { g.maxProps = least(g.maxProps, openapi3.Ptr(s.MinProps-1)) })...)
	}
	if s.MaxProps != nil {
		ways = append(ways, g.only(kindObject, func() { g.minProps = max(g.minProps, clampCount(*s.MaxProps)+1) })...)
	}
	for _, name := range s.Required {
		ways = append(ways, g.only(kindObject, func() { g.without = append(g.without, name) })...)
	}
	return ways
}

func (g *merger) otherProperties(s *openapi3.Schema) (ways []escape) {
	for _, name := range g.m.orderOf(s) {
		if ref := s.Properties[name]; ref != nil && ref.Value != nil {
			ways = append(ways, g.only(kindObject, func() { g.add(g.m.breaking(s, name), false) })...)
		}
	}
	return ways
}

// otherParts returns the ways to violate the schemas that a schema is composed of.
func (g *merger) otherParts(s *openapi3.Schema) (ways []escape) {
	for _, part := range s.AllOf {
		if part != nil && part.Value != nil {
			ways = append(ways, func() { g.addNot(part.Value) })
		}
	}
	for _, branches := range []openapi3.SchemaRefs{s.AnyOf, s.OneOf} {
		if len(branches) == 0 {
			continue
		}
		ways = append(ways, func() {
			for _, branch := range branches {
				if branch != nil && branch.Value != nil {
					g.addNot(branch.Value)
				}
			}
		})
	}
	if s.Not != nil {
		ways = append(ways, func() { g.add(s.Not, false) })
	}
	return ways
}

// brokenPart identifies an item or a property of a schema.
type brokenPart struct {
	schema *openapi3.Schema
	name   string // "" for an item
}

// breaking returns a schema for objects in which the named property violates what s requires of it,
// or for lists in which an item does. Each schema is built once.
func (m *Maker) breaking(s *openapi3.Schema, name string) *openapi3.SchemaRef {
	key := brokenPart{s, name}
	if kept, ok := m.breaks.Load(key); ok {
		return kept.(*openapi3.SchemaRef)
	}
	made := &openapi3.Schema{}
	if name == "" {
		made.Contains = &openapi3.SchemaRef{Value: &openapi3.Schema{Not: s.Items}}
	} else {
		made.Required = []string{name}
		made.Properties = openapi3.Schemas{name: {Value: &openapi3.Schema{Not: s.Properties[name]}}}
	}
	kept, _ := m.breaks.LoadOrStore(key, &openapi3.SchemaRef{Value: made})
	return kept.(*openapi3.SchemaRef)
}
