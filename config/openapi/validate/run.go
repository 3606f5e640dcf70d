package validate

import (
	"reflect"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/message"
)

// runs are the validations that are going on. The validator hands nothing down to the
// keywords that are ours but the place of a value, so the first token of each place is
// the name of its run.
type runs struct {
	last atomic.Uint64
	open sync.Map // of *run by name
	// unevaluated reports whether any schema has unevaluatedProperties or
	// unevaluatedItems, which ask what parts of a schema have looked at.
	unevaluated atomic.Bool
	// circlesFit has what leads to itself fit, where it is an error otherwise.
	circlesFit bool
}

// run is one validation. It remembers which values fit which schemas: one that refers to
// itself from several alternatives is otherwise held against a value once for each way
// that leads to it, which are twice as many at each level.
type run struct {
	name    string
	all     *runs
	work    int // how many references were followed
	patient int // the work after which it remembers: small values need no memory
	limit   int // the work after which it gives up
	gaveUp  bool
	silent  bool       // only whether the value fits is asked
	lenient bool       // of a oneOf with a discriminator only what that names counts
	stack   []followed // the references that are being followed
	circles int        // how often one of them led to itself
	memory  map[pairing]outcome
	err     *jsonschema.ValidationError
}

// followed is a schema at a place of so many tokens. Those of one length are for the same
// value.
type followed struct {
	schema *jsonschema.Schema
	depth  int
}

// pairing is a schema and a value. What is in lists and objects is told apart by where it
// is in memory, other values by what they are.
type pairing struct {
	schema *jsonschema.Schema
	value  any
}

// outcome is whether the value fits the schema.
type outcome struct {
	fits bool
	err  *jsonschema.ValidationError // nil when only that was asked
}

// The work that a validation may take: some, and more for each value in what is
// validated. With its memory it comes near it only where schemas refer to each other in
// hundreds of ways.
const (
	patientWork  = 64
	limitWork    = 100_000
	limitPerPart = 100
)

// begin makes a run for a value.
func (rs *runs) begin(v any) *run {
	size := countOf(v)
	return &run{
		name: strconv.FormatUint(rs.last.Add(1), 36), all: rs,
		patient: patientWork + 2*size, limit: limitWork + limitPerPart*size,
	}
}

// validate holds the value against a schema. The places in the error have the name of
// the run in front.
func (r *run) validate(s *jsonschema.Schema, v any) *run {
	r.stack = []followed{{s, 1}}
	r.all.open.Store(r.name, r)
	defer r.all.open.Delete(r.name)
	root := &jsonschema.Schema{DraftVersion: draftVersion, Extensions: []jsonschema.SchemaExt{start{r, s}}}
	if r.silent {
		root = &jsonschema.Schema{DraftVersion: draftVersion, Not: root}
		_ = root.Validate(v) // start keeps what it found
		return r
	}
	if err := root.Validate(v); err != nil {
		r.err, _ = err.(*jsonschema.ValidationError) // the validator has no others
	}
	return r
}

// draftVersion is that of what schemas are turned into.
const draftVersion = 2020

// fits reports whether the value fits. When the run gave up it does not.
func (r *run) fits() bool { return r.err == nil && !r.gaveUp }

// of is the run that a keyword is looked at in; nil for none.
func (rs *runs) of(c *jsonschema.ValidatorContext) *run {
	if place := c.ValueLocation(); len(place) > 0 {
		if r, ok := rs.open.Load(place[0]); ok {
			return r.(*run)
		}
	}
	return nil
}

// countOf is how many values a value consists of.
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

// start is a keyword that holds the value against the schema of a run.
type start struct {
	run    *run
	schema *jsonschema.Schema
}

// Validate is what the validator calls for the value.
func (s start) Validate(c *jsonschema.ValidatorContext, v any) {
	if err := c.Validate(s.schema, v, []string{s.run.name}); err != nil {
		s.run.err, _ = err.(*jsonschema.ValidationError) // the validator has no others
	}
}

