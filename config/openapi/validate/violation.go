package validate

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"mockserver/config/openapi/jsonvalue"
)

// schema checks a value against a schema. It adds a violation for each place in the value that does
// not fit, below the pointer of the value.
func (f *findings) schema(status int, in, pointer string, of *form, v any) {
	f.explain(status, in, pointer, of, of.validate(v))
}

// explain adds the errors that a run found.
func (f *findings) explain(status int, in, pointer string, of *form, r *run) {
	switch {
	case r.gaveUp:
		f.add(status, in, pointer, "cannot be checked: its schema has too many nested alternatives")
	case r.err != nil:
		before := len(f.list) + f.more
		t := teller{status: status, in: in, pointer: pointer, form: of, to: f}
		t.told, t.reasons = map[*jsonschema.ValidationError]bool{}, map[*jsonschema.ValidationError]string{}
		t.tell(r.err)
		if len(f.list)+f.more == before {
			f.add(status, in, pointer, "does not fit its schema")
		}
	}
}

// teller converts the validator's errors to violations.
type teller struct {
	status      int
	in, pointer string
	form        *form // the form of the value
	to          *findings
	// told contains the errors already reported, because several ways may lead to the same error.
	told map[*jsonschema.ValidationError]bool
	// reasons contains the reasons why alternatives do not fit, by the errors of the alternatives.
	reasons map[*jsonschema.ValidationError]string
}

func (t teller) tell(e *jsonschema.ValidationError) {
	if t.told[e] {
		return
	}
	t.told[e] = true
	at := t.at(e)
	say := func(pointer, what string) { t.to.add(t.status, t.in, pointer, what) }
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range e.Causes {
			t.tell(cause)
		}
	case repeated:
		t.tell(k.err)
	case unlisted:
		t.to.cut = true
	case *kind.AnyOf:
		t.alternatives(e, at)
	case *kind.OneOf:
		if len(k.Subschemas) > 1 {
			say(at, fmt.Sprintf("fits two of the alternatives, numbers %d and %d; expected one (oneOf)", k.Subschemas[0]+1, k.Subschemas[1]+1))
			return
		}
		t.alternatives(e, at)
	case *kind.Required:
		for _, name := range k.Missing {
			say(below(at, name), "is required")
		}
	case *kind.DependentRequired:
		for _, name := range k.Missing {
			say(below(at, name), "is required next to "+strconv.Quote(k.Prop))
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			say(below(at, name), notDeclared)
		}
	case *kind.PropertyNames:
		say(below(at, k.Property), "has a name that is not accepted")
	case *kind.FalseSchema:
		if !t.isSideEffect(e) {
			say(at, refusal(e.SchemaURL))
		}
	default:
		say(at, what(k))
	}
}

// at returns the pointer of the value that an error is about.
func (t teller) at(e *jsonschema.ValidationError) string {
	place := placeIn(e)
	if len(place) == 0 {
		return t.pointer
	}
	var b strings.Builder // pointers may be long, and there may be many of them
	b.WriteString(t.pointer)
	for _, name := range place {
		if b.Len() > maxPointer {
			b.WriteString("/…/")
			b.WriteString(token(place[len(place)-1]))
			break
		}
		b.WriteByte('/')
		b.WriteString(token(name))
	}
	return b.String()
}

// placeIn returns the location of an error in the value, without the name of the run.
func placeIn(e *jsonschema.ValidationError) []string {
	return e.InstanceLocation[min(1, len(e.InstanceLocation)):]
}

const notDeclared = "is not declared, and nothing else is allowed"

// isSideEffect reports whether a declared property is rejected as undeclared only because another
// part of the schema did not fit. That part already has a violation of its own.
func (t teller) isSideEffect(e *jsonschema.ValidationError) bool {
	place := placeIn(e)
	n := len(place) - 1
	if n < 0 || e.SchemaURL != unevaluatedLocation {
		return false
	}
	f := t.form
	for _, token := range place[:n] {
		f = f.inside(token)
	}
	return f != nil && f.properties[place[n]] != nil
}

// refusal says why a schema rejects every value.
func refusal(schema string) string {
	switch schema {
	case readOnlyLocation:
		return "is read-only and not allowed in a request"
	case unevaluatedLocation, othersLocation:
		return notDeclared
	}
	return "is not accepted"
}

// alternatives reports a value that fits none of several schemas. If only one of them is meant for
// such a value, it reports what does not fit that schema.
func (t teller) alternatives(e *jsonschema.ValidationError, at string) {
	likely := e.Causes
	for _, isOther := range []func(*jsonschema.ValidationError, int) bool{isOtherType, isOtherVariant} {
		rest := slices.Clone(likely)
		rest = slices.DeleteFunc(rest, func(cause *jsonschema.ValidationError) bool { return isOther(cause, len(e.InstanceLocation)) })
		if len(rest) > 0 {
			likely = rest
		}
	}
	if len(likely) == 1 {
		t.tell(likely[0])
		return
	}
	var reasons []string
	for _, cause := range e.Causes {
		reason := t.reason(cause, at)
		if reason != "" && !slices.Contains(reasons, reason) && len(reasons) < maxReasons {
			reasons = append(reasons, reason)
		}
	}
	t.to.add(t.status, t.in, at, fmt.Sprintf("fits none of the %d alternatives: %s", len(e.Causes), strings.Join(reasons, ", or ")))
}

