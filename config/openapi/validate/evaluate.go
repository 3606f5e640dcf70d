package validate

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	"mockserver/config/openapi/jsonvalue"
)

// run is one validation. It remembers which values fit which schemas. Otherwise, a schema that
// refers to itself from several alternatives would be checked once for each way that leads to it,
// and the number of ways would double with each level.
type run struct {
	work    int // how many references were followed
	patient int // the work after which outcomes are remembered: small values need no memory
	limit   int // the work after which the run gives up
	gaveUp  bool
	silent  bool // only whether the value fits is needed
	lenient bool // a discriminator of generated values decides, even if other alternatives fit too
	// circlesFit treats a value as fitting where a schema leads back to itself; if it is false,
	// such a schema causes an error.
	circlesFit bool
	circles    int        // how many references led back to themselves
	stack      []followed // the references being followed
	place      []string   // of the value being checked
	memory     map[pairing]outcome
	fault      *fault
}

// followed is a schema that is being followed. depth is the length of the place of the value:
// schemas with the same depth are for the same value.
type followed struct {
	schema *schema
	depth  int
}

// pairing is a schema and a value. Lists and objects are identified by their address in memory,
// other values by their content.
type pairing struct {
	schema *schema
	value  any
}

// outcome says whether the value fits the schema.
type outcome struct {
	fits  bool
	fault *fault // nil when only whether it fits was needed
}

// The limits on the work of a validation: a constant, plus an amount for each part of the value.
// Thanks to its memory, a validation comes close to the limit only when schemas refer to each other
// in hundreds of ways.
const (
	patientWork  = 64
	limitWork    = 100_000
	limitPerPart = 100
)

// begin returns a run for a value.
func (c *schemas) begin(v any) *run {
	size := countOf(v)
	return &run{patient: patientWork + 2*size, limit: limitWork + limitPerPart*size, circlesFit: c.use != received}
}

// countOf returns how many values a value consists of.
func countOf(v any) int {
	n := 1
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			n += countOf(item)
		}
	case map[string]any:
		for _, item := range v {
			n += countOf(item)
		}
	}
	return n
}

// validate checks a value against a schema. Most values fit, so what is wrong is only searched for
// in those that do not.
func (r *run) validate(s *schema, v any) *run {
	silent := r.silent
	r.silent = true
	r.fault = r.check(s, v, nil)
	if r.silent = silent; silent || r.fault == nil {
		return r
	}
	r.work = min(r.work, r.patient)
	if f := r.check(s, v, nil); f != nil {
		r.fault = f
	}
	return r
}

// ok reports whether the value fits. It returns false when the run gave up.
func (r *run) ok() bool { return r.fault == nil && !r.gaveUp }

// evaluated contains the parts of a value that schemas have evaluated, which the rules for
// unevaluated ones depend on. It is nil where no such rule applies.
type evaluated struct {
	all   bool
	names map[string]bool // of properties, or indexes
}

func (e *evaluated) add(name string) {
	if e != nil && !e.all {
		if e.names == nil {
			e.names = map[string]bool{}
		}
		e.names[name] = true
	}
}

// fits reports whether a value fits a schema.
func (r *run) fits(s *schema, v any, seen *evaluated) bool {
	silent := r.silent
	r.silent = true
	f := r.part(s, v, seen)
	r.silent = silent
	return f == nil
}

// part checks a value against a part of its schema. What a part evaluates counts only if the value
// fits it.
func (r *run) part(s *schema, v any, seen *evaluated) *fault {
	if seen == nil {
		return r.check(s, v, nil)
	}
	var own evaluated
	f := r.check(s, v, &own)
	if f == nil {
		seen.all = seen.all || own.all
		for name := range own.names {
			seen.add(name)
		}
	}
	return f
}

// inside checks a value at a name or index in the current one.
func (r *run) inside(name string, s *schema, v any) *fault {
	r.place = append(r.place, name)
	f := r.check(s, v, nil)
	r.place = r.place[:len(r.place)-1]
	return f
}

