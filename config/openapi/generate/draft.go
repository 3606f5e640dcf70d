package generate

import (
	"cmp"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/invent"
)

const (
	// bodyEffort is how many values may be generated for a body, including discarded ones. In a
	// long string, every bytesAValue bytes count as one value.
	bodyEffort  = 20_000
	bytesAValue = 256
	// documentText is the total size in bytes of the bodies of a document after which the effort
	// for each further body drops to leastEffort.
	documentText = 256 << 20
	leastEffort  = 100
	// mostTries limits how many values are tried with other branches when one does not fit, and then
	// how many with other values in everything that the schemas leave open.
	mostTries = 24
	// deepestBody limits how many schemas may be nested.
	deepestBody = 100
	// bodyTries limits how many bodies are generated to get a valid one.
	bodyTries = 3
)

// tooLarge is the message for a body that needs more effort than is allowed.
const tooLarge = "it exceeds the size limit for generated bodies"

// draft is a body under construction. All randomness comes from one source, so a seed always gives
// the same body.
type draft struct {
	m      *Maker
	random *rand.Rand
	// fresh bodies ignore examples and defaults, and use any value of an enum.
	fresh bool
	quiet bool // gives no warnings, because the body is made while a request is being answered
	wild  bool // any allowed value will do, even an unreadable one, because readable ones do not fit
	// open means that an object may have properties that one of its schemas neither declares
	// nor allows.
	open     bool
	check    validator
	siblings *invent.Facts      // of the object being made
	active   []*openapi3.Schema // being made, the outermost first
	effort   int
	why      string // why the first failed part could not be made
	at       string // the JSON pointer of the schema in the document, for warnings
}

// ask describes the value to generate: the schemas it must satisfy, the name of its property, and
// how many values it may consist of.
type ask struct {
	schemas []*openapi3.SchemaRef
	name    string
	room    int
	taken   distinct // the values that it must not equal; nil for none
	wild    bool     // an enclosing value is wild, because the examples in it do not fit
	alone   bool     // an item of an array, which need not be consistent with the other values
}

// seedOf derives a seed from a string.
func (m *Maker) seedOf(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // never fails
	return h.Sum64() ^ m.seed
}

// direction is the direction in which a body is sent.
type direction bool

// The directions.
const (
	ToClient direction = false
	toServer direction = true // leaves out readOnly properties instead of writeOnly ones
)

// body generates a value for a schema and says what is wrong with it; "" when it is valid.
func (m *Maker) body(ref *openapi3.SchemaRef, way direction, seed uint64, fresh bool, at string) (v any, wrong string) {
	d := draft{m: m, fresh: fresh, quiet: fresh, effort: bodyEffort, at: at}
	if m.kept > documentText {
		d.effort = leastEffort
	}
	attempt := func(d draft, try int) (any, bool, string) {
		d.random = rand.New(rand.NewPCG(seed, uint64(try)))
		d.check = validator{m: m, request: way == toServer, lenient: d.open || try > 0}
		v, ok := d.value(ask{schemas: []*openapi3.SchemaRef{ref}, room: m.room})
		return v, ok, d.why
	}
	for try := range bodyTries {
		made, ok, why := attempt(d, try)
		if ok { // each part that may violate its schemas was checked
			return made, ""
		}
		if try == 0 {
			wrong = cmp.Or(why, (&validator{m: m, request: way == toServer}).mismatch(ref, made))
		}
	}
	d.open, d.quiet = true, true // a common error: a schema that is extended with allOf, and allows no other properties
	v, _, _ = attempt(d, 0)
	return v, wrong
}

// blame records the reason for a failure, unless a reason is already recorded.
func (d *draft) blame(why string) {
	d.why = cmp.Or(d.why, why)
}

