package validate

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/openapi/text"
)

// Locations by which errors identify the schemas that reject every value.
const (
	readOnlyLocation    = "/read-only"
	unevaluatedLocation = "/unevaluatedProperties"
	othersLocation      = "/additionalProperties"
)

// purpose is the kind of value that schemas are compiled for.
type purpose uint8

const (
	received  purpose = iota // in requests: readOnly properties are rejected and never required
	answered                 // in generated responses: writeOnly properties are never required
	requested                // in generated requests: readOnly properties are never required
)

// schemas compiles the schemas of a document for one purpose, each schema once. It builds the
// validator's structures directly. The validator's own compiler searches, for each part of a
// schema, through everything that the schema refers to, which in a document of 10 MB takes longer
// than everything else.
//
// The library's own validator is not used, because it compiles a 3.1 schema again for each value.
type schemas struct {
	use    purpose
	modern bool // OpenAPI 3.1: schemas already use draft 2020-12
	exact  jsonvalue.Numbers
	warn   func(what string) // nil for generated values
	warned map[string]bool
	runs   runs // validations against the compiled schemas

	mu      sync.Mutex // guards the fields below
	known   map[*openapi3.Schema]*reference
	pending []*reference // not compiled yet
	parts   map[string]*jsonschema.Schema
}

func newSchemas(doc *openapi3.T, exact jsonvalue.Numbers, use purpose) *schemas {
	return &schemas{
		use: use, modern: doc.IsOpenAPI31OrLater(), exact: exact, warned: map[string]bool{}, runs: runs{circlesFit: use != received},
		known: map[*openapi3.Schema]*reference{}, parts: map[string]*jsonschema.Schema{},
	}
}

// reference returns a reference to a schema, which is compiled later.
func (c *schemas) reference(s *openapi3.Schema) *reference {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.known[s]
	if r == nil {
		r = &reference{from: c, source: s}
		c.known[s] = r
		if c.use == received {
			c.pending = append(c.pending, r)
		}
	}
	return r
}

// finish compiles the referenced schemas in advance, so that no request has to wait.
func (c *schemas) finish() {
	for len(c.pending) > 0 {
		r := c.pending[0]
		c.pending = c.pending[1:]
		r.compiled()
	}
}

func (c *schemas) warnOnce(what string) {
	if c.warn != nil && !c.warned[what] {
		c.warned[what] = true
		c.warn(what)
	}
}

// always returns a schema that accepts every value if fits is true, and no value otherwise.
func always(fits bool, location string) *jsonschema.Schema {
	return &jsonschema.Schema{DraftVersion: draftVersion, Bool: &fits, Location: location}
}

// ref returns the compiled schema for a place in the document. A named schema becomes a reference.
func (c *schemas) ref(r *openapi3.SchemaRef) *jsonschema.Schema {
	switch {
	case r == nil || r.Value == nil:
		return always(true, "")
	case r.Ref != "":
		return &jsonschema.Schema{DraftVersion: draftVersion, Extensions: []jsonschema.SchemaExt{c.reference(r.Value)}}
	}
	return c.schema(r.Value)
}

// optional does the same as ref, but returns nil when there is no schema.
func (c *schemas) optional(r *openapi3.SchemaRef) *jsonschema.Schema {
	if r == nil {
		return nil
	}
	return c.ref(r)
}

func (c *schemas) refs(list openapi3.SchemaRefs) []*jsonschema.Schema {
	var all []*jsonschema.Schema
	for _, r := range list {
		all = append(all, c.ref(r))
	}
	return all
}

func (c *schemas) named(all openapi3.Schemas) map[string]*jsonschema.Schema {
	if len(all) == 0 {
		return nil
	}
	m := make(map[string]*jsonschema.Schema, len(all))
	for name, r := range all {
		m[name] = c.ref(r)
	}
	return m
}

func (c *schemas) schema(s *openapi3.Schema) *jsonschema.Schema {
	if s.Always != nil {
		return always(*s.Always, "")
	}
	out := &jsonschema.Schema{DraftVersion: draftVersion}
	c.values(out, s)
	c.numbers(out, s)
	c.texts(out, s)
	c.lists(out, s)
	c.objects(out, s)
	c.combined(out, s)
	if s.Nullable && !c.modern {
		orNull(out)
	}
	return out
}

