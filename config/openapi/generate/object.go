package generate

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/invent"
	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/openapi/text"
)

// property is a declared or required property.
type property struct {
	name     string
	schemas  []*openapi3.SchemaRef // all schemas that its value must satisfy
	required bool
	// undeclared means that a schema that allows no other properties does not declare this one.
	undeclared bool
	readOnly   bool
	writeOnly  bool
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
		} else {
			p.add(s.AdditionalProperties.Schema)
		}
	}
	return p
}

func (p *property) add(ref *openapi3.SchemaRef) {
	if ref == nil || ref.Value == nil || slices.ContainsFunc(p.schemas, func(have *openapi3.SchemaRef) bool { return have.Value == ref.Value }) {
		return
	}
	p.schemas = append(p.schemas, ref)
	p.readOnly = p.readOnly || ref.Value.ReadOnly
	p.writeOnly = p.writeOnly || ref.Value.WriteOnly
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
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(place[a], place[b]) })
	return names
}

// object generates an object. A bare object has as few properties as allowed.
func (d *draft) object(g *merged, a ask, bare bool) (any, bool) {
	chosen, ok := d.chosen(g, a.room, bare)
	room, outer, left := a.room, d.siblings, len(chosen)
	d.siblings = &invent.Facts{Rand: d.random, Today: d.m.Today}
	defer func() { d.siblings = outer }()
	for _, p := range chosen {
		d.siblings.Names = append(d.siblings.Names, p.name)
	}
	values := map[string]any{}
	for _, given := range []bool{true, false} { // the others fit what the document gives
		for _, p := range chosen {
			if d.isGiven(p) != given {
				continue
			}
			room--
			why := d.why
			v, made := d.member(g, p, max(0, room/left))
			left--
			room -= max(0, sizeOf(v)-1)
			if made || p.required {
				values[p.name] = v
				ok = ok && made
			} else {
				d.why = why // the property is optional
			}
			if s, isText := v.(string); given && isText {
				d.siblings.Learn(p.name, s)
			}
		}
	}
	o := &jsonvalue.Object{}
	for _, p := range chosen {
		if v, made := values[p.name]; made {
			o.Set(p.name, v)
		}
	}
	if !d.addExtras(g, o, room, bare) {
		d.blame("fewer properties were found than it requires")
		ok = false
	}
	return o, ok
}

// isGiven reports whether the document has a value for a property.
func (d *draft) isGiven(p property) bool {
	return slices.ContainsFunc(p.schemas, func(ref *openapi3.SchemaRef) bool {
		s := ref.Value
		return s.Const != nil || len(s.Enum) > 0 || !d.fresh && (s.Example != nil || len(s.Examples) > 0 || s.Default != nil)
	})
}

// sizeOf returns how many values a value consists of.
func sizeOf(v any) int {
	n := 1
	switch v := v.(type) {
	case []any:
		for i := range v {
			n += sizeOf(v[i])
		}
	case *jsonvalue.Object:
		for i := range v.Members {
			n += sizeOf(v.Members[i].Value)
		}
	}
	return n
}

// factsOf returns the facts from which a value is invented: those of its object, so that its values
// agree with each other, or separate facts for a value that need not agree with others.
func (d *draft) factsOf(a ask) *invent.Facts {
	if d.siblings == nil || a.alone || a.taken != nil {
		return &invent.Facts{Rand: d.random, Today: d.m.Today, Name: a.name, Wide: d.wild}
	}
	d.siblings.Name, d.siblings.Wide = a.name, d.wild
	return d.siblings
}

// member generates the value of a property.
func (d *draft) member(g *merged, p property, room int) (any, bool) {
	a := ask{schemas: p.schemas, name: p.name, room: room}
	if value, ok := g.fixed[p.name]; ok && d.fits(a, value) {
		return value, true
	}
	return d.value(a)
}

// chosen returns the properties for an object: the required ones, as many optional ones as there is
// room for, and those that they depend on (dependentRequired). It returns false when a required
// property is not possible.
func (d *draft) chosen(g *merged, room int, bare bool) (all []property, ok bool) {
	ok = true
	in := map[string]bool{}
	for _, p := range g.properties {
		switch {
		case !p.required || d.leftOut(p):
		case d.refuses(g, p):
			d.blame("it requires the property " + p.name + " and refuses it")
			ok = false
		default:
			in[p.name] = true
		}
	}
	limit := g.least(leastProperties)
	if !bare {
		limit = max(limit, room)
	}
	limit = min(limit, g.mostProperties())
	for _, p := range g.properties {
		if d.wild && d.random.IntN(2) == 0 || len(in) >= limit || p.required {
			continue
		}
		if !d.leftOut(p) && !d.refuses(g, p) {
			in[p.name] = true
		}
	}
	g.addDependents(in)
	for _, p := range g.properties {
		if in[p.name] {
			all = append(all, p)
			delete(in, p.name)
		}
	}
	for _, name := range jsonvalue.SortedNames(in) {
		all = append(all, d.m.propertyOf(g.schemas, name))
	}
	return all, ok
}