// check checks a value against a schema, and notes in seen what was evaluated.
func (r *run) check(s *schema, v any, seen *evaluated) *fault {
	switch {
	case s.refusal == unevaluated:
		return r.wrong(isUnevaluated, refusals[s.refusal])
	case s.refusal != notRefused:
		return r.wrong(isPlain, refusals[s.refusal])
	case s.ref != nil:
		return r.follow(s.ref(), v, seen)
	}
	if f := r.whole(s, v); f != nil {
		return f
	}
	if seen == nil && s.hasUnevaluated() {
		seen = &evaluated{}
	}
	all := faults{run: r}
	switch v := v.(type) {
	case string:
		r.text(s.text, v, &all)
	case []any:
		r.list(s.list, v, seen, &all)
	case map[string]any:
		r.object(s.object, v, seen, &all)
	case json.Number, float64:
		r.number(s.bounds, v, &all)
	}
	r.combined(s, v, seen, &all)
	if seen != nil {
		r.unevaluated(s, v, seen, &all)
	}
	return all.fault()
}

// whole checks the rules without which the others would only add errors: type, values and format.
func (r *run) whole(s *schema, v any) *fault {
	if s.types != 0 {
		got := typesAmong([]any{v})
		if s.types&got == 0 || s.types&numberType == 0 && got&numberType != 0 && !rational(v).IsInt() {
			return r.wrong(isOtherType, "is ", got, "; expected ", s.types)
		}
	}
	for _, a := range s.allowed {
		switch {
		case a.has(v):
		case len(a.values) == 1:
			return r.wrong(isOtherValue, a)
		default:
			return r.wrong(isPlain, a)
		}
	}
	if s.format != nil && !s.format.fits(v) {
		return r.wrong(isPlain, "is not of the format ", s.format.name)
	}
	return nil
}

// has reports whether a value is allowed.
func (a *allowed) has(v any) bool {
	var room [64]byte
	return a.known[string(jsonvalue.AppendIdentity(room[:0], v))]
}

// String returns the error for a value that is not allowed.
func (a *allowed) String() string {
	switch {
	case !a.isEnum:
		return "is not " + shown(a.values)
	case len(a.values) == 0:
		return "is not allowed: the enum is empty"
	}
	return "is not one of " + shown(a.values)
}

// rational returns the exact value of a number.
func rational(v any) *big.Rat {
	switch v := v.(type) {
	case json.Number:
		if i, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return new(big.Rat).SetInt64(i)
		}
		if r, ok := new(big.Rat).SetString(string(v)); ok {
			return r
		}
	case float64:
		return new(big.Rat).SetFloat64(v)
	}
	return new(big.Rat)
}

func (r *run) number(bounds []bound, v any, all *faults) {
	if len(bounds) == 0 {
		return
	}
	n := rational(v)
	for _, b := range bounds {
		fits := false
		if b.fits != nil {
			fits = b.fits(n.Cmp(b.limit))
		} else {
			fits = new(big.Rat).Quo(n, b.limit).IsInt()
		}
		if !fits {
			all.add(r.wrong(isPlain, b.what))
		}
	}
}

func (r *run) text(k *textRules, v string, all *faults) {
	if k == nil {
		return
	}
	r.extent(k.length, utf8.RuneCountInString(v), "character", "", all)
	if k.pattern != nil && !k.pattern.Matches(v) {
		all.add(r.wrong(isPlain, "does not match the pattern ", k.source))
	}
}

// extent checks a number of things.
func (r *run) extent(e extent, n int, thing, which string, all *faults) {
	if n < e.least {
		all.add(r.wrong(isPlain, "has ", counted(n, thing), which, "; expected at least ", e.least))
	}
	if n > e.most {
		all.add(r.wrong(isPlain, "has ", counted(n, thing), which, "; expected at most ", e.most))
	}
}

func (r *run) list(k *listRules, v []any, seen *evaluated, all *faults) {
	if k == nil {
		return
	}
	r.extent(k.size, len(v), "item", "", all)
	if k.unique {
		places := make(map[string]int, len(v))
		for i := range v {
			key := string(jsonvalue.AppendIdentity(nil, v[i]))
			if first, ok := places[key]; ok {
				all.add(r.wrong(isPlain, fmt.Sprintf("has the same item twice, at %d and %d", first, i)))
				break
			}
			places[key] = i
		}
	}
	fitting := 0
	for i := 0; i < len(v) && !all.isFull(); i++ {
		item := k.items
		if i < len(k.prefix) {
			item = k.prefix[i]
		} else if item == nil && k.contains == nil {
			break
		}
		name := strconv.Itoa(i)
		if item != nil {
			seen.add(name)
			all.add(r.inside(name, item, v[i]))
		}
		if k.contains != nil && r.fitsInside(name, k.contains, v[i]) {
			seen.add(name)
			fitting++
		}
	}
	if k.contains != nil && !all.done {
		r.extent(k.contained, fitting, "item", " that the schema of contains accepts", all)
	}
}