// orNull makes a schema of OpenAPI 3.0 nullable: its type and the schemas it is composed of. Its
// enum still applies, as the specification has required since 3.0.3.
func orNull(out *jsonschema.Schema) {
	if out.Types != nil {
		out.Types.Add("null")
	}
	if len(out.AllOf)+len(out.AnyOf)+len(out.OneOf) == 0 {
		return
	}
	null := &jsonschema.Schema{DraftVersion: draftVersion, Types: new(jsonschema.Types)}
	null.Types.Add("null")
	parts := &jsonschema.Schema{DraftVersion: draftVersion, AllOf: out.AllOf, AnyOf: out.AnyOf, OneOf: out.OneOf}
	out.AllOf, out.AnyOf, out.OneOf = nil, []*jsonschema.Schema{null, parts}, nil
}

// values compiles the keywords for values of any type.
func (c *schemas) values(out *jsonschema.Schema, s *openapi3.Schema) {
	if names := s.Type.Slice(); len(names) > 0 {
		out.Types = new(jsonschema.Types)
		for _, name := range names {
			if typeNames[name] == 0 {
				c.warnOnce(fmt.Sprintf("the type %q does not exist in JSON Schema; requests are not checked against it", name))
				out.Types = nil
				break
			}
			out.Types.Add(name)
		}
	}
	switch {
	case len(s.Enum) > 0:
		out.Enum = c.enum(s.Enum)
	case s.Enum != nil: // no value is one of none
		out.Enum = &jsonschema.Enum{}
	}
	if s.Const != nil {
		value := reckonable(s.Const)
		out.Const = &value
	}
	out.Not = c.optional(s.Not)
}

// part returns a small schema compiled by the validator's own compiler, because enums and formats
// have unexported parts.
func (c *schemas) part(key string, schema map[string]any) *jsonschema.Schema {
	c.mu.Lock()
	defer c.mu.Unlock()
	part := c.parts[key]
	if part == nil {
		const url = "mock:part"
		compiler := jsonschema.NewCompiler()
		compiler.DefaultDraft(jsonschema.Draft2020)
		compiler.AssertFormat()
		err := compiler.AddResource(url, schema)
		if err == nil {
			part, err = compiler.Compile(url)
		}
		if err != nil { // the schemas of this package are always valid
			part = always(true, "")
		}
		c.parts[key] = part
	}
	return part
}

// enum has the validator compile an enum of values of the same types, and replaces its values with
// the given ones.
func (c *schemas) enum(values []any) *jsonschema.Enum {
	plain := make([]any, len(values))
	for i, v := range values {
		plain[i] = reckonable(v)
	}
	among := typesAmong(plain)
	var samples []any
	for _, sample := range []any{nil, false, "", []any{}, map[string]any{}, json.Number("0")} {
		if among&typesAmong([]any{sample}) != 0 {
			samples = append(samples, sample)
		}
	}
	enum := c.part(fmt.Sprint("enum ", among), map[string]any{"enum": samples}).Enum
	if enum == nil {
		return nil
	}
	same := *enum
	same.Values = plain
	return &same
}

func (c *schemas) numbers(out *jsonschema.Schema, s *openapi3.Schema) {
	if s.Min != nil {
		out.Minimum = c.exact.Of(s.Min)
	}
	if s.Max != nil {
		out.Maximum = c.exact.Of(s.Max)
	}
	// The bound is a number or, in OpenAPI 3.0, a boolean that modifies the other bound.
	switch b := s.ExclusiveMin; {
	case b.Value != nil:
		out.ExclusiveMinimum = c.exact.Of(b.Value)
	case b.IsTrue():
		out.Minimum, out.ExclusiveMinimum = nil, out.Minimum
	}
	switch b := s.ExclusiveMax; {
	case b.Value != nil:
		out.ExclusiveMaximum = c.exact.Of(b.Value)
	case b.IsTrue():
		out.Maximum, out.ExclusiveMaximum = nil, out.Maximum
	}
	if f := s.MultipleOf; f != nil && *f > 0 {
		out.MultipleOf = c.exact.Of(f)
	}
}