// addDependents adds the properties that others depend on.
func (g *merged) addDependents(in map[string]bool) {
	for before := -1; before < len(in); {
		before = len(in)
		for _, s := range g.schemas {
			for name, others := range s.DependentRequired {
				for i := 0; in[name] && i < len(others); i++ {
					in[others[i]] = true
				}
			}
		}
	}
}

func leastProperties(s *openapi3.Schema) uint64 { return s.MinProps }

func (g *merged) mostProperties() int {
	return g.most(func(s *openapi3.Schema) *uint64 { return s.MaxProps })
}

// leftOut reports whether a property is only for the other direction.
func (d *draft) leftOut(p property) bool {
	return d.check.request && p.readOnly || !d.check.request && p.writeOnly
}

// refuses reports whether an object cannot have a property.
func (d *draft) refuses(g *merged, p property) bool {
	return p.undeclared && (!d.open || len(p.schemas) == 0) || !d.fits(ask{schemas: g.names()}, p.name)
}

func (g *merged) names() (all []*openapi3.SchemaRef) {
	for _, s := range g.schemas {
		if s.PropertyNames != nil {
			all = append(all, s.PropertyNames)
		}
	}
	return all
}

// Extra properties are properties that no schema names.
const (
	extraName = "property"
	// someExtras is the number of properties in a map that requires none.
	someExtras = 2
	mostExtras = 1000
)

// addExtras adds undeclared properties: as many as required, and a few for a map. It returns false
// when it cannot add enough.
func (d *draft) addExtras(g *merged, o *jsonvalue.Object, room int, bare bool) bool {
	low := g.least(leastProperties)
	want := low
	forUndeclared := func(s *openapi3.Schema) bool {
		return s.AdditionalProperties.Schema != nil || len(s.PatternProperties) > 0
	}
	if len(g.properties) == 0 && !bare && slices.ContainsFunc(g.schemas, forUndeclared) {
		want = max(want, min(someExtras, room))
	}
	want = min(want, g.mostProperties())
	closed := slices.ContainsFunc(g.schemas, func(s *openapi3.Schema) bool {
		return s.UnevaluatedProperties.Has != nil && !*s.UnevaluatedProperties.Has
	})
	tried, why := distinct{}, d.why
	for _, m := range o.Members {
		tried.add(m.Name)
	}
	for n, misses := 1, 0; len(o.Members) < want && n <= mostExtras && misses < mostTries; n++ {
		misses++
		name, ok := d.extraName(g, tried, n)
		if !ok || !tried.add(name) {
			continue
		}
		p := d.m.propertyOf(g.schemas, name)
		if closed && len(p.schemas) == 0 || d.refuses(g, p) || d.leftOut(p) {
			continue
		}
		if v, ok := d.value(ask{schemas: p.schemas, name: name, room: max(0, room/max(1, want-len(o.Members)))}); ok {
			o.Set(name, v)
			misses--
		}
	}
	d.why = why // others were found, or the caller reports that there are too few
	return len(o.Members) >= low
}

// anyText is the schema for names, which are strings.
var anyText = &openapi3.SchemaRef{Value: &openapi3.Schema{Type: &openapi3.Types{"string"}}}

// extraName returns the nth name for an undeclared property. If propertyNames describes the names,
// it returns one of these. If patternProperties describes names, at least every second name is one
// of these.
func (d *draft) extraName(g *merged, tried distinct, n int) (string, bool) {
	if names := g.names(); len(names) > 0 {
		v, ok := d.value(ask{schemas: append(names, anyText), name: extraName, room: 1, taken: tried})
		name, isText := v.(string)
		return name, ok && isText
	}
	var sources []string
	for _, s := range g.schemas {
		sources = append(sources, jsonvalue.SortedNames(s.PatternProperties)...)
	}
	if len(sources) > 0 && (n <= len(sources) || n%2 == 0) {
		if p, err := d.m.pattern(sources[(n-1)%len(sources)]); err == nil {
			name, ok := p.Text(d.random, 1, text.LongestText)
			if ok && tried.has(name) { // the pattern may match longer names, such as those with a prefix
				return p.Text(d.random, len(name)+4, text.LongestText)
			}
			return name, ok
		}
	}
	return extraName + strconv.Itoa(n), true
}
