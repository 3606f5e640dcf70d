package validate

import (
	"fmt"
	"slices"
)

// fault is what is wrong with a value, as a message or as several causes.
type fault struct {
	kind    faultKind
	place   []string
	message string
	causes  []*fault // of isChoice, why each of the alternatives does not fit
}

// faultKind is what alternatives need to know about a fault.
type faultKind uint8

const (
	isPlain       faultKind = iota
	isGroup                 // several causes and no message
	isChoice                // none of several alternatives fits
	isOtherType             // the schema is for values of another type, or for none
	isOtherValue            // the value is not the only one that is allowed
	isUnevaluated           // no part of the schema declares the value
	isCut                   // there are further faults, which were not searched for or not kept
)

// unfit is the fault if only whether a value fits is needed.
var unfit = &fault{}

// maxErrors is the number of faults after which the values in a list or an object, which may be
// millions, are not checked. At least maxViolations of them are reported.
const maxErrors = 2 * maxViolations

// wrong returns a fault of the current value, whose message consists of the parts.
func (r *run) wrong(kind faultKind, parts ...any) *fault {
	if r.silent {
		return unfit
	}
	r.kept++
	return &fault{kind: kind, place: slices.Clone(r.place), message: fmt.Sprint(parts...)}
}

// wrongAt returns a fault of a property of the current value.
func (r *run) wrongAt(name, message string) *fault {
	r.place = append(r.place, name)
	f := r.wrong(isPlain, message)
	r.place = r.place[:len(r.place)-1]
	return f
}

// faults collects the faults of a value.
type faults struct {
	run  *run
	list []*fault
	done bool // only whether the value fits is needed, and it does not
}

func (all *faults) add(f *fault) {
	if f != nil && !all.done {
		all.list = append(all.list, f)
		all.done = f == unfit
	}
}

// part adds the fault of a part of the schema, if there is such a part.
func (all *faults) part(s *schema, v any, seen *evaluated) {
	if s != nil && !all.done {
		all.add(all.run.part(s, v, seen))
	}
}

// isFull reports whether there are enough faults for a list or an object, of which more is unchecked.
func (all *faults) isFull() bool {
	if all.run.kept >= maxErrors {
		all.add(&fault{kind: isCut})
	}
	return all.done || all.run.kept >= maxErrors
}

// fault returns all faults as one; nil if there are none.
func (all *faults) fault() *fault {
	switch len(all.list) {
	case 0:
		return nil
	case 1:
		return all.list[0]
	}
	return &fault{kind: isGroup, place: slices.Clone(all.run.place), causes: all.list}
}