// follow holds a value against the schema that a reference leads to.
func (r *run) follow(c *jsonschema.ValidatorContext, s *jsonschema.Schema, v any) {
	depth := len(c.ValueLocation())
	switch {
	case r.isFollowed(s, depth):
		r.circles++
		if !r.all.circlesFit {
			c.AddError(circle{})
		}
		return
	case r.work >= r.limit:
		r.gaveUp = true
		return
	case r.work >= r.patient && r.recall(c, s, v):
		return
	}
	r.work++
	circles := r.circles
	r.stack = append(r.stack, followed{s, depth})
	err := c.Validate(s, v, nil)
	r.stack = r.stack[:len(r.stack)-1]
	e, _ := err.(*jsonschema.ValidationError) // the validator has no others
	if e != nil {
		shorten(e, maxErrors) // what is recursive may have as many at each level
		c.AddErr(e)
	}
	if r.work >= r.patient && r.circles == circles { // in a circle it depends on where it was entered
		r.remember(s, v, e)
	}
}

// isFollowed reports whether the schema is being held against the same value already.
func (r *run) isFollowed(s *jsonschema.Schema, depth int) bool {
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

// recall takes the outcome from memory, if it is there.
func (r *run) recall(c *jsonschema.ValidatorContext, s *jsonschema.Schema, v any) bool {
	key, isPart := pairingOf(s, v)
	known, ok := r.memory[key]
	switch {
	case !ok:
		return false
	case known.fits:
		return !r.all.unevaluated.Load() || !r.asksEvaluated(c, v)
	case isSilent(c):
		c.AddError(repeated{})
		return true
	case known.err == nil, !isPart && !slices.Equal(known.err.InstanceLocation, c.ValueLocation()):
		return false // what is wrong is to be told, and of this place
	}
	c.AddError(repeated{known.err})
	return true
}

func (r *run) remember(s *jsonschema.Schema, v any, e *jsonschema.ValidationError) {
	if r.memory == nil {
		r.memory = map[pairing]outcome{}
	}
	key, _ := pairingOf(s, v)
	known := outcome{fits: e == nil, err: e}
	if e != nil && e.ErrorKind == nil {
		known.err = nil
	}
	r.memory[key] = known
}

// mapAddress and noItems are values of pairings.
type (
	mapAddress uintptr
	noItems    struct{}
)

// pairingOf also reports whether the value is at one place only.
func pairingOf(s *jsonschema.Schema, v any) (key pairing, isPart bool) {
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

// asksEvaluated reports whether the schema around asks which parts of the value are looked
// at by what it consists of. The validator then goes on to the second of two
// alternatives, though the first fits.
func (r *run) asksEvaluated(c *jsonschema.ValidatorContext, v any) bool {
	asked, yes := false, true
	probe := &jsonschema.Schema{DraftVersion: draftVersion, AnyOf: []*jsonschema.Schema{
		{DraftVersion: draftVersion, Bool: &yes},
		{DraftVersion: draftVersion, Extensions: []jsonschema.SchemaExt{flag{&asked}}},
	}}
	_ = c.Validate(probe, v, nil) // the first fits
	return asked
}

// flag is a keyword that tells that it was looked at.
type flag struct{ seen *bool }

// Validate is what the validator calls for the value.
func (f flag) Validate(*jsonschema.ValidatorContext, any) { *f.seen = true }

// isSilent reports whether only the fact that there is an error is asked for: errors have
// no kind then, such as that for values that are none of JSON.
func isSilent(c *jsonschema.ValidatorContext) bool {
	_, err := c.Equals(flag{}, flag{})
	e, ok := err.(*jsonschema.ValidationError)
	return ok && e.ErrorKind == nil
}

// repeated stands for an error that was found before, on another way to the same value.
type repeated struct{ err *jsonschema.ValidationError }

// KeywordPath and LocalizedString make it what the validator calls an error.
func (repeated) KeywordPath() []string { return nil }

// LocalizedString is never told.
func (repeated) LocalizedString(*message.Printer) string { return "does not fit either" }

// circle is the error of a schema that leads to itself.
type circle struct{}

// KeywordPath and LocalizedString make it what the validator calls an error.
func (circle) KeywordPath() []string { return nil }

// LocalizedString is what is told of it.
func (circle) LocalizedString(*message.Printer) string {
	return "cannot be checked: its schema leads to itself"
}
