package validate

import (
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/message"
)

// maxErrors limits how many errors are kept for the values in a list or an object. At least
// maxViolations of them are reported.
const maxErrors = 2 * maxViolations

// items implements the keyword items in compiled schemas. The validator's own implementation
// creates an error for each invalid value, and a body may have millions of them. This
// implementation stops at maxErrors.
type items struct {
	schema *jsonschema.Schema // nil when only prefixItems are declared
	from   int                // the index of the first item to check; prefixItems cover those before
}

// Validate implements the keyword for the validator.
func (k items) Validate(c *jsonschema.ValidatorContext, v any) {
	list, _ := v.([]any)
	evaluated := len(list)
	if k.schema == nil {
		evaluated = min(k.from, len(list))
	}
	for i := range evaluated {
		c.EvaluatedItem(i)
	}
	b := bounded{to: c}
	for i := k.from; i < evaluated && !b.full; i++ {
		b.add(c.Validate(k.schema, list[i], []string{strconv.Itoa(i)}))
	}
}

// others implements the keyword additionalProperties, for the same reason.
type others struct {
	schema   *jsonschema.Schema
	declared map[string]*jsonschema.Schema // by name
	patterns []jsonschema.Regexp
}

// Validate implements the keyword for the validator.
func (k others) Validate(c *jsonschema.ValidatorContext, v any) {
	object, _ := v.(map[string]any)
	b := bounded{to: c}
	for name, value := range object {
		if _, ok := k.declared[name]; ok || slices.ContainsFunc(k.patterns, func(p jsonschema.Regexp) bool { return p.MatchString(name) }) {
			continue
		}
		c.EvaluatedProp(name)
		if !b.full {
			b.add(c.Validate(k.schema, value, []string{name}))
		}
	}
}

// bounded collects errors until there are enough of them.
type bounded struct {
	to    *jsonschema.ValidatorContext
	count int
	full  bool
}

func (b *bounded) add(err error) {
	e, ok := err.(*jsonschema.ValidationError) // the validator returns no other type
	if !ok {
		return
	}
	b.to.AddErr(e)
	b.count += leaves(e)
	if e.ErrorKind == nil { // the caller only needs to know whether there is an error
		b.full = true
	} else if b.count >= maxErrors {
		b.full = true
		b.to.AddError(unlisted{})
	}
}

// unlisted represents errors that were not searched for or not kept.
type unlisted struct{}

// KeywordPath and LocalizedString implement jsonschema.ErrorKind.
func (unlisted) KeywordPath() []string { return nil }

// LocalizedString returns a string that is never shown.
func (unlisted) LocalizedString(*message.Printer) string { return "there are more" }

// leaves returns how many violations an error can become. Only one of several alternatives counts.
func leaves(e *jsonschema.ValidationError) int {
	n := 0
	for _, cause := range e.Causes {
		if isChoice(e) {
			n = max(n, leaves(cause))
		} else {
			n += leaves(cause)
		}
	}
	return max(n, 1)
}

func isChoice(e *jsonschema.ValidationError) bool {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		return true
	}
	return false
}

// shorten removes the errors beyond a number of leaves, and returns how many leaves remain.
func shorten(e *jsonschema.ValidationError, most int) int {
	n := 0
	for i, cause := range e.Causes {
		switch {
		case isChoice(e):
			n = max(n, shorten(cause, most))
		case n >= most:
			e.Causes = append(slices.Clip(slices.Clone(e.Causes[:i])), &jsonschema.ValidationError{ErrorKind: unlisted{}, InstanceLocation: e.InstanceLocation})
			return n
		default:
			n += shorten(cause, most-n)
		}
	}
	return max(n, 1)
}
