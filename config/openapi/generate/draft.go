package generate

import (
	"hash/fnv"
	"math/rand/v2"

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
	// mostTries limits how many values are tried when one does not fit.
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
	wide  bool // any allowed value will do, even an unreadable one, because the others are taken
	// open means that an object may have properties that one of its schemas neither declares
	// nor allows. shut means that a required property was left out because of such a schema.
	open, shut bool
	check      validator
	beside     *invent.Facts      // of the object being made
	active     []*openapi3.Schema // being made, the outermost first
	effort     int
	why        string // why the first failed part could not be made
	at         string // the JSON pointer of the schema in the document, for warnings
}

// ask describes the value to generate: the schemas it must satisfy, the name of its property, and
// how many values it may consist of.
type ask struct {
	schemas []*openapi3.SchemaRef
	name    string
	room    int
	taken   distinct // the values that it must not equal; nil for none
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
	effort, shut := bodyEffort, false
	if m.kept > documentText {
		effort = leastEffort
	}
	for try := range uint64(bodyTries) {
		d := &draft{m: m, fresh: fresh, quiet: fresh, effort: effort, at: at, random: rand.New(rand.NewPCG(seed, try))}
		d.check = validator{m: m, request: way == toServer, lenient: try > 0}
		made, ok := d.value(ask{schemas: []*openapi3.SchemaRef{ref}, room: m.room})
		if ok { // each part that may violate its schemas was checked
			return made, ""
		}
		if try > 0 {
			continue
		}
		if v, wrong = made, d.why; wrong == "" {
			wrong = d.check.mismatch(ref, made)
		}
		shut = d.shut
	}
	if shut { // a common error: a schema that is extended with allOf, and allows no other properties
		d := &draft{m: m, fresh: fresh, quiet: true, effort: effort, at: at, random: rand.New(rand.NewPCG(seed, 0)), open: true}
		d.check = validator{m: m, request: way == toServer, lenient: true}
		v, _ = d.value(ask{schemas: []*openapi3.SchemaRef{ref}, room: m.room})
	}
	return v, wrong
}

// blame records the reason for a failure, unless a reason is already recorded.
func (d *draft) blame(why string) {
	if d.why == "" {
		d.why = why
	}
}

// value generates a value that satisfies all the schemas. When it cannot, it returns the best value
// it could make, and false.
func (d *draft) value(a ask) (any, bool) {
	if len(d.active) > deepestBody {
		d.blame("it is nested too deeply")
		return nil, false
	}
	for _, ref := range a.schemas {
		again := 0
		for _, s := range d.active {
			if s == ref.Value {
				again++
			}
		}
		if again > 1 {
			d.blame("it requires itself endlessly" + under(ref.Ref))
			return nil, false
		}
		if again > 0 {
			a.room /= 2
		}
	}
	open := len(d.active)
	for _, ref := range a.schemas {
		d.active = append(d.active, ref.Value)
	}
	v, ok := d.tried(a)
	d.active = d.active[:open]
	return v, ok
}

func under(ref string) string {
	if ref == "" {
		return ""
	}
	return " (" + ref + ")"
}

// tried generates values until one fits, each time with other branches or fewer properties.
func (d *draft) tried(a ask) (best any, ok bool) {
	before, first := d.why, ""
	var g *merged
	for attempt := 0; ; attempt++ {
		if d.effort--; d.effort < 0 {
			d.blame(tooLarge)
			return best, false
		}
		var bare bool
		g, bare = d.merged(a.schemas, attempt)
		d.why = before
		v, made := d.made(g, a, attempt, bare)
		if made && !a.taken.has(v) && (!g.hard || d.fits(a.schemas, v)) {
			d.why = before
			return v, true
		}
		if best == nil {
			best = v
		}
		if attempt == 0 {
			first = d.why
		} else if d.why != first {
			first = before // no single reason: the caller reports what is wrong with the best value
		}
		if attempt+1 >= triesOf(g) {
			break
		}
	}
	if g.nullable && (a.taken == nil || d.wide && !a.taken.has(nil)) && d.fits(a.schemas, nil) {
		d.why = before
		return nil, true
	}
	d.why = first
	return best, false
}

// triesOf returns how many values are tried for the merged schemas.
func triesOf(g *merged) int {
	switch {
	case g.hard:
		return min(max(3*g.choices, 8), mostTries)
	case g.choices > 1:
		return min(g.choices, mostTries)
	}
	return 1
}

func (d *draft) fits(refs []*openapi3.SchemaRef, v any) bool {
	for _, ref := range refs {
		if !d.check.accepts(ref, v) {
			return false
		}
	}
	return true
}

// mergeKey is the key of a cached merge: a schema with the branches of one attempt.
type mergeKey struct {
	schema  *openapi3.Schema
	attempt int
}

// keptAttempts is the number of attempts whose merge is cached.
const keptAttempts = 3