// value generates a value that satisfies all the schemas. When it cannot, it returns the best value
// it could make, and false.
func (d *draft) value(a ask) (any, bool) {
	if len(d.active) > deepestBody {
		d.blame("it is nested too deeply")
		return nil, false
	}
	open := len(d.active)
	for _, ref := range a.schemas {
		again := 0
		for _, s := range d.active[:open] {
			if s == ref.Value {
				again++
			}
		}
		if again > 1 {
			d.active = d.active[:open]
			why := "it requires itself endlessly"
			if ref.Ref != "" {
				why += " (" + ref.Ref + ")"
			}
			d.blame(why)
			return nil, false
		}
		if again > 0 {
			a.room /= 2
		}
		d.active = append(d.active, ref.Value)
	}
	v, ok := d.tried(a)
	d.active = d.active[:open]
	return v, ok
}

// tried generates values until one fits: first with the branches of all choices, then with as few
// properties and items as allowed, then with any value in everything that the schemas leave open.
func (d *draft) tried(a ask) (best any, ok bool) {
	before, first, outer := d.why, "", d.wild
	defer func() { d.wild = outer }()
	a.wild = outer
	var g *merged
	plain, tries, isNull := 1, 1, false
	for attempt := 0; attempt < tries; attempt++ {
		if d.effort--; d.effort < 0 {
			d.blame(tooLarge)
			return best, false
		}
		d.why, d.wild = before, outer || attempt >= 2*plain
		g = d.merged(a.schemas, attempt%plain)
		v, made := d.made(g, a, attempt, attempt >= plain && !d.wild)
		if made && (!g.hard && a.taken == nil || d.fits(a, v)) {
			if d.why = before; v != nil {
				return v, true
			}
			isNull = true // the last resort
		}
		if attempt == 0 {
			if best, first = v, d.why; g.hard {
				plain = min(g.choices, mostTries)
				tries = 2*plain + mostTries
			}
		} else if d.why != first {
			first = before // no single reason: the caller reports what is wrong with the best value
		}
	}
	if isNull || g.nullable && (a.taken == nil || d.wild) && d.fits(a, nil) {
		d.why = before
		return nil, true
	}
	d.why = first
	return best, false
}

// fits reports whether a value can be used.
func (d *draft) fits(a ask, v any) bool {
	return !a.taken.has(v) && !slices.ContainsFunc(a.schemas, func(ref *openapi3.SchemaRef) bool { return !d.check.accepts(ref, v) })
}

// merged returns the merged schemas for an attempt. Attempts go through the branches of all choices.
func (d *draft) merged(refs []*openapi3.SchemaRef, attempt int) *merged {
	if len(refs) == 1 {
		if kept, ok := d.m.merges.Load(refs[0].Value); ok {
			return kept.(*merged)
		}
	}
	g := d.m.merge(refs, func(n int, _ func(int) *openapi3.SchemaRef) int {
		i := attempt % n
		if attempt /= n; d.fresh || d.wild {
			i = (i + d.random.IntN(n)) % n
		}
		return i
	})
	if len(refs) == 1 && g.choices == 1 && len(g.properties) > 0 {
		d.m.merges.Store(refs[0].Value, g)
	}
	return g
}

// made generates one value.
func (d *draft) made(g *merged, a ask, attempt int, bare bool) (any, bool) {
	if g.never {
		d.blame("nothing satisfies it")
		return nil, false
	}
	if !d.fresh && !a.wild {
		if v, ok := d.exemplary(g, a); ok {
			return v, true
		}
	}
	if g.limited {
		return d.listed(g, a)
	}
	if v, ok := d.faked(g, a); ok {
		return v, true
	}
	kind, ok := d.kind(g, a, attempt)
	if !ok {
		d.blame("its types exclude each other")
		return nil, false
	}
	switch kind {
	case kindNull:
		return nil, true
	case kindBoolean:
		v := d.random.IntN(2) == 0
		if (g.hard || a.taken != nil) && !d.fits(a, v) {
			v = !v
		}
		return v, true
	case kindInteger, kindNumber, kindFraction:
		return d.number(g.bounds(d.m.Numbers), a, kind == kindInteger)
	case kindString:
		return d.text(g, a)
	case kindArray:
		return d.array(g, a, bare)
	}
	return d.object(g, a, bare)
}

