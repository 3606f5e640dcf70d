package validate

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/openapi/text"
	"mockserver/internal/list"
)

// schema is a compiled schema. Without rules, it accepts every value.
type schema struct {
	refusal refusal   // why the schema rejects every value
	ref     reference // a named schema, which replaces all other rules
	types   types     // 0 for any
	allowed []allowed // the values of const and enum
	format  *format
	bounds  []bound // for numbers
	pattern *text.Pattern

	length, size, count extent // of characters, items and properties

	unique           bool // no item occurs twice
	prefix           []*schema
	items            *schema // for the items after the prefix; nil for any
	contains         *schema
	contained        extent // how many items must fit contains
	unevaluatedItems *schema

	required              []string
	dependentRequired     map[string][]string
	dependent             map[string]*schema
	properties            map[string]*schema
	patterns              map[*text.Pattern]*schema
	others                *schema // additionalProperties; nil for any
	names                 *schema
	unevaluatedProperties *schema

	not                 *schema
	allOf, anyOf, oneOf []*schema
	choices             []choice
	condition           condition
}

// refusal is a reason for which a schema rejects every value.
type refusal uint8

const (
	notRefused refusal = iota
	refused
	readOnly
	undeclared  // additionalProperties
	unevaluated // unevaluatedProperties
)

var refusals = [...]string{
	refused: "is not accepted", readOnly: "is read-only and not allowed in a request",
	undeclared: notDeclared, unevaluated: notDeclared,
}

const notDeclared = "is not declared, and nothing else is allowed"

// allowed contains the values of an enum or a const, and their identities.
type allowed struct {
	values []any
	known  map[string]bool
	isEnum bool
}

// format is a check of a value by its name.
type format struct {
	name string
	fits func(v any) bool
}

// bound is a rule for numbers. what says what is expected.
type bound struct {
	limit *big.Rat
	fits  func(order int) bool // gets the order of the number relative to the limit; nil for a multiple
	what  string
}

// extent is how many things there may be: at least, and at most, if there is a limit.
type extent struct {
	least uint64
	most  *uint64
}

// choice is a list of alternatives with a discriminator: a property names the one that applies.
type choice struct {
	property string
	named    map[string][]*schema
	values   allowed   // of the property
	oneOf    []*schema // for generated values, which the property only may decide
}

// condition contains the schemas of if, then and else. A missing one is nil.
type condition struct{ when, then, otherwise *schema }

// anything is the schema that additionalProperties: true stands for.
var anything = &schema{}

// purpose is the kind of value that schemas are compiled for.
type purpose uint8

const (
	received  purpose = iota // in requests: readOnly properties are rejected and never required
	kept                     // in rows, which JSON Schemas describe
	generated                // in generated responses: writeOnly properties are never required
	requested                // in generated requests: readOnly properties are never required
)

// isGenerated reports whether the values are made by the server.
func (p purpose) isGenerated() bool { return p == generated || p == requested }

// schemas compiles the schemas of a document for one purpose, each schema once.
//
// The validator of kin-openapi is not used, because it compiles a 3.1 schema again for each value:
// see docs/adr/0028-own-validator.md.
type schemas struct {
	use    purpose
	modern bool // OpenAPI 3.1: schemas already use draft 2020-12
	exact  jsonvalue.Numbers
	warn   func(what string) // nil for generated values
	warned map[string]bool

	mu      sync.Mutex // guards the fields below
	known   map[*openapi3.Schema]reference
	pending []reference // not compiled yet
}

func newSchemas(doc *openapi3.T, exact jsonvalue.Numbers, use purpose) *schemas {
	return &schemas{
		use: use, modern: doc.IsOpenAPI31OrLater(), exact: exact,
		warned: map[string]bool{}, known: map[*openapi3.Schema]reference{},
	}
}

// reference compiles a schema on first use. The schema may refer to itself.
type reference func() *schema

// reference returns a reference to a schema, which is compiled later.
func (c *schemas) reference(s *openapi3.Schema) reference {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.known[s]
	if r == nil {
		r = sync.OnceValue(func() *schema { return c.schema(s) })
		c.known[s] = r
		if !c.use.isGenerated() {
			c.pending = append(c.pending, r)
		}
	}
	return r
}

// finish compiles the referenced schemas in advance, so that no request has to wait.
func (c *schemas) finish() {
	for len(c.pending) > 0 {
		compiled := c.pending[0]
		c.pending = c.pending[1:]
		compiled()
	}
}

func (c *schemas) warnOnce(what string) {
	if c.warn != nil && !c.warned[what] {
		c.warned[what] = true
		c.warn(what)
	}
}