// least converts a bound that has no effect if it is 0; most converts a bound that may be absent.
func least(n uint64) *int {
	if n == 0 {
		return nil
	}
	return most(&n)
}

func most(n *uint64) *int {
	if n == nil {
		return nil
	}
	i := int(min(*n, math.MaxInt))
	return &i
}

func (c *schemas) texts(out *jsonschema.Schema, s *openapi3.Schema) {
	out.MinLength, out.MaxLength = least(s.MinLength), most(s.MaxLength)
	if s.Format != "" {
		out.Format = c.format(s.Format)
	}
	if s.Pattern == "" {
		return
	}
	if p, err := text.CompilePattern(s.Pattern); err == nil {
		out.Pattern = expression{p, s.Pattern}
	} else {
		c.warnPattern(s.Pattern, err)
	}
}

func (c *schemas) warnPattern(source string, err error) {
	c.warnOnce(fmt.Sprintf("requests are not checked against the pattern %q: %v", source, err))
}

// expression adapts a pattern to the validator.
type expression struct {
	*text.Pattern
	source string
}

// MatchString reports whether the pattern matches a string.
func (e expression) MatchString(s string) bool { return e.Matches(s) }

// String returns the pattern as it was declared.
func (e expression) String() string { return e.source }

func (c *schemas) lists(out *jsonschema.Schema, s *openapi3.Schema) {
	out.MinItems, out.MaxItems = least(s.MinItems), most(s.MaxItems)
	out.UniqueItems = s.UniqueItems
	out.PrefixItems = c.refs(s.PrefixItems)
	if s.Items != nil || len(s.PrefixItems) > 0 {
		out.Extensions = append(out.Extensions, items{c.optional(s.Items), len(s.PrefixItems)})
	}
	if s.Contains != nil {
		k := contains{schema: c.ref(s.Contains), least: 1, most: -1}
		if n := most(s.MinContains); n != nil {
			k.least = *n
		}
		if n := most(s.MaxContains); n != nil {
			k.most = *n
		}
		out.Extensions = append(out.Extensions, k)
	}
	out.UnevaluatedItems = c.unevaluated(s.UnevaluatedItems, "")
}

func (c *schemas) objects(out *jsonschema.Schema, s *openapi3.Schema) {
	out.MinProperties, out.MaxProperties = least(s.MinProps), most(s.MaxProps)
	out.Properties = c.named(s.Properties)
	for name, property := range s.Properties {
		if c.use == received && c.excused(property) {
			out.Properties[name] = always(false, readOnlyLocation)
		}
	}
	for _, name := range s.Required {
		if !slices.Contains(out.Required, name) && !c.excused(s.Properties[name]) {
			out.Required = append(out.Required, name)
		}
	}
	if s.PropertyNames != nil {
		out.Extensions = append(out.Extensions, names{c.ref(s.PropertyNames), &c.runs})
	}
	out.DependentSchemas = c.named(s.DependentSchemas)
	if len(s.DependentRequired) > 0 {
		out.DependentRequired = make(map[string][]string, len(s.DependentRequired))
		for name, others := range s.DependentRequired {
			out.DependentRequired[name] = slices.Compact(slices.Sorted(slices.Values(others)))
		}
	}
	if !c.patternProperties(out, s) {
		return // an undeclared property might match a pattern that is not supported
	}
	if has := s.AdditionalProperties.Has; has != nil {
		out.AdditionalProperties = *has
	} else if r := s.AdditionalProperties.Schema; r != nil {
		k := others{schema: c.ref(r), declared: out.Properties}
		k.schema.Location = othersLocation
		for p := range out.PatternProperties {
			k.patterns = append(k.patterns, p)
		}
		out.Extensions = append(out.Extensions, k)
	}
	out.UnevaluatedProperties = c.unevaluated(s.UnevaluatedProperties, unevaluatedLocation)
}