// merged returns the merged schemas for an attempt. Attempts go through the branches of all
// choices, then through them again with as few properties in an object as allowed.
func (d *draft) merged(refs []*openapi3.SchemaRef, attempt int) (g *merged, bare bool) {
	alone := len(refs) == 1
	if alone {
		if kept, ok := d.m.merges.Load(mergeKey{refs[0].Value, 0}); ok && kept.(*merged).choices == 1 {
			return kept.(*merged), attempt%2 == 1
		}
		if kept, ok := d.m.merges.Load(mergeKey{refs[0].Value, attempt}); ok && !d.fresh {
			return kept.(*merged), attempt/kept.(*merged).choices%2 == 1
		}
	}
	rest := attempt
	g = d.m.merge(refs, func(n int) int {
		i := rest % n
		rest /= n
		if d.fresh {
			i = (i + d.random.IntN(n)) % n
		}
		return i
	})
	keep := len(g.properties) > 0 && attempt < keptAttempts && (!d.fresh || g.choices == 1)
	if alone && keep {
		d.m.merges.Store(mergeKey{refs[0].Value, attempt}, g)
	}
	return g, rest%2 == 1
}

// made generates one value.
func (d *draft) made(g *merged, a ask, attempt int, bare bool) (any, bool) {
	if g.never {
		d.blame("nothing satisfies it")
		return nil, false
	}
	if !d.fresh {
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
		if a.taken.has(v) || g.hard && !d.fits(a.schemas, v) {
			v = !v
		}
		return v, true
	case kindInteger, kindNumber, kindFraction:
		return d.number(g, a, kind == kindInteger)
	case kindString:
		return d.text(g, a)
	case kindArray:
		return d.array(g, a, bare)
	}
	return d.object(g, a, bare)
}

// exemplary returns the first example or default that the schemas accept.
func (d *draft) exemplary(g *merged, a ask) (any, bool) {
	for _, v := range g.examples {
		if d.fits(a.schemas, v) {
			return v, true
		}
		d.warnExample(a, v)
	}
	for _, v := range g.defaults {
		if d.fits(a.schemas, v) {
			return v, true
		}
	}
	return nil, false
}

// warnExample warns once that an example cannot be used.
func (d *draft) warnExample(a ask, v any) {
	ref := a.schemas[0]
	if d.quiet {
		return
	}
	if _, known := d.m.warned.LoadOrStore(ref.Value, true); known {
		return
	}
	at, what := d.at, "the example"
	if ref.Ref != "" {
		at = ref.Ref
	} else if a.name != "" {
		what = "the example of the property " + a.name
	}
	for _, ref := range a.schemas {
		if wrong := d.check.mismatch(ref, v); wrong != "" {
			d.m.Warning(manyUnused, at, what+" does not match its schema ("+wrong+"); it is not used")
			return
		}
	}
}

// listed picks a value of an enum or const.
func (d *draft) listed(g *merged, a ask) (any, bool) {
	first := 0
	if d.fresh && len(g.values) > 0 {
		first = d.random.IntN(len(g.values))
	}
	null := false
	for i := range g.values {
		v := g.values[(first+i)%len(g.values)]
		switch {
		case a.taken.has(v) || !d.fits(a.schemas, v):
		case v == nil:
			null = true
		default:
			return v, true
		}
	}
	if !null {
		d.blame("no value of its enum or const satisfies the rest of it")
	}
	return nil, null
}

// kind picks the type of a value from the listed types, or else from those that the keywords
// suggest. The first attempt takes the first listed type, unless the body is fresh. Null is the
// last resort.
func (d *draft) kind(g *merged, a ask, attempt int) (kinds, bool) {
	var possible []kinds
	for _, k := range g.order {
		if k &= g.kinds; k != 0 && k != kindNull {
			possible = append(possible, k)
		}
	}
	if len(g.order) == 0 {
		for _, k := range suggestedKinds(g, a) {
			if k &= g.kinds; k != 0 {
				possible = append(possible, k)
			}
		}
		if len(possible) > 0 && attempt < mostTries/2 {
			return possible[0], true
		}
	}
	switch {
	case len(possible) == 0 && g.kinds&kindNull != 0:
		return kindNull, true
	case len(possible) == 0:
		return 0, false
	case d.fresh:
		return possible[d.random.IntN(len(possible))], true
	}
	return possible[attempt%len(possible)], true
}

// suggestedKinds returns the types of a schema without a type keyword, the likeliest first.
func suggestedKinds(g *merged, a ask) []kinds {
	rest := []kinds{kindString, kindNumber, kindBoolean, kindObject, kindArray}
	switch {
	case len(g.properties) > 0 || g.minProps > 0 || g.patterny || g.dependent:
		return append([]kinds{kindObject}, rest...)
	case g.array:
		return append([]kinds{kindArray}, rest...)
	case g.minLength > 0 || len(g.patterns) > 0 || g.maxLength >= 0:
		return rest
	case g.low != nil || g.high != nil || len(g.steps) > 0:
		return append([]kinds{kindNumber}, rest...)
	case a.name == "" && len(g.formats) == 0:
		return append([]kinds{kindObject}, rest...)
	}
	return rest
}