// ref returns the compiled schema for a place in the document; nil when there is none. A named
// schema becomes a reference.
func (c *schemas) ref(r *openapi3.SchemaRef) *schema {
	switch {
	case r == nil:
		return nil
	case r.Value == nil:
		return &schema{}
	case r.Ref != "":
		return &schema{ref: c.reference(r.Value)}
	}
	return c.schema(r.Value)
}

// refusing does the same as ref, or uses a boolean. If no value fits, the reason is why.
func (c *schemas) refusing(has *bool, r *openapi3.SchemaRef, why refusal) *schema {
	var s *schema
	switch {
	case has == nil:
		s = c.ref(r)
	case *has:
		return anything
	default:
		s = &schema{refusal: refused}
	}
	if s != nil && s.refusal != notRefused {
		s.refusal = why
	}
	return s
}

func (c *schemas) named(all openapi3.Schemas) map[string]*schema {
	if len(all) == 0 {
		return nil
	}
	m := make(map[string]*schema, len(all))
	for name, r := range all {
		if m[name] = c.ref(r); r == nil {
			m[name] = anything
		}
	}
	return m
}

func (c *schemas) schema(s *openapi3.Schema) *schema {
	if s.Always != nil {
		return c.refusing(s.Always, nil, refused)
	}
	out := &schema{
		types: c.types(s), format: c.format(s.Format), bounds: c.bounds(s), pattern: c.pattern(s.Pattern),
		length: extent{s.MinLength, s.MaxLength}, size: extent{s.MinItems, s.MaxItems}, count: extent{s.MinProps, s.MaxProps},
		unique: s.UniqueItems, prefix: list.Map(s.PrefixItems, c.ref), items: c.ref(s.Items),
		contains: c.ref(s.Contains), contained: extent{1, s.MaxContains},
		unevaluatedItems:  c.refusing(s.UnevaluatedItems.Has, s.UnevaluatedItems.Schema, refused),
		dependentRequired: s.DependentRequired, dependent: c.named(s.DependentSchemas), names: c.ref(s.PropertyNames),
		not: c.ref(s.Not), allOf: list.Map(s.AllOf, c.ref), anyOf: list.Map(s.AnyOf, c.ref), oneOf: list.Map(s.OneOf, c.ref),
		condition: condition{c.ref(s.If), c.ref(s.Then), c.ref(s.Else)},
	}
	if s.MinContains != nil {
		out.contained.least = *s.MinContains
	}
	if s.Const != nil {
		out.allowed = append(out.allowed, allowing(false, s.Const))
	}
	if s.Enum != nil {
		out.allowed = append(out.allowed, allowing(true, s.Enum...))
	}
	c.properties(out, s)
	c.discriminate(out, &out.anyOf, s.AnyOf, s.Discriminator)
	c.discriminate(out, &out.oneOf, s.OneOf, s.Discriminator)
	if s.Nullable && !c.modern {
		orNull(out)
	}
	return out
}

// orNull makes a schema of OpenAPI 3.0 nullable: its type and the schemas it is composed of. Its
// enum still applies, as the specification has required since 3.0.3.
func orNull(out *schema) {
	if out.types != 0 {
		out.types |= nullType
	}
	parts := &schema{allOf: out.allOf, anyOf: out.anyOf, oneOf: out.oneOf, choices: out.choices}
	if len(parts.allOf)+len(parts.anyOf)+len(parts.oneOf)+len(parts.choices) > 0 {
		out.allOf, out.anyOf, out.oneOf, out.choices = nil, []*schema{{types: nullType}, parts}, nil, nil
	}
}

func (c *schemas) types(s *openapi3.Schema) types {
	var all types
	for _, name := range s.Type.Slice() {
		if typeNames[name] == 0 {
			c.warnOnce(fmt.Sprintf("the type %q does not exist in JSON Schema; requests are not checked against it", name))
			return 0
		}
		all |= typeNames[name]
	}
	return all
}

// allowing returns the rule for some values of a document.
func allowing(isEnum bool, values ...any) allowed {
	a := allowed{make([]any, len(values)), make(map[string]bool, len(values)), isEnum}
	for i, v := range values {
		a.values[i] = plain(jsonvalue.Of(v))
		a.known[string(jsonvalue.AppendIdentity(nil, a.values[i]))] = true
	}
	return a
}

// format returns the check of a format; nil for a name without effect. Requests are checked against
// the formats of OpenAPI and of JSON Schema.
func (c *schemas) format(name string) *format {
	switch name {
	case "int32", "int64":
		return &format{name, func(v any) bool {
			number, ok := v.(json.Number)
			return !ok || jsonvalue.FitsInteger(rational(number), name)
		}}
	case "url", "guid", "ip", "cidr":
		if !c.use.isGenerated() {
			return nil
		}
	}
	valid := text.Format(name)
	if valid == nil || !c.use.isGenerated() && name != strings.ToLower(name) {
		return nil
	}
	return &format{name, func(v any) bool {
		s, ok := v.(string)
		return !ok || valid(s)
	}}
}

