package validate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"unicode/utf8"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/internal/wording"
)

// validate checks a value against a schema. Most values fit, so what is wrong is only searched for
// in those that do not.
func (r *run) validate(s *schema, v any) *run {
	if r.silently(func() *fault { return r.check(s, v, nil) }) {
		return r
	}
	r.fault = unfit
	if !r.silent {
		r.work = min(r.work, r.patient)
		r.fault = cmp.Or(r.check(s, v, nil), unfit)
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

// silently reports whether a check finds nothing.
func (r *run) silently(check func() *fault) bool {
	silent := r.silent
	r.silent = true
	f := check()
	r.silent = silent
	return f == nil
}

// fits reports whether a value fits a part of its schema.
func (r *run) fits(s *schema, v any, seen *evaluated) bool {
	return r.silently(func() *fault { return r.part(s, v, seen) })
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
	if f := r.basics(s, v); f != nil {
		return f
	}
	if seen == nil && (s.unevaluatedItems != nil || s.unevaluatedProperties != nil) {
		seen = &evaluated{}
	}
	all := faults{run: r}
	switch v := v.(type) {
	case string:
		r.text(s, v, &all)
	case []any:
		r.list(s, v, seen, &all)
	case map[string]any:
		r.object(s, v, seen, &all)
	case json.Number, float64:
		r.number(s.bounds, v, &all)
	}
	r.combined(s, v, seen, &all)
	if seen != nil {
		r.unevaluated(s, v, seen, &all)
	}
	return all.fault()
}

// basics checks the rules without which the others would only add errors: type, values and format.
func (r *run) basics(s *schema, v any) *fault {
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
func (a allowed) has(v any) bool {
	var room [64]byte
	return a.known[string(jsonvalue.AppendIdentity(room[:0], v))]
}

// String returns the error for a value that is not allowed.
func (a allowed) String() string {
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
		if b.fits != nil && !b.fits(n.Cmp(b.limit)) || b.fits == nil && !new(big.Rat).Quo(n, b.limit).IsInt() {
			all.add(r.wrong(isPlain, b.what))
		}
	}
}

func (r *run) text(s *schema, v string, all *faults) {
	if s.length != (extent{}) {
		r.extent(s.length, utf8.RuneCountInString(v), "character", "", all)
	}
	if s.pattern != nil && !s.pattern.Matches(v) {
		all.add(r.wrong(isPlain, "does not match the pattern ", s.pattern.Source))
	}
}

// extent checks a number of things.
func (r *run) extent(e extent, n int, thing, which string, all *faults) {
	if uint64(n) < e.least {
		all.add(r.wrong(isPlain, "has ", wording.Count(n, thing), which, "; expected at least ", e.least))
	}
	if e.most != nil && uint64(n) > *e.most {
		all.add(r.wrong(isPlain, "has ", wording.Count(n, thing), which, "; expected at most ", *e.most))
	}
}

func (r *run) list(s *schema, v []any, seen *evaluated, all *faults) {
	r.extent(s.size, len(v), "item", "", all)
	if s.unique {
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
		item := s.items
		if i < len(s.prefix) {
			item = s.prefix[i]
		} else if item == nil && s.contains == nil {
			break
		}
		name := strconv.Itoa(i)
		if item != nil {
			seen.add(name)
			all.add(r.inside(name, item, v[i]))
		}
		if s.contains != nil && r.silently(func() *fault { return r.inside(name, s.contains, v[i]) }) {
			seen.add(name)
			fitting++
		}
	}
	if s.contains != nil && !all.done {
		r.extent(s.contained, fitting, "item", " that the schema of contains accepts", all)
	}
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
		for i := 0; i < len(v) && s.unevaluatedItems != nil; i++ {
			add(strconv.Itoa(i), s.unevaluatedItems, v[i])
		}
		seen.all = seen.all || s.unevaluatedItems != nil
	case map[string]any:
		for name := range v {
			if s.unevaluatedProperties != nil {
				add(name, s.unevaluatedProperties, v[name])
			}
		}
		seen.all = seen.all || s.unevaluatedProperties != nil
	}
}

func (r *run) object(s *schema, v map[string]any, seen *evaluated, all *faults) {
	r.extent(s.count, len(v), "property", "", all)
	r.required(s.required, v, "is required", all)
	for name, others := range s.dependentRequired {
		if _, ok := v[name]; ok {
			r.required(others, v, "is required next to "+strconv.Quote(name), all)
		}
	}
	for name, part := range s.dependent {
		if _, ok := v[name]; ok {
			all.part(part, v, seen)
		}
	}
	if len(s.properties)+len(s.patterns) == 0 && s.others == nil && s.names == nil {
		return
	}
	for name, value := range v {
		if all.isFull() {
			break
		}
		part, isKnown := s.properties[name]
		if isKnown {
			all.add(r.inside(name, part, value))
		}
		for pattern, part := range s.patterns {
			if pattern == nil || pattern.Matches(name) {
				isKnown = true
				all.add(r.inside(name, part, value))
			}
		}
		if !isKnown && s.others != nil {
			isKnown = true
			all.add(r.inside(name, s.others, value))
		}
		if isKnown {
			seen.add(name)
		}
		if s.names != nil && !r.silently(func() *fault { return r.inside(name, s.names, name) }) {
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
	if s.not != nil && r.fits(s.not, v, nil) {
		all.add(r.wrong(isPlain, "is what the schema excludes (not)"))
	}
	for _, part := range s.allOf {
		all.part(part, v, seen)
	}
	r.alternatives(s.anyOf, false, v, seen, all)
	r.alternatives(s.oneOf, true, v, seen, all)
	for _, k := range s.choices {
		r.choose(k, v, seen, all)
	}
	if k := s.condition; k.when != nil && !all.done {
		if r.fits(k.when, v, seen) {
			all.part(k.then, v, seen)
		} else {
			all.part(k.otherwise, v, seen)
		}
	}
}

// alternatives checks a value against alternatives, of which exactly one must fit, or at least one.
func (r *run) alternatives(list []*schema, one bool, v any, seen *evaluated, all *faults) {
	if len(list) == 0 || all.done {
		return
	}
	fitting := -1
	for i, s := range list {
		switch {
		case !r.fits(s, v, seen):
		case fitting >= 0 && one:
			all.add(r.wrong(isPlain, fmt.Sprintf("fits two of the alternatives, numbers %d and %d; expected one (oneOf)", fitting+1, i+1)))
			return
		case !one && seen == nil:
			return
		default:
			fitting = i
		}
	}
	if fitting >= 0 {
		return
	}
	before := r.kept
	f := r.wrong(isChoice, "fits none of the ", len(list), " alternatives: ")
	most := r.kept
	for i := 0; i < len(list) && !r.silent; i++ {
		r.kept = before // the violations of one alternative are reported
		if cause := r.part(list[i], v, nil); cause != nil {
			f.causes = append(f.causes, cause)
		}
		most = max(most, r.kept)
	}
	r.kept = most
	all.add(f)
}

// choose checks a value against the alternative that its discriminator names.
func (r *run) choose(k choice, v any, seen *evaluated, all *faults) {
	object, isObject := v.(map[string]any)
	value, ok := object[k.property]
	name, _ := value.(string)
	switch {
	case k.oneOf != nil && (!r.lenient || k.named[name] == nil):
		r.alternatives(k.oneOf, true, v, seen, all)
	case !isObject:
		all.add(r.basics(&schema{types: objectType}, v))
	case !ok:
		all.add(r.wrongAt(k.property, "is required"))
	case k.named[name] == nil:
		all.add(r.inside(k.property, &schema{allowed: []allowed{k.values}}, value))
	default:
		for _, s := range k.named[name] {
			all.part(s, v, seen)
		}
	}
	if isObject && k.oneOf == nil {
		seen.add(k.property)
	}
}