// fitsInside reports whether a value at a name or index in the current one fits a schema.
func (r *run) fitsInside(name string, s *schema, v any) bool {
	silent := r.silent
	r.silent = true
	f := r.inside(name, s, v)
	r.silent = silent
	return f == nil
}

// unevaluated checks the parts of a value that nothing has evaluated, which then counts as done.
func (r *run) unevaluated(s *schema, v any, seen *evaluated, all *faults) {
	add := func(name string, rest *schema, v any) {
		if !seen.all && !seen.names[name] && !all.isFull() {
			all.add(r.inside(name, rest, v))
		}
	}
	switch v := v.(type) {
	case []any:
		if s.list != nil && s.list.unevaluated != nil {
			for i := range v {
				add(strconv.Itoa(i), s.list.unevaluated, v[i])
			}
			seen.all = true
		}
	case map[string]any:
		if s.object != nil && s.object.unevaluated != nil {
			for name := range v {
				add(name, s.object.unevaluated, v[name])
			}
			seen.all = true
		}
	}
}

func (r *run) object(k *objectRules, v map[string]any, seen *evaluated, all *faults) {
	if k == nil {
		return
	}
	r.extent(k.size, len(v), "property", "", all)
	r.required(k.required, v, "is required", all)
	for name, others := range k.needed {
		if _, ok := v[name]; ok {
			r.required(others, v, "is required next to "+strconv.Quote(name), all)
		}
	}
	for name, s := range k.dependent {
		if _, ok := v[name]; ok {
			all.add(r.part(s, v, seen))
		}
	}
	if len(k.properties)+len(k.patterns) == 0 && k.others == nil && k.names == nil {
		return
	}
	for name, value := range v {
		if all.isFull() {
			break
		}
		s := k.properties[name]
		isKnown := s != nil
		if isKnown {
			all.add(r.inside(name, s, value))
		}
		for _, p := range k.patterns {
			if p.pattern.Matches(name) {
				isKnown = true
				all.add(r.inside(name, p.schema, value))
			}
		}
		if !isKnown && k.others != nil {
			isKnown = true
			all.add(r.inside(name, k.others, value))
		}
		if isKnown {
			seen.add(name)
		}
		if k.names != nil && !r.fitsInside(name, k.names, name) {
			all.add(r.wrongAt(name, "has a name that is not accepted"))
		}
	}
}

func (r *run) required(names []string, v map[string]any, what string, all *faults) {
	for _, name := range names {
		if _, ok := v[name]; !ok {
			all.add(r.wrongAt(name, what))
		}
	}
}

// combined checks the schemas that a schema is composed of.
func (r *run) combined(s *schema, v any, seen *evaluated, all *faults) {
	if all.done {
		return
	}
	if s.not != nil && r.fits(s.not, v, nil) {
		all.add(r.wrong(isPlain, "is what the schema excludes (not)"))
	}
	for _, part := range s.allOf {
		if !all.done {
			all.add(r.part(part, v, seen))
		}
	}
	if !all.done {
		all.add(r.alternatives(s.anyOf, false, v, seen))
	}
	if !all.done {
		all.add(r.alternatives(s.oneOf, true, v, seen))
	}
	for _, k := range s.choices {
		if !all.done {
			r.choose(k, v, seen, all)
		}
	}
	if k := s.condition; k != nil && !all.done {
		then := k.otherwise
		if r.fits(k.when, v, seen) {
			then = k.then
		}
		if then != nil {
			all.add(r.part(then, v, seen))
		}
	}
}

