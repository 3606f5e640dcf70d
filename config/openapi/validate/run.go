package validate

import (
	"reflect"
	"slices"
)

// run is one validation. It remembers which values fit which schemas. Otherwise, a schema that
// refers to itself from several alternatives would be checked once for each way that leads to it,
// and the number of ways would double with each level.
type run struct {
	work    int // how many references were followed
	patient int // the work after which outcomes are remembered: small values need no memory
	limit   int // the work after which the run gives up
	gaveUp  bool
	kept    int  // how many faults were found
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
	kept  int    // how many faults it consists of
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
	return &run{patient: patientWork + 2*size, limit: limitWork + limitPerPart*size, circlesFit: c.use.isGenerated()}
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
	circles, kept := r.circles, r.kept
	r.stack = append(r.stack, followed{s, depth})
	f := r.check(s, v, seen)
	r.stack = r.stack[:len(r.stack)-1]
	if r.work >= r.patient && r.circles == circles { // inside a circle, the outcome depends on where the circle was entered
		r.remember(s, v, f, r.kept-kept)
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
	if known.fault == nil || !isPart && !slices.Equal(known.fault.place, r.place) {
		return nil, false // a fault is reported with its place
	}
	r.kept += known.kept
	return known.fault, true
}

func (r *run) remember(s *schema, v any, f *fault, kept int) {
	if r.memory == nil {
		r.memory = map[pairing]outcome{}
	}
	key, _ := pairingOf(s, v)
	known := outcome{fits: f == nil}
	if !r.silent {
		known.fault, known.kept = f, kept
	}
	r.memory[key] = known
}

// address is the place of a list or an object in memory.
type address uintptr

// pairingOf returns the key for a schema and a value, and reports whether the value exists at only
// one place.
func pairingOf(s *schema, v any) (key pairing, isPart bool) {
	switch of := reflect.ValueOf(v); of.Kind() {
	case reflect.Map:
		return pairing{s, address(of.Pointer())}, true
	case reflect.Slice: // all empty lists may have one address
		return pairing{s, address(of.Pointer())}, of.Len() > 0
	}
	return pairing{s, v}, false
}
