package openapi

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// schema holds a value against a schema: there is a violation for each place in it that
// does not fit, below the pointer of the value.
func (f *findings) schema(status int, in, pointer string, of *form, v any) {
	err := of.schema.Validate(v)
	if err == nil {
		return
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		f.add(status, in, pointer, err.Error())
		return
	}
	teller{status: status, in: in, pointer: pointer, form: of, to: f}.tell(invalid)
}

// teller turns what the validator found into violations.
type teller struct {
	status      int
	in, pointer string
	form        *form // of the value
	to          *findings
}

func (t teller) tell(e *jsonschema.ValidationError) {
	at := t.pointer
	if len(e.InstanceLocation) > 0 {
		var b strings.Builder // a location may be long, and there may be many
		b.WriteString(at)
		for _, token := range e.InstanceLocation {
			b.WriteByte('/')
			_, _ = pointerEscapes.WriteString(&b, token) // a builder takes all
		}
		at = b.String()
	}
	say := func(pointer, what string) { t.to.add(t.status, t.in, pointer, what) }
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range e.Causes {
			t.tell(cause)
		}
	case unlisted:
		t.to.cut = true
	case *kind.AnyOf:
		t.alternatives(e, at)
	case *kind.OneOf:
		if len(k.Subschemas) > 1 {
			say(at, fmt.Sprintf("fits two of the alternatives, numbers %d and %d; one is accepted (oneOf)", k.Subschemas[0]+1, k.Subschemas[1]+1))
			return
		}
		t.alternatives(e, at)
	case *kind.Required:
		for _, name := range k.Missing {
			say(below(at, name), "is required")
		}
	case *kind.DependentRequired:
		for _, name := range k.Missing {
			say(below(at, name), "is required beside "+strconv.Quote(k.Prop))
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

const notDeclared = "is not declared, and nothing else is accepted"

// isSideEffect tells whether a property is refused as one that is not declared though it
// is: by a part of the schema that did not fit, for which there is a violation already.
func (t teller) isSideEffect(e *jsonschema.ValidationError) bool {
	n := len(e.InstanceLocation) - 1
	if n < 0 || !strings.HasSuffix(e.SchemaURL, "/unevaluatedProperties") {
		return false
	}
	f := t.form
	for _, token := range e.InstanceLocation[:n] {
		f = f.inside(token)
	}
	return f != nil && f.properties[e.InstanceLocation[n]] != nil
}

// refusal says why a schema refuses whatever there is.
func refusal(schema string) string {
	switch {
	case strings.HasSuffix(schema, "/"+readOnlyDefinition):
		return "is read-only: a request does not have it"
	case strings.HasSuffix(schema, "/unevaluatedProperties"), strings.HasSuffix(schema, "/"+othersKeyword):
		return notDeclared
	}
	return "is not accepted"
}

// alternatives tells of a value that fits none of several schemas. Where all but one are
// for something else, it is what does not fit that one.
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
		var found findings
		teller{status: t.status, in: t.in, pointer: t.pointer, form: t.form, to: &found}.tell(cause)
		if v := found.verdict(); v != nil {
			reason := v.Violations[0].Message
			if inside := strings.TrimPrefix(v.Violations[0].Pointer, at); inside != "" {
				reason = inside + " " + reason
			}
			if !slices.Contains(reasons, reason) && len(reasons) < maxReasons {
				reasons = append(reasons, reason)
			}
		}
	}
	t.to.add(t.status, t.in, at, fmt.Sprintf("fits none of the %d alternatives: %s", len(e.Causes), strings.Join(reasons, ", or ")))
}

// maxReasons is how many alternatives a message names.
const maxReasons = 5

// innermost is what a chain of references and groups of one is about.
func innermost(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	for len(e.Causes) == 1 {
		switch e.ErrorKind.(type) {
		case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
			e = e.Causes[0]
			continue
		}
		break
	}
	return e
}

// isOtherType tells whether an alternative is for values of another type.
func isOtherType(e *jsonschema.ValidationError, depth int) bool {
	e = innermost(e)
	_, ok := e.ErrorKind.(*kind.Type)
	return ok && len(e.InstanceLocation) == depth
}

// isOtherVariant tells whether an alternative is for objects that say that they are
// others: by a property with a value of its own.
func isOtherVariant(e *jsonschema.ValidationError, depth int) bool {
	switch k := e.ErrorKind.(type) {
	case *kind.Const:
		return len(e.InstanceLocation) == depth+1
	case *kind.Enum:
		return len(e.InstanceLocation) == depth+1 && len(k.Want) == 1
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		return slices.ContainsFunc(e.Causes, func(cause *jsonschema.ValidationError) bool { return isOtherVariant(cause, depth) })
	}
	return false
}

// what says what is wrong, and what is accepted. Values of the request are left out:
// they may be large, or secrets.
func what(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "is " + withArticle(k.Got) + "; accepted is " + joinOr(k.Want)
	case *kind.Enum:
		return "is not one of " + shown(k.Want)
	case *kind.Const:
		return "is not " + shown([]any{k.Want})
	case *kind.Format:
		return "is not of the format " + k.Want
	case *kind.Pattern:
		return "does not match the pattern " + k.Want
	case *kind.MinLength:
		return fmt.Sprintf("has %d characters; at least %d are accepted", k.Got, k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("has %d characters; at most %d are accepted", k.Got, k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("has %d items; at least %d are accepted", k.Got, k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("has %d items; at most %d are accepted", k.Got, k.Want)
	case *kind.MinProperties:
		return fmt.Sprintf("has %d properties; at least %d are accepted", k.Got, k.Want)
	case *kind.MaxProperties:
		return fmt.Sprintf("has %d properties; at most %d are accepted", k.Got, k.Want)
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
		return "is too small; at least " + decimal(k.Want) + " is accepted"
	case *kind.Maximum:
		return "is too large; at most " + decimal(k.Want) + " is accepted"
	case *kind.ExclusiveMinimum:
		return "is too small; above " + decimal(k.Want) + " is accepted"
	case *kind.ExclusiveMaximum:
		return "is too large; below " + decimal(k.Want) + " is accepted"
	case *kind.MultipleOf:
		return "is no multiple of " + decimal(k.Want)
	}
	return k.LocalizedString(message.NewPrinter(language.English))
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

// maxShown is how many values of a list, and bytes of it, a message shows.
const (
	maxShown      = 20
	maxShownBytes = 400
)

// shown is a list of a schema's values as JSON.
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

// decimal is a bound as it was declared.
func decimal(r *big.Rat) string {
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'f', -1, 64)
}
