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

// runs are the validations in progress. The validator passes only the location of a value to the
// keywords of this package, so the first token of each location is the name of its run.
type runs struct {
	last atomic.Uint64
	open sync.Map // *run by name
	// unevaluated reports whether any schema has unevaluatedProperties or unevaluatedItems, which
	// depend on the parts of a value that other keywords have evaluated.
	unevaluated atomic.Bool
	// circlesFit treats a value as fitting where a schema leads back to itself; if it is false,
	// such a schema causes an error.
	circlesFit bool
}

// run is one validation. It remembers which values fit which schemas. Otherwise, a schema that
// refers to itself from several alternatives would be checked once for each way that leads to it,
// and the number of ways would double with each level.
type run struct {
	name    string
	all     *runs
	work    int // how many references were followed
	patient int // the work after which outcomes are remembered: small values need no memory
	limit   int // the work after which the run gives up
	gaveUp  bool
	silent  bool       // only whether the value fits is needed
	lenient bool       // in a oneOf with a discriminator, only the named branch counts
	stack   []followed // the references being followed
	circles int        // how many references led back to themselves
	memory  map[pairing]outcome
	err     *jsonschema.ValidationError
}

// followed is a schema that is being followed. depth is the number of tokens in the location of the
// value: schemas with the same depth are for the same value.
type followed struct {
	schema *jsonschema.Schema
	depth  int
}

// pairing is a schema and a value. Lists and objects are identified by their address in memory,
// other values by their content.
type pairing struct {
	schema *jsonschema.Schema
	value  any
}

// outcome says whether the value fits the schema.
type outcome struct {
	fits bool
	err  *jsonschema.ValidationError // nil when the caller only needed to know whether it fits
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
func (rs *runs) begin(v any) *run {
	size := countOf(v)
	return &run{
		name: strconv.FormatUint(rs.last.Add(1), 36), all: rs,
		patient: patientWork + 2*size, limit: limitWork + limitPerPart*size,
	}
}

// validate checks the value against a schema. The locations in the error begin with the name of the
// run.
func (r *run) validate(s *jsonschema.Schema, v any) *run {
	r.stack = []followed{{s, 1}}
	r.all.open.Store(r.name, r)
	defer r.all.open.Delete(r.name)
	root := &jsonschema.Schema{DraftVersion: draftVersion, Extensions: []jsonschema.SchemaExt{start{r, s}}}
	if r.silent {
		root = &jsonschema.Schema{DraftVersion: draftVersion, Not: root}
		_ = root.Validate(v) // start records the result
		return r
	}
	if err := root.Validate(v); err != nil {
		r.err, _ = err.(*jsonschema.ValidationError) // the validator returns no other type
	}
	return r
}

// draftVersion is the JSON Schema version of the compiled schemas.
const draftVersion = 2020

// fits reports whether the value fits. It returns false when the run gave up.
func (r *run) fits() bool { return r.err == nil && !r.gaveUp }

// of returns the run that a keyword is evaluated in; nil when there is none.
func (rs *runs) of(c *jsonschema.ValidatorContext) *run {
	if place := c.ValueLocation(); len(place) > 0 {
		if r, ok := rs.open.Load(place[0]); ok {
			return r.(*run)
		}
	}
	return nil
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

// start is a keyword that checks the value against the schema of a run.
type start struct {
	run    *run
	schema *jsonschema.Schema
}

// Validate implements the keyword for the validator.
func (s start) Validate(c *jsonschema.ValidatorContext, v any) {
	if err := c.Validate(s.schema, v, []string{s.run.name}); err != nil {
		s.run.err, _ = err.(*jsonschema.ValidationError) // the validator returns no other type
	}
}

// follow checks a value against the schema that a reference leads to.
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
	e, _ := err.(*jsonschema.ValidationError) // the validator returns no other type
	if e != nil {
		shorten(e, maxErrors) // a recursive schema may have this many errors at each level
		c.AddErr(e)
	}
	if r.work >= r.patient && r.circles == circles { // inside a circle, the outcome depends on where the circle was entered
		r.remember(s, v, e)
	}
}

// isFollowed reports whether the same value is already being checked against the schema.
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

// recall reports the remembered outcome for a schema and a value. It returns false if the value
// must be checked.
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
		return false // the error must be reported with this location
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

// mapAddress and noItems are values in pairings.
type (
	mapAddress uintptr
	noItems    struct{}
)

// pairingOf returns the key for a schema and a value, and reports whether the value exists at only
// one location.
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

// asksEvaluated reports whether the enclosing schema needs to know which parts of the value its
// subschemas evaluate. If so, the validator evaluates the second of two alternatives even if the
// first one fits.
func (r *run) asksEvaluated(c *jsonschema.ValidatorContext, v any) bool {
	asked, yes := false, true
	probe := &jsonschema.Schema{DraftVersion: draftVersion, AnyOf: []*jsonschema.Schema{
		{DraftVersion: draftVersion, Bool: &yes},
		{DraftVersion: draftVersion, Extensions: []jsonschema.SchemaExt{flag{&asked}}},
	}}
	_ = c.Validate(probe, v, nil) // the first alternative fits
	return asked
}

// flag is a keyword that records that it was evaluated.
type flag struct{ seen *bool }

// Validate implements the keyword for the validator.
func (f flag) Validate(*jsonschema.ValidatorContext, any) { *f.seen = true }

// isSilent reports whether the caller only needs to know if there is an error. If so, errors have
// no kind. The values that it compares are not JSON, which is always an error.
func isSilent(c *jsonschema.ValidatorContext) bool {
	_, err := c.Equals(flag{}, flag{})
	e, ok := err.(*jsonschema.ValidationError)
	return ok && e.ErrorKind == nil
}

// repeated represents an error that was found before, when the same value was reached another way.
type repeated struct{ err *jsonschema.ValidationError }

// KeywordPath and LocalizedString implement jsonschema.ErrorKind.
func (repeated) KeywordPath() []string { return nil }

// LocalizedString returns a string that is never shown.
func (repeated) LocalizedString(*message.Printer) string { return "does not fit either" }

// circle is the error for a schema that refers to itself in a circle.
type circle struct{}

// KeywordPath and LocalizedString implement jsonschema.ErrorKind.
func (circle) KeywordPath() []string { return nil }

// LocalizedString returns the message.
func (circle) LocalizedString(*message.Printer) string {
	return "cannot be checked: its schema refers to itself"
}
