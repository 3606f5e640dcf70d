package generate

import (
	"slices"
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/invent"
	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/openapi/text"
)

// object generates an object. A bare object has as few properties as allowed.
func (d *draft) object(g *merged, a ask, bare bool) (any, bool) {
	names, ok := d.included(g, a, bare)
	o := &jsonvalue.Object{}
	room := a.room
	outer := d.beside
	d.beside = &invent.Facts{Rand: d.random, Today: d.m.Today, Beside: d.besides(names)}
	defer func() { d.beside = outer }()
	for i, p := range names {
		room--
		why := d.why
		v, made := d.member(g, p, max(0, room/(len(names)-i)))
		room -= max(0, sizeOf(v)-1)
		if made {
			o.Set(p.name, v)
			continue
		}
		if p.required {
			ok = false
			o.Set(p.name, v)
		} else {
			d.why = why // the property is optional
		}
	}
	if more := d.dependents(g, a, o); len(more) > 0 {
		return d.tried(ask{schemas: append(slices.Clone(a.schemas), more...), name: a.name, room: a.room, taken: a.taken})
	}
	if !d.addExtras(g, o, room, bare) {
		d.blame("fewer properties were found than it requires")
		ok = false
	}
	return o, ok
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

// member generates the value of a property.
func (d *draft) member(g *merged, p property, room int) (any, bool) {
	if value, ok := g.fixed[p.name]; ok && d.fits(p.schemas, value) {
		return value, true
	}
	return d.value(ask{schemas: p.schemas, name: p.name, room: room})
}

// included returns the properties for an object: the required ones with their dependencies, and as
// many optional ones as there is room for. It returns false when a required property is not
// possible.
func (d *draft) included(g *merged, a ask, bare bool) (names []property, ok bool) {
	in := inclusion{draft: d, merged: g, in: make([]bool, len(g.properties))}
	ok = in.addRequired()
	limit := len(g.properties)
	if bare {
		limit = g.minProps
	} else if a.room < limit {
		limit = max(a.room, g.minProps)
	}
	if g.maxProps >= 0 {
		limit = min(limit, g.maxProps)
	}
	for i := range g.properties {
		if len(in.order) < limit {
			in.addOptional(i)
		}
	}
	for i, p := range g.properties {
		if in.in[i] {
			names = append(names, p)
		}
	}
	return names, ok
}

// inclusion is the selection of properties for an object.
type inclusion struct {
	*draft
	*merged
	in      []bool
	order   []int // selected properties, in the order of selection
	settled int   // how many of them have their dependencies selected too
	refused int   // how many of them cannot be included
}

func (c *inclusion) include(i int) {
	if c.in[i] {
		return
	}
	c.in[i] = true
	c.order = append(c.order, i)
	if c.refuses(c.properties[i]) {
		c.refused++
	}
}

// takeBack removes properties from the selection, except for the given number selected first.
func (c *inclusion) takeBack(first int) {
	for _, i := range c.order[first:] {
		c.in[i] = false
		if c.refuses(c.properties[i]) {
			c.refused--
		}
	}
	c.order, c.settled = c.order[:first], first
}

// addRequired includes the required properties. It returns false if any of them cannot be included.
func (c *inclusion) addRequired() bool {
	ok := true
	for i, p := range c.properties {
		switch {
		case !p.required || c.leftOut(p):
		case c.refuses(p) || !c.nameFits(c.merged, p.name):
			c.shut = c.shut || p.undeclared && len(p.schemas) > 0
			c.blame("it requires the property " + p.name + " and refuses it")
			ok = false
		default:
			c.include(i)
		}
	}
	c.addNeeded()
	return ok
}

// addOptional includes a property, unless the property or one of its dependencies cannot be
// included.
func (c *inclusion) addOptional(i int) {
	p := c.properties[i]
	if c.in[i] || c.refuses(p) || p.unnamed || c.leftOut(p) || !c.nameFits(c.merged, p.name) {
		return
	}
	before, refused := len(c.order), c.refused
	c.include(i)
	c.addNeeded()
	if c.maxProps >= 0 && len(c.order) > c.maxProps || c.refused > refused {
		c.takeBack(before)
	}
}

// addNeeded includes the dependencies of the selected properties (dependentRequired).
func (c *inclusion) addNeeded() {
	if !c.dependent {
		return
	}
	for ; c.settled < len(c.order); c.settled++ {
		name := c.properties[c.order[c.settled]].name
		for _, s := range c.schemas {
			for _, needed := range s.DependentRequired[name] {
				if i, ok := c.index[needed]; ok {
					c.include(i)
				}
			}
		}
	}
}

// leftOut reports whether a property is only for the other direction.
func (d *draft) leftOut(p property) bool {
	return d.check.request && p.readOnly || !d.check.request && p.written
}

// refuses reports whether an object cannot have a property.
func (d *draft) refuses(p property) bool {
	return p.banned || p.undeclared && (!d.open || len(p.schemas) == 0)
}

// nameFits reports whether propertyNames allows a name.
func (d *draft) nameFits(g *merged, name string) bool {
	for _, s := range g.schemas {
		if s.PropertyNames != nil && !d.check.accepts(s.PropertyNames, name) {
			return false
		}
	}
	return true
}

// dependents returns the schemas that the properties of an object require in addition
// (dependentSchemas), except those that the object was already generated for.
func (d *draft) dependents(g *merged, a ask, o *jsonvalue.Object) []*openapi3.SchemaRef {
	var more []*openapi3.SchemaRef
	for _, s := range g.schemas {
		for _, name := range jsonvalue.SortedNames(s.DependentSchemas) {
			ref := s.DependentSchemas[name]
			if _, ok := o.Get(name); !ok || ref == nil || ref.Value == nil {
				continue
			}
			known := func(have *openapi3.SchemaRef) bool { return have.Value == ref.Value }
			if !slices.ContainsFunc(a.schemas, known) && !slices.ContainsFunc(more, known) {
				more = append(more, ref)
			}
		}
	}
	return more
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
	want := g.minProps
	if len(g.properties) == 0 && !bare && room > 0 && isMap(g) {
		want = max(want, min(someExtras, room))
	}
	if g.maxProps >= 0 {
		want = min(want, g.maxProps)
	}
	misses, tried, why := 0, distinct{}, d.why
	for _, m := range o.Members {
		tried.add(m.Name)
	}
	for n := 1; len(o.Members) < want && n <= mostExtras && misses < mostTries; n++ {
		name, ok := d.extraName(g, tried, n)
		if !ok || !tried.add(name) {
			misses++
			continue
		}
		p := d.m.propertyOf(g.schemas, name)
		if g.closed && len(p.schemas) == 0 {
			p.banned = true
		}
		if d.refuses(p) || d.leftOut(p) {
			misses++
			continue
		}
		v, ok := d.value(ask{schemas: p.schemas, name: name, room: max(0, room/max(1, want-len(o.Members)))})
		if !ok {
			misses++
			continue
		}
		o.Set(name, v)
	}
	d.why = why // others were found, or the caller reports that there are too few
	return len(o.Members) >= g.minProps
}

// isMap reports whether an object is meant for undeclared properties.
func isMap(g *merged) bool {
	for _, s := range g.schemas {
		if s.AdditionalProperties.Schema != nil || len(s.PatternProperties) > 0 {
			return true
		}
	}
	return false
}

// anyText is the schema for names, which are strings.
var anyText = &openapi3.SchemaRef{Value: &openapi3.Schema{Type: &openapi3.Types{"string"}}}

// extraName returns the nth name for an undeclared property. If propertyNames describes the names,
// it returns one of these. If patternProperties describes names, at least every second name is one
// of these.
func (d *draft) extraName(g *merged, tried distinct, n int) (string, bool) {
	var names []*openapi3.SchemaRef
	for _, s := range g.schemas {
		if s.PropertyNames != nil {
			names = append(names, s.PropertyNames)
		}
	}
	if len(names) > 0 {
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