// patternProperties compiles patternProperties and reports whether all patterns are supported.
func (c *schemas) patternProperties(out *jsonschema.Schema, s *openapi3.Schema) bool {
	understood := true
	for source, property := range s.PatternProperties {
		p, err := text.CompilePattern(source)
		if err != nil {
			c.warnPattern(source, err)
			understood = false
			continue
		}
		if out.PatternProperties == nil {
			out.PatternProperties = map[jsonschema.Regexp]*jsonschema.Schema{}
		}
		out.PatternProperties[expression{p, source}] = c.ref(property)
	}
	return understood
}

// excused reports whether a property is only for the other direction.
func (c *schemas) excused(r *openapi3.SchemaRef) bool {
	if r == nil || r.Value == nil {
		return false
	}
	if c.use == answered {
		return r.Value.WriteOnly
	}
	return r.Value.ReadOnly
}

// combined compiles the keywords that combine schemas.
func (c *schemas) combined(out *jsonschema.Schema, s *openapi3.Schema) {
	out.AllOf = c.refs(s.AllOf)
	if !c.discriminate(out, s.AnyOf, s.Discriminator) {
		out.AnyOf = c.refs(s.AnyOf)
	}
	switch {
	case c.discriminate(out, s.OneOf, s.Discriminator):
	case c.use != received && s.Discriminator != nil && len(s.OneOf) > 0:
		out.Extensions = append(out.Extensions, c.variants(s))
	default:
		out.OneOf = c.refs(s.OneOf)
	}
	out.If, out.Then, out.Else = c.optional(s.If), c.optional(s.Then), c.optional(s.Else)
}

// discriminate compiles alternatives with a discriminator: a property names the alternative that
// applies. Errors can then say why that alternative does not fit, whereas the plain keyword only
// says that none fits. It returns false without a discriminator, when an alternative has no name,
// and for generated values.
func (c *schemas) discriminate(out *jsonschema.Schema, list openapi3.SchemaRefs, d *openapi3.Discriminator) bool {
	if c.use != received || len(list) == 0 || d == nil || d.PropertyName == "" || slices.ContainsFunc(list, func(r *openapi3.SchemaRef) bool { return r.Ref == "" }) {
		return false
	}
	of := func(s *jsonschema.Schema) *jsonschema.Schema { // returns a schema for objects whose property fits s
		return &jsonschema.Schema{DraftVersion: draftVersion, Required: []string{d.PropertyName}, Properties: map[string]*jsonschema.Schema{d.PropertyName: s}}
	}
	var values []any
	var rules []*jsonschema.Schema
	for _, r := range list {
		for _, name := range valuesFor(r.Ref, d) {
			value := any(name)
			values = append(values, value)
			is := of(&jsonschema.Schema{DraftVersion: draftVersion, Const: &value})
			rules = append(rules, &jsonschema.Schema{DraftVersion: draftVersion, If: is, Then: c.ref(r)})
		}
	}
	one := of(&jsonschema.Schema{DraftVersion: draftVersion, Enum: c.enum(values)})
	one.Types, one.AllOf = new(jsonschema.Types), rules
	one.Types.Add("object")
	out.AllOf = append(out.AllOf, one)
	return true
}

// valuesFor returns the discriminator values for the schema of a reference: those of the mapping,
// or else the name of the schema.
func valuesFor(ref string, d *openapi3.Discriminator) []string {
	own := lastToken(ref)
	var values []string
	for value, mapped := range d.Mapping {
		if mapped.Ref == ref || mapped.Ref == own {
			values = append(values, value)
		}
	}
	slices.Sort(values)
	if len(values) == 0 {
		values = []string{own}
	}
	return values
}

// lastToken returns the text after the last slash of a reference.
func lastToken(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// unevaluated compiles a keyword for unevaluated parts of a value; nil when it has no effect.
func (c *schemas) unevaluated(b openapi3.BoolSchema, location string) *jsonschema.Schema {
	var s *jsonschema.Schema
	switch {
	case b.Has != nil:
		s = always(*b.Has, location)
	case b.Schema != nil:
		s = c.ref(b.Schema)
		s.Location = location
	default:
		return nil
	}
	c.runs.unevaluated.Store(true)
	return s
}