func (c *schemas) bounds(s *openapi3.Schema) []bound {
	var all []bound
	add := func(limit *float64, fits func(int) bool, what string) {
		if limit != nil {
			r := c.exact.Of(limit)
			all = append(all, bound{r, fits, what + string(jsonvalue.DecimalText(r))})
		}
	}
	least, most := s.Min, s.Max
	// The bound is a number or, in OpenAPI 3.0, a boolean that modifies the other bound.
	above, below := s.ExclusiveMin.Value, s.ExclusiveMax.Value
	if s.ExclusiveMin.IsTrue() {
		least, above = nil, least
	}
	if s.ExclusiveMax.IsTrue() {
		most, below = nil, most
	}
	add(least, func(order int) bool { return order >= 0 }, "is too small; expected at least ")
	add(most, func(order int) bool { return order <= 0 }, "is too large; expected at most ")
	add(above, func(order int) bool { return order > 0 }, "is too small; expected more than ")
	add(below, func(order int) bool { return order < 0 }, "is too large; expected less than ")
	if f := s.MultipleOf; f != nil && *f > 0 {
		add(f, nil, "is not a multiple of ")
	}
	return all
}

// pattern compiles a pattern; nil for none. If a pattern is not supported, it warns and returns nil.
func (c *schemas) pattern(source string) *text.Pattern {
	if source == "" {
		return nil
	}
	p, err := text.CompilePattern(source)
	if err != nil {
		c.warnOnce(fmt.Sprintf("requests are not checked against the pattern %q: %v", source, err))
		return nil
	}
	return p
}

func (c *schemas) properties(out *schema, s *openapi3.Schema) {
	out.properties = c.named(s.Properties)
	for name, property := range s.Properties {
		if c.use == received && c.excused(property) {
			out.properties[name] = &schema{refusal: readOnly}
		}
	}
	for _, name := range s.Required {
		if !c.excused(s.Properties[name]) {
			out.required = append(out.required, name)
		}
	}
	for source, property := range s.PatternProperties {
		if out.patterns == nil {
			out.patterns = map[*text.Pattern]*schema{}
		}
		if p := c.pattern(source); p != nil || source == "" {
			out.patterns[p] = c.ref(property)
		}
	}
	if len(out.patterns) < len(s.PatternProperties) {
		return // an undeclared property might match a pattern that is not supported
	}
	out.others = c.refusing(s.AdditionalProperties.Has, s.AdditionalProperties.Schema, undeclared)
	out.unevaluatedProperties = c.refusing(s.UnevaluatedProperties.Has, s.UnevaluatedProperties.Schema, unevaluated)
}

// excused reports whether a property is only for the other direction.
func (c *schemas) excused(r *openapi3.SchemaRef) bool {
	if r == nil || r.Value == nil {
		return false
	}
	switch c.use {
	case kept:
		return false
	case generated:
		return r.Value.WriteOnly
	}
	return r.Value.ReadOnly
}

// discriminate replaces alternatives that have a discriminator with a choice. In requests, errors
// can then say why the named alternative does not fit, whereas the plain keyword only says that
// none fits; alternatives without a name leave it to that keyword.
func (c *schemas) discriminate(out *schema, compiled *[]*schema, list openapi3.SchemaRefs, d *openapi3.Discriminator) {
	isNameless := func(r *openapi3.SchemaRef) bool { return r.Ref == "" }
	switch {
	case len(list) == 0 || d == nil || d.PropertyName == "":
		return
	case !c.use.isGenerated() && slices.ContainsFunc(list, isNameless), c.use.isGenerated() && compiled == &out.anyOf:
		return
	}
	k := choice{property: d.PropertyName, named: map[string][]*schema{}}
	var values []any
	for i, r := range list {
		for _, name := range valuesFor(r.Ref, d) {
			values = append(values, name)
			k.named[name] = append(k.named[name], (*compiled)[i])
		}
	}
	if k.values = allowing(true, values...); c.use.isGenerated() {
		k.oneOf = *compiled
	}
	*compiled, out.choices = nil, append(out.choices, k)
}

// valuesFor returns the discriminator values for the schema of a reference: those of the mapping,
// or else the name of the schema.
func valuesFor(ref string, d *openapi3.Discriminator) []string {
	own := lastToken(ref)
	var values []string
	for value, mapped := range d.Mapping {
		if ref != "" && lastToken(mapped.Ref) == own {
			values = append(values, value)
		}
	}
	slices.Sort(values)
	if len(values) == 0 && ref != "" {
		values = []string{own}
	}
	return values
}

// lastToken returns the text after the last slash of a reference.
func lastToken(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }
