package generate

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/openapi/text"
	"mockserver/internal/wording"
)

// validator holds values against schemas, while they are made. It asks the schemas as
// they are, without compiling anything: thousands are asked once, for a value or two.
// Formats count.
type validator struct {
	m       *Maker
	request bool // readOnly properties are required of nobody; else those that are writeOnly
	// lenient takes of a oneOf with a discriminator what the discriminator names, even
	// if others hold too.
	lenient bool
	depth   int // of schemas that ask for others without descending into the value
	path    []string
	asked   int // how many schemas and values of enums
}

// deepestSchema ends what asks for itself without end.
const deepestSchema = 200

// mostAsked bounds what is asked of one body: schemas that name each other twice ask for
// twice as much on each level.
const mostAsked = 1 << 20

// mismatch is the first thing that is wrong with a value.
type mismatch struct {
	pointer string // into the value
	what    string
}

func (m *mismatch) String() string {
	if m.pointer == "" {
		return m.what
	}
	return m.pointer + ": " + m.what
}

func (c *validator) fail(format string, args ...any) *mismatch {
	var pointer strings.Builder
	for _, step := range c.path {
		pointer.WriteByte('/')
		pointer.WriteString(jsonvalue.EscapePointer(step))
	}
	return &mismatch{pointer.String(), fmt.Sprintf(format, args...)}
}

// accepts reports whether a value satisfies a schema.
func (c *validator) accepts(ref *openapi3.SchemaRef, v any) bool { return c.mismatch(ref, v) == nil }

// mismatch is what is wrong with a value; nil when nothing is.
func (c *validator) mismatch(ref *openapi3.SchemaRef, v any) *mismatch {
	if ref == nil || ref.Value == nil || c.depth > deepestSchema {
		return nil
	}
	s := ref.Value
	if c.asked += 1 + len(s.Enum)/8; c.asked > mostAsked {
		return c.fail("its schemas ask for more than is checked")
	}
	c.depth++
	defer func() { c.depth-- }()
	if s.Always != nil {
		if !*s.Always {
			return c.fail("nothing is accepted here")
		}
		return nil
	}
	if wrong := c.plain(s, v); wrong != nil {
		return wrong
	}
	return c.combined(s, v)
}

// under goes on with a part of the value.
func (c *validator) under(step string, ref *openapi3.SchemaRef, v any) *mismatch {
	if ref == nil {
		return nil
	}
	depth := c.depth
	c.path, c.depth = append(c.path, step), 0
	wrong := c.mismatch(ref, v)
	c.path, c.depth = c.path[:len(c.path)-1], depth
	return wrong
}

// plain asks the keywords that do not hold other schemas against the same value.
func (c *validator) plain(s *openapi3.Schema, v any) *mismatch {
	if !c.hasType(s, v) {
		return c.fail("is of type %s, not %s", jsonvalue.Kind(v), strings.Join(s.Type.Slice(), " or "))
	}
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool { return jsonvalue.Equal(v, jsonvalue.Of(e)) }) {
		return c.fail("is none of enum")
	}
	if s.Const != nil && !jsonvalue.Equal(v, jsonvalue.Of(s.Const)) {
		return c.fail("is not the const")
	}
	switch v := v.(type) {
	case json.Number:
		return c.number(s, v)
	case string:
		return c.text(s, v)
	case []any:
		return c.array(s, v)
	case *jsonvalue.Object:
		return c.object(s, v)
	}
	return nil
}

func (c *validator) hasType(s *openapi3.Schema, v any) bool {
	if s.Type.IsEmpty() {
		return true
	}
	kind := jsonvalue.Kind(v)
	for _, name := range *s.Type {
		if name == kind || name == "number" && kind == "integer" {
			return true
		}
	}
	return kind == "null" && c.m.nullable(s)
}

func (c *validator) number(s *openapi3.Schema, n json.Number) *mismatch {
	if s.Min == nil && s.Max == nil && s.MultipleOf == nil && s.ExclusiveMin.Value == nil && s.ExclusiveMax.Value == nil && s.Format == "" {
		return nil
	}
	r := jsonvalue.Rational(n)
	if r == nil {
		return c.fail("is a number beyond what can be checked")
	}
	of := c.m.Numbers.Of
	switch {
	case s.Min != nil && !above(r, of(s.Min), s.ExclusiveMin.IsTrue()):
		return c.fail("%s is below the minimum", n)
	case s.Max != nil && !above(of(s.Max), r, s.ExclusiveMax.IsTrue()):
		return c.fail("%s is above the maximum", n)
	case s.ExclusiveMin.Value != nil && !above(r, of(s.ExclusiveMin.Value), true):
		return c.fail("%s is not above exclusiveMinimum", n)
	case s.ExclusiveMax.Value != nil && !above(of(s.ExclusiveMax.Value), r, true):
		return c.fail("%s is not below exclusiveMaximum", n)
	case s.MultipleOf != nil && *s.MultipleOf > 0 && !new(big.Rat).Quo(r, of(s.MultipleOf)).IsInt():
		return c.fail("%s is no multiple of %s", n, jsonvalue.DecimalText(of(s.MultipleOf)))
	case !jsonvalue.FitsInteger(r, s.Format):
		return c.fail("%s is no %s", n, s.Format)
	}
	return nil
}