// exemplary returns the first example or default that the schemas accept.
func (d *draft) exemplary(g *merged, a ask) (any, bool) {
	for i, v := range slices.Concat(g.examples, g.defaults) {
		if d.fits(a, v) {
			return v, true
		}
		if i < len(g.examples) {
			d.warnExample(a, v)
		}
	}
	return nil, false
}

// warnExample warns once that an example cannot be used.
func (d *draft) warnExample(a ask, v any) {
	at, of := d.placeOf(a)
	for _, ref := range a.schemas {
		if wrong := d.check.mismatch(ref, v); wrong != "" && d.warnsOnce(a.schemas[0].Value) {
			d.m.Warning(manyUnused, at, "the example"+of+" does not match its schema ("+wrong+"); it is not used")
			return
		}
	}
}

// warnsOnce reports whether to warn about something, which it is to be warned of once.
func (d *draft) warnsOnce(what any) bool {
	if d.quiet {
		return false
	}
	_, known := d.m.warned.LoadOrStore(what, true)
	return !known
}

// placeOf returns the place of a value for a warning: the pointer of its schema, and its property.
func (d *draft) placeOf(a ask) (at, of string) {
	switch ref := a.schemas[0]; {
	case ref.Ref != "":
		return ref.Ref, ""
	case a.name != "":
		return d.at, " of the property " + a.name
	}
	return d.at, ""
}

// listed picks a value of an enum or const, and null only if no other fits.
func (d *draft) listed(g *merged, a ask) (any, bool) {
	first, null := 0, false
	if (d.fresh || d.wild) && len(g.values) > 0 {
		first = d.random.IntN(len(g.values))
	}
	for i := range g.values {
		if v := g.values[(first+i)%len(g.values)]; d.fits(a, v) {
			if v != nil {
				return v, true
			}
			null = true
		}
	}
	if !null {
		d.blame("no value of its enum or const satisfies the rest of it")
	}
	return nil, null
}

// kind picks the type of a value from the listed types, or else from those that the keywords
// suggest. The first attempt takes the first type, unless the body is fresh. Null is the last
// resort.
func (d *draft) kind(g *merged, a ask, attempt int) (kinds, bool) {
	order := g.order
	if len(order) == 0 {
		order = append(g.suggested(a), kindString, kindNumber, kindBoolean, kindObject, kindArray)
	}
	var possible []kinds
	for _, k := range order {
		if k &= g.kinds; k&^kindNull != 0 && !slices.Contains(possible, k) {
			possible = append(possible, k)
		}
	}
	switch {
	case len(possible) == 0:
		return kindNull, g.kinds&kindNull != 0
	case d.wild || d.fresh && len(g.order) > 0:
		return possible[d.random.IntN(len(possible))], true
	case len(g.order) == 0 && attempt < mostTries/2:
		attempt = 0
	}
	return possible[attempt%len(possible)], true
}

// suggested returns the type that the keywords of a schema without types suggest, if any.
func (g *merged) suggested(a ask) []kinds {
	if len(g.properties) > 0 {
		return []kinds{kindObject}
	}
	for _, s := range g.schemas {
		switch {
		case s.MinProps > 0 || len(s.PatternProperties)+len(s.DependentRequired)+len(s.DependentSchemas) > 0:
			return []kinds{kindObject}
		case s.Items != nil || s.PrefixItems != nil || s.Contains != nil || s.MinItems > 0 || s.UniqueItems:
			return []kinds{kindArray}
		case s.MinLength > 0 || s.MaxLength != nil || s.Pattern != "":
			return []kinds{kindString}
		}
	}
	switch b := g.bounds(nil); {
	case b.low != nil || b.high != nil || b.step != nil || b.isInteger:
		return []kinds{kindNumber}
	case a.name == "" && len(g.formats()) == 0:
		return []kinds{kindObject}
	}
	return nil
}
