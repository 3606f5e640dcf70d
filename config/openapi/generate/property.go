package generate

import (
	"cmp"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
)

// property is a declared or required property.
type property struct {
	name     string
	schemas  []*openapi3.SchemaRef // all schemas that its value must satisfy
	required bool
	banned   bool // no value is allowed
	// undeclared means that a schema that allows no other properties does not declare this one.
	undeclared bool
	unnamed    bool // not declared: included only if another property depends on it
	readOnly   bool
	written    bool // writeOnly
}

// collectProperties merges the schemas of each property.
func (g *merger) collectProperties() {
	if !g.hasProperties() {
		return
	}
	g.index = map[string]int{}
	declare := func(name string) {
		if _, ok := g.index[name]; !ok {
			g.index[name] = len(g.properties)
			g.properties = append(g.properties, g.m.propertyOf(g.schemas, name))
		}
	}
	for _, s := range g.schemas {
		for _, name := range g.m.orderOf(s) {
			declare(name)
		}
	}
	for _, name := range jsonvalue.SortedNames(g.fixed) {
		declare(name)
	}
	for _, s := range g.schemas {
		if len(s.DependentRequired) == 0 {
			continue
		}
		for _, name := range jsonvalue.SortedNames(s.DependentRequired) {
			for _, needed := range s.DependentRequired[name] {
				declared := len(g.properties)
				declare(needed)
				if len(g.properties) > declared {
					g.properties[declared].unnamed = true
				}
			}
		}
	}
	for _, name := range g.required {
		declare(name)
		g.properties[g.index[name]].required = true
	}
	for name := range g.fixed {
		g.properties[g.index[name]].required = true
	}
}

func (g *merger) hasProperties() bool {
	return g.fixed != nil || g.dependent || len(g.required) > 0 ||
		slices.ContainsFunc(g.schemas, func(s *openapi3.Schema) bool { return len(s.Properties) > 0 })
}

// propertyOf returns the property with a given name and everything its value must satisfy.
func (m *Maker) propertyOf(schemas []*openapi3.Schema, name string) property {
	p := property{name: name}
	for _, s := range schemas {
		matched := false
		if ref := s.Properties[name]; ref != nil && ref.Value != nil {
			matched = true
			p.add(ref)
		}
		for _, source := range jsonvalue.SortedNames(s.PatternProperties) {
			if e, err := m.pattern(source); err == nil && e.Matches(name) {
				matched = true
				p.add(s.PatternProperties[source])
			}
		}
		if matched {
			continue
		}
		if has := s.AdditionalProperties.Has; has != nil && !*has {
			p.undeclared = true
		} else if ref := s.AdditionalProperties.Schema; ref != nil {
			p.add(ref)
		}
	}
	return p
}

func (p *property) add(ref *openapi3.SchemaRef) {
	if ref == nil || ref.Value == nil {
		return
	}
	p.readOnly = p.readOnly || ref.Value.ReadOnly
	p.written = p.written || ref.Value.WriteOnly
	if always := ref.Value.Always; always != nil && !*always {
		p.banned = true
	}
	if !slices.ContainsFunc(p.schemas, func(have *openapi3.SchemaRef) bool { return have.Value == ref.Value }) {
		p.schemas = append(p.schemas, ref)
	}
}

// orderOf returns the order in which the properties of a schema are written: the order of the
// document if known, else an ID, the required ones, and the rest by name.
func (m *Maker) orderOf(s *openapi3.Schema) []string {
	if len(s.Properties) == 0 {
		return nil
	}
	if m.Order != nil {
		if names := m.Order(s); len(names) > 0 {
			return names
		}
	}
	names := jsonvalue.SortedNames(s.Properties)
	place := make(map[string]int, len(names))
	for i, name := range s.Required {
		place[name] = i - len(s.Required)
	}
	if _, ok := s.Properties["id"]; ok {
		place["id"] = -len(s.Required) - 1
	}
	slices.SortStableFunc(names, func(a, b string) int {
		x, y := s.Properties[a], s.Properties[b]
		if x.Value != nil && y.Value != nil && x.Value.Origin != nil && y.Value.Origin != nil && x.Ref == "" && y.Ref == "" {
			if k, l := x.Value.Origin.Key, y.Value.Origin.Key; k != nil && l != nil {
				return cmp.Or(cmp.Compare(k.Line, l.Line), cmp.Compare(k.Column, l.Column))
			}
		}
		return cmp.Compare(place[a], place[b])
	})
	return names
}
