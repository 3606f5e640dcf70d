package validate

import (
	"slices"
	"strings"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/internal/wording"
)

// schema checks a value against a schema. It adds a violation for each place in the value that does
// not fit, below the pointer of the value.
func (f *findings) schema(status int, in, pointer string, of *form, v any) {
	f.explain(status, in, pointer, of, of.validate(v))
}

// explain adds the faults that a run found.
func (f *findings) explain(status int, in, pointer string, of *form, r *run) {
	switch {
	case r.gaveUp:
		f.add(status, in, pointer, "cannot be checked: its schema has too many nested alternatives")
	case r.fault != nil:
		before := len(f.list) + f.more
		t := reporter{status: status, in: in, pointer: pointer, form: of, to: f, reported: map[*fault]bool{}, reasons: map[*fault]string{}}
		t.report(r.fault)
		if len(f.list)+f.more == before {
			f.add(status, in, pointer, "does not fit its schema")
		}
	}
}

// reporter converts faults to violations.
type reporter struct {
	status      int
	in, pointer string
	form        *form // the form of the value
	to          *findings
	// reported contains the faults already reported, because several ways may lead to the same one.
	reported map[*fault]bool
	// reasons contains the reasons why alternatives do not fit, by their faults.
	reasons map[*fault]string
}

func (t reporter) report(f *fault) {
	if t.reported[f] {
		return
	}
	t.reported[f] = true
	switch {
	case f.kind == isGroup:
		for _, cause := range f.causes {
			t.report(cause)
		}
	case f.kind == isCut:
		t.to.cut = true
	case f.kind == isChoice:
		t.alternatives(f, t.at(f))
	case f.kind == isUnevaluated && t.isSideEffect(f):
	case f != unfit:
		t.to.add(t.status, t.in, t.at(f), f.message)
	}
}

// at returns the pointer of the value that a fault is about.
func (t reporter) at(f *fault) string {
	if len(f.place) == 0 {
		return t.pointer
	}
	var b strings.Builder // pointers may be long, and there may be many of them
	b.WriteString(t.pointer)
	for _, name := range f.place {
		if b.Len() > maxPointer {
			b.WriteString("/…/")
			b.WriteString(token(f.place[len(f.place)-1]))
			break
		}
		b.WriteByte('/')
		b.WriteString(token(name))
	}
	return b.String()
}

// isSideEffect reports whether a declared property is rejected as undeclared only because another
// part of the schema did not fit. That part already has a violation of its own.
func (t reporter) isSideEffect(f *fault) bool {
	n := len(f.place) - 1
	if n < 0 {
		return false
	}
	of := t.form
	for _, token := range f.place[:n] {
		of = of.inside(token)
	}
	return of != nil && of.properties[f.place[n]] != nil
}

// alternatives reports a value that fits none of several schemas. If only one of them is meant for
// such a value, it reports what does not fit that schema.
func (t reporter) alternatives(f *fault, at string) {
	likely := f.causes
	for _, isOther := range []func(*fault, int) bool{isForOtherType, isForOtherValue} {
		rest := slices.DeleteFunc(slices.Clone(likely), func(cause *fault) bool { return isOther(cause, len(f.place)) })
		if len(rest) > 0 {
			likely = rest
		}
	}
	if len(likely) == 1 {
		t.report(likely[0])
		return
	}
	var reasons []string
	for _, cause := range f.causes {
		reason := t.reason(cause, at)
		if reason != "" && !slices.Contains(reasons, reason) && len(reasons) < maxReasons {
			reasons = append(reasons, reason)
		}
	}
	t.to.add(t.status, t.in, at, f.message+strings.Join(reasons, ", or "))
}

// reason returns why the alternative of a fault does not fit; "" when there is no reason.
func (t reporter) reason(f *fault, at string) string {
	if reason, ok := t.reasons[f]; ok {
		return reason
	}
	var found findings
	inside := t
	inside.to, inside.reported = &found, map[*fault]bool{}
	inside.report(f)
	reason := ""
	if v := found.verdict(); v != nil {
		reason = wording.Truncate(v.Violations[0].Message, maxReason)
		if below := strings.TrimPrefix(v.Violations[0].Pointer, at); below != "" {
			reason = below + " " + reason
		}
	}
	t.reasons[f] = reason
	return reason
}

// maxReasons limits how many alternatives a message names. maxReason limits the size, in bytes, of
// the reason for each of them, which may itself list alternatives.
const (
	maxReasons = 5
	maxReason  = 2 * maxShownBytes
)

// isForOtherType reports whether an alternative is for values of another type, or for no value.
func isForOtherType(f *fault, depth int) bool { return f.kind == isOtherType && len(f.place) == depth }

// isForOtherValue reports whether an alternative is for objects that identify themselves as another
// variant, by a property with a fixed value.
func isForOtherValue(f *fault, depth int) bool {
	if f.kind == isGroup {
		return slices.ContainsFunc(f.causes, func(cause *fault) bool { return isForOtherValue(cause, depth) })
	}
	return f.kind == isOtherValue && len(f.place) == depth+1
}

// String returns the types as an expected value: "a string or null".
func (t types) String() string {
	var names []string
	for i, name := range []string{"null", "a boolean", "a number", "an integer", "a string", "an array", "an object"} {
		if t&(1<<i) != 0 && !(1<<i == integerType && t&numberType != 0) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// maxShown and maxShownBytes limit how many values of a list, and how many bytes of it, a message
// shows.
const (
	maxShown      = 20
	maxShownBytes = 400
)

// shown returns a list of values from a schema as JSON.
func shown(values []any) string {
	var b strings.Builder
	for i, v := range values {
		if i == maxShown || b.Len() > maxShownBytes {
			return b.String() + ", …"
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.Write(jsonvalue.Append(nil, v))
	}
	return b.String()
}