// reason returns why the alternative of an error does not fit; "" when there is no reason.
func (t teller) reason(e *jsonschema.ValidationError, at string) string {
	if reason, ok := t.reasons[e]; ok {
		return reason
	}
	var found findings
	inside := t
	inside.to, inside.told = &found, map[*jsonschema.ValidationError]bool{}
	inside.tell(e)
	reason := ""
	if v := found.verdict(); v != nil {
		reason = v.Violations[0].Message
		if len(reason) > maxReason {
			reason = strings.ToValidUTF8(reason[:maxReason], "") + "…"
		}
		if below := strings.TrimPrefix(v.Violations[0].Pointer, at); below != "" {
			reason = below + " " + reason
		}
	}
	t.reasons[e] = reason
	return reason
}

// maxReasons limits how many alternatives a message names. maxReason limits the size, in bytes, of
// the reason for each of them, which may itself list alternatives.
const (
	maxReasons = 5
	maxReason  = 2 * maxShownBytes
)

// innermost returns the error at the end of a chain of references and groups with a single error.
func innermost(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	for {
		switch k := e.ErrorKind.(type) {
		case repeated:
			e = k.err
			continue
		case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
			if len(e.Causes) == 1 {
				e = e.Causes[0]
				continue
			}
		}
		return e
	}
}

// isOtherType reports whether an alternative is for values of another type, or for no value.
func isOtherType(e *jsonschema.ValidationError, depth int) bool {
	e = innermost(e)
	switch e.ErrorKind.(type) {
	case *kind.Type, circle:
		return len(e.InstanceLocation) == depth
	}
	return false
}

// isOtherVariant reports whether an alternative is for objects that identify themselves as another
// variant, by a property with a fixed value.
func isOtherVariant(e *jsonschema.ValidationError, depth int) bool {
	if len(e.InstanceLocation) > depth+1 {
		return false
	}
	switch k := e.ErrorKind.(type) {
	case repeated:
		return isOtherVariant(k.err, depth)
	case *kind.Const:
		return len(e.InstanceLocation) == depth+1
	case *kind.Enum:
		return len(e.InstanceLocation) == depth+1 && len(k.Want) == 1
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		return slices.ContainsFunc(e.Causes, func(cause *jsonschema.ValidationError) bool { return isOtherVariant(cause, depth) })
	}
	return false
}

// what describes the error and the expected value. It omits values of the request, because they may
// be large or secret.
func what(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "is " + withArticle(k.Got) + "; expected " + joinOr(k.Want)
	case *kind.Enum:
		if len(k.Want) == 0 {
			return "is not allowed: the enum is empty"
		}
		return "is not one of " + shown(k.Want)
	case *kind.Const:
		return "is not " + shown([]any{k.Want})
	case *kind.Format:
		return "is not of the format " + k.Want
	case *kind.Pattern:
		return "does not match the pattern " + k.Want
	case *kind.MinLength:
		return "has " + counted(k.Got, "character", "characters") + "; expected at least " + strconv.Itoa(k.Want)
	case *kind.MaxLength:
		return "has " + counted(k.Got, "character", "characters") + "; expected at most " + strconv.Itoa(k.Want)
	case *kind.MinItems:
		return "has " + counted(k.Got, "item", "items") + "; expected at least " + strconv.Itoa(k.Want)
	case *kind.MaxItems:
		return "has " + counted(k.Got, "item", "items") + "; expected at most " + strconv.Itoa(k.Want)
	case *kind.MinProperties:
		return "has " + counted(k.Got, "property", "properties") + "; expected at least " + strconv.Itoa(k.Want)
	case *kind.MaxProperties:
		return "has " + counted(k.Got, "property", "properties") + "; expected at most " + strconv.Itoa(k.Want)
	case *kind.UniqueItems:
		return fmt.Sprintf("has the same item twice, at %d and %d", k.Duplicates[0], k.Duplicates[1])
	case *kind.Not:
		return "is what the schema excludes (not)"
	}
	return whatNumber(k)
}

func whatNumber(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Minimum:
		return "is too small; expected at least " + decimal(k.Want)
	case *kind.Maximum:
		return "is too large; expected at most " + decimal(k.Want)
	case *kind.ExclusiveMinimum:
		return "is too small; expected more than " + decimal(k.Want)
	case *kind.ExclusiveMaximum:
		return "is too large; expected less than " + decimal(k.Want)
	case *kind.MultipleOf:
		return "is not a multiple of " + decimal(k.Want)
	}
	return k.LocalizedString(message.NewPrinter(language.English))
}

// counted returns a number of things in words; one is the singular and more the plural.
func counted(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + more
}

func withArticle(name string) string {
	switch name {
	case "null":
		return name
	case "array", "object", "integer":
		return "an " + name
	}
	return "a " + name
}

func joinOr(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = withArticle(name)
	}
	return strings.Join(all, " or ")
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
		b.Write(encodeJSON(v))
	}
	return b.String()
}

// decimal returns a bound as it was declared.
func decimal(r *big.Rat) string {
	return string(jsonvalue.DecimalText(r))
}