// alternatives checks a value against alternatives, of which exactly one must fit, or at least one.
func (r *run) alternatives(list []*schema, one bool, v any, seen *evaluated) *fault {
	fitting := -1
	for i, s := range list {
		switch {
		case !r.fits(s, v, seen):
		case fitting >= 0 && one:
			return r.wrong(isPlain, fmt.Sprintf("fits two of the alternatives, numbers %d and %d; expected one (oneOf)", fitting+1, i+1))
		case fitting < 0:
			fitting = i
		}
		if fitting >= 0 && !one && seen == nil {
			break
		}
	}
	if len(list) == 0 || fitting >= 0 {
		return nil
	}
	f := r.wrong(isChoice, fmt.Sprintf("fits none of the %d alternatives: ", len(list)))
	if r.silent {
		return f
	}
	for _, s := range list {
		if cause := r.part(s, v, nil); cause != nil {
			f.causes, f.leaves = append(f.causes, cause), max(f.leaves, cause.leaves)
		}
	}
	return f
}

// choose checks a value against the alternative that its discriminator names.
func (r *run) choose(k *choice, v any, seen *evaluated, all *faults) {
	object, isObject := v.(map[string]any)
	value, ok := object[k.property]
	name, _ := value.(string)
	switch {
	case k.oneOf != nil && (!r.lenient || k.named[name] == nil):
		all.add(r.alternatives(k.oneOf, true, v, seen))
	case !isObject:
		all.add(r.whole(&schema{types: objectType}, v))
	case !ok:
		all.add(r.wrongAt(k.property, "is required"))
	case k.named[name] == nil:
		all.add(r.inside(k.property, &schema{allowed: []*allowed{k.values}}, value))
	default:
		for _, s := range k.named[name] {
			all.add(r.part(s, v, seen))
		}
	}
	if isObject && k.oneOf == nil {
		seen.add(k.property)
	}
}

// follow checks a value against the schema that a reference leads to.
func (r *run) follow(s *schema, v any, seen *evaluated) *fault {
	depth := len(r.place)
	switch {
	case r.isFollowed(s, depth):
		r.circles++
		if r.circlesFit {
			return nil
		}
		return r.wrong(isOtherType, "cannot be checked: its schema refers to itself")
	case r.work >= r.limit:
		r.gaveUp = true
		return nil
	case r.work >= r.patient:
		if known, ok := r.recall(s, v, seen); ok {
			return known
		}
	}
	r.work++
	circles := r.circles
	r.stack = append(r.stack, followed{s, depth})
	f := r.check(s, v, seen)
	r.stack = r.stack[:len(r.stack)-1]
	if f != nil {
		f.shorten(maxErrors) // a recursive schema may have this many errors at each level
	}
	if r.work >= r.patient && r.circles == circles { // inside a circle, the outcome depends on where the circle was entered
		r.remember(s, v, f)
	}
	return f
}

// isFollowed reports whether the same value is already being checked against the schema.
func (r *run) isFollowed(s *schema, depth int) bool {
	for _, f := range slices.Backward(r.stack) {
		if f.depth != depth {
			return false
		}
		if f.schema == s {
			return true
		}
	}
	return false
}

// recall returns the remembered fault of a value, nil if it fits. It returns false if the value
// must be checked.
func (r *run) recall(s *schema, v any, seen *evaluated) (*fault, bool) {
	key, isPart := pairingOf(s, v)
	known, ok := r.memory[key]
	switch {
	case !ok:
		return nil, false
	case known.fits:
		return nil, seen == nil
	case r.silent:
		return unfit, true
	}
	// A fault is reported with its place.
	return known.fault, known.fault != nil && (isPart || slices.Equal(known.fault.place, r.place))
}

func (r *run) remember(s *schema, v any, f *fault) {
	if r.memory == nil {
		r.memory = map[pairing]outcome{}
	}
	key, _ := pairingOf(s, v)
	known := outcome{fits: f == nil}
	if !r.silent {
		known.fault = f
	}
	r.memory[key] = known
}

// mapAddress and noItems are values in pairings.
type (
	mapAddress uintptr
	noItems    struct{}
)

// pairingOf returns the key for a schema and a value, and reports whether the value exists at only
// one place.
func pairingOf(s *schema, v any) (key pairing, isPart bool) {
	switch v := v.(type) {
	case map[string]any:
		return pairing{s, mapAddress(reflect.ValueOf(v).Pointer())}, true
	case []any:
		if len(v) == 0 {
			return pairing{s, noItems{}}, false
		}
		return pairing{s, &v[0]}, true
	}
	return pairing{s, v}, false
}