// above reports whether a number is above another, or equal to it unless that is excluded.
func above(r, other *big.Rat, excluded bool) bool {
	d := r.Cmp(other)
	return d > 0 || d == 0 && !excluded
}

func (c *validator) text(s *openapi3.Schema, v string) *mismatch {
	if s.MinLength > 0 || s.MaxLength != nil {
		n := uint64(utf8.RuneCountInString(v))
		if n < s.MinLength {
			return c.fail("is shorter than minLength")
		}
		if s.MaxLength != nil && n > *s.MaxLength {
			return c.fail("is longer than maxLength")
		}
	}
	if s.Pattern != "" {
		if p, err := c.m.pattern(s.Pattern); err == nil && !p.Matches(v) {
			return c.fail("does not match the pattern %s", wording.Clip(s.Pattern))
		}
	}
	if s.Format != "" {
		if valid := text.Format(s.Format); valid != nil && !valid(v) {
			return c.fail("is no %s", s.Format)
		}
	}
	return nil
}

func (c *validator) array(s *openapi3.Schema, items []any) *mismatch {
	if uint64(len(items)) < s.MinItems {
		return c.fail("has fewer items than minItems")
	}
	if s.MaxItems != nil && uint64(len(items)) > *s.MaxItems {
		return c.fail("has more items than maxItems")
	}
	for i, item := range items {
		ref := s.Items
		if i < len(s.PrefixItems) {
			ref = s.PrefixItems[i]
		}
		if wrong := c.under(strconv.Itoa(i), ref, item); wrong != nil {
			return wrong
		}
	}
	if s.UniqueItems && hasTwins(items) {
		return c.fail("has two items that are the same")
	}
	if s.Contains != nil {
		return c.contains(s, items)
	}
	return nil
}

// hasTwins reports whether two items are equal.
func hasTwins(items []any) bool {
	seen := make(distinct, len(items))
	return slices.ContainsFunc(items, func(item any) bool { return !seen.add(item) })
}

func (c *validator) contains(s *openapi3.Schema, items []any) *mismatch {
	var n uint64
	for _, item := range items {
		if c.accepts(s.Contains, item) {
			n++
		}
	}
	if low := containsLeast(s); n < low {
		return c.fail("has fewer items that contains asks for than %d", low)
	}
	if s.MaxContains != nil && n > *s.MaxContains {
		return c.fail("has more items that contains asks for than %d", *s.MaxContains)
	}
	return nil
}

func containsLeast(s *openapi3.Schema) uint64 {
	if s.MinContains != nil {
		return *s.MinContains
	}
	return 1
}

func (c *validator) object(s *openapi3.Schema, o *jsonvalue.Object) *mismatch {
	if uint64(len(o.Members)) < s.MinProps {
		return c.fail("has fewer properties than minProperties")
	}
	if s.MaxProps != nil && uint64(len(o.Members)) > *s.MaxProps {
		return c.fail("has more properties than maxProperties")
	}
	for _, name := range s.Required {
		if _, ok := o.Get(name); !ok && !c.excused(s.Properties[name]) {
			return c.fail("lacks the required property %q", name)
		}
	}
	for _, name := range jsonvalue.SortedNames(s.DependentRequired) {
		if _, ok := o.Get(name); !ok {
			continue
		}
		for _, needed := range s.DependentRequired[name] {
			if _, ok := o.Get(needed); !ok {
				return c.fail("lacks the property %q, which %q asks for", needed, name)
			}
		}
	}
	for i := range o.Members {
		if wrong := c.member(s, o.Members[i]); wrong != nil {
			return wrong
		}
	}
	return nil
}

// excused reports whether a property need not be there, as it is only for the other direction.
func (c *validator) excused(ref *openapi3.SchemaRef) bool {
	if ref == nil || ref.Value == nil {
		return false
	}
	return c.request && ref.Value.ReadOnly || !c.request && ref.Value.WriteOnly
}

func (c *validator) member(s *openapi3.Schema, m jsonvalue.Member) *mismatch {
	if s.PropertyNames != nil {
		if wrong := c.under(m.Name, s.PropertyNames, m.Name); wrong != nil {
			return wrong
		}
	}
	known := false
	if ref := s.Properties[m.Name]; ref != nil {
		known = true
		if wrong := c.under(m.Name, ref, m.Value); wrong != nil {
			return wrong
		}
	}
	for source, ref := range s.PatternProperties {
		if p, err := c.m.pattern(source); err == nil && p.Matches(m.Name) {
			known = true
			if wrong := c.under(m.Name, ref, m.Value); wrong != nil {
				return wrong
			}
		}
	}
	if known {
		return nil
	}
	if has := s.AdditionalProperties.Has; has != nil && !*has {
		return c.fail("has the property %q, which is not declared", m.Name)
	}
	return c.under(m.Name, s.AdditionalProperties.Schema, m.Value)
}
