package validate

import (
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/message"

	"mockserver/config/openapi/text"
)

// What items and additionalProperties are in the schemas that are compiled. The
// validator's own make an error for each value that is wrong, and a body may have
// millions of them; these stop at maxErrors.
const (
	itemsKeyword  = "x-items"
	othersKeyword = "x-additional-properties"
)

// maxErrors is how many errors of the values in a list or an object are kept, at least
// maxViolations of which are told.
const maxErrors = 2 * maxViolations

// items is the first of these keywords, compiled.
type items struct {
	schema *jsonschema.Schema
	from   int // the first item that it is about: prefixItems are for those before
}

func compileItems(c *jsonschema.CompilerContext, schema map[string]any) (jsonschema.SchemaExt, error) {
	if _, ok := schema[itemsKeyword]; !ok {
		return nil, nil // that tells the validator that there is none
	}
	prefix, _ := schema["prefixItems"].([]any)
	return items{c.Enqueue([]string{itemsKeyword}), len(prefix)}, nil
}

// Validate is what the validator calls for each value of the schema.
func (k items) Validate(c *jsonschema.ValidatorContext, v any) {
	list, _ := v.([]any)
	for i := k.from; i < len(list); i++ {
		c.EvaluatedItem(i)
	}
	b := bounded{to: c}
	for i := k.from; i < len(list) && !b.full; i++ {
		b.add(c.Validate(k.schema, list[i], []string{strconv.Itoa(i)}))
	}
}

// others is the second of them, compiled.
type others struct {
	schema   *jsonschema.Schema
	declared map[string]any // by name
	patterns []*text.Pattern
}

func compileOthers(c *jsonschema.CompilerContext, schema map[string]any) (jsonschema.SchemaExt, error) {
	if _, ok := schema[othersKeyword]; !ok {
		return nil, nil // that tells the validator that there is none
	}
	k := others{schema: c.Enqueue([]string{othersKeyword})}
	k.declared, _ = schema["properties"].(map[string]any)
	byPattern, _ := schema["patternProperties"].(map[string]any)
	for source := range byPattern {
		p, err := text.CompilePattern(source)
		if err != nil {
			return nil, err
		}
		k.patterns = append(k.patterns, p)
	}
	return k, nil
}

// Validate is what the validator calls for each value of the schema.
func (k others) Validate(c *jsonschema.ValidatorContext, v any) {
	object, _ := v.(map[string]any)
	b := bounded{to: c}
	for name, value := range object {
		if _, ok := k.declared[name]; ok || slices.ContainsFunc(k.patterns, func(p *text.Pattern) bool { return p.Matches(name) }) {
			continue
		}
		c.EvaluatedProp(name)
		if !b.full {
			b.add(c.Validate(k.schema, value, []string{name}))
		}
	}
}

// bounded takes errors until there are enough of them.
type bounded struct {
	to    *jsonschema.ValidatorContext
	count int
	full  bool
}

func (b *bounded) add(err error) {
	e, ok := err.(*jsonschema.ValidationError) // the validator has no others
	if !ok {
		return
	}
	b.to.AddErr(e)
	b.count += leaves(e)
	if e.ErrorKind == nil { // only whether there is an error is asked
		b.full = true
	} else if b.count >= maxErrors {
		b.full = true
		b.to.AddError(unlisted{})
	}
}

// unlisted stands for errors that were not looked for, or not kept.
type unlisted struct{}

// KeywordPath and LocalizedString make it what the validator calls an error.
func (unlisted) KeywordPath() []string { return nil }

// LocalizedString is never told.
func (unlisted) LocalizedString(*message.Printer) string { return "there are more" }

// leaves is how many violations an error may become. Of alternatives one counts.
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

// shorten leaves out of an error what is beyond a number of leaves, and returns how many
// there are now.
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
