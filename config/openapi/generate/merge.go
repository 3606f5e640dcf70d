package generate

import (
	"math"
	"math/big"
	"path"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
)

// kinds is a set of JSON Schema types.
type kinds uint8

const (
	kindNull kinds = 1 << iota
	kindBoolean
	kindInteger
	kindFraction // non-integer numbers
	kindString
	kindArray
	kindObject

	kindNumber = kindInteger | kindFraction
	anyKind    = kindNull | kindBoolean | kindNumber | kindString | kindArray | kindObject
)

func kindOf(name string) kinds {
	switch name {
	case "null":
		return kindNull
	case "boolean":
		return kindBoolean
	case "integer":
		return kindInteger
	case "number":
		return kindNumber
	case "string":
		return kindString
	case "array":
		return kindArray
	case "object":
		return kindObject
	}
	return 0
}

// merged is the combination of several schemas that a value must satisfy at once, including those
// of their allOf and one branch of each oneOf, anyOf and if.
type merged struct {
	schemas []*openapi3.Schema // schemas in allOf come before the schema that contains them
	never   bool               // no value satisfies it
	// choices is the number of branch combinations found so far.
	choices int
	// hard means that a generated value may still violate the schemas, so it must be checked, and
	// another value tried if it does.
	hard bool

	kinds    kinds
	order    []kinds // in the order of a list of types
	nullable bool    // null is listed as a type

	limited  bool // has an enum or a const
	values   []any
	examples []any
	defaults []any

	low, high           *big.Rat
	openLow, openHigh   bool
	steps               []*big.Rat
	minLength           int
	maxLength           int // -1 for none
	patterns            []string
	formats             []string
	minItems, maxItems  int
	unique, array       bool
	contains            []*openapi3.Schema
	minProps, maxProps  int
	required            []string
	properties          []property
	index               map[string]int    // indexes of properties, by name
	closed              bool              // unevaluatedProperties: false
	fixed               map[string]string // values of discriminators
	faker               any               // a hint for invented data (x-faker)
	dependent, patterny bool
}

// merger merges schemas.
type merger struct {
	*merged
	m       *Maker
	seen    []*openapi3.Schema
	negated []*openapi3.Schema
	names   []string // names of the components seen so far, the most specific first
	choose  func(n int) int
}

// merge combines all the schemas. In each oneOf, anyOf and if with n branches it takes the branch
// that choose(n) returns.
func (m *Maker) merge(refs []*openapi3.SchemaRef, choose func(n int) int) *merged {
	g := &merger{m: m, choose: choose, merged: &merged{
		kinds: anyKind, maxLength: -1, maxItems: -1, maxProps: -1, choices: 1,
	}}
	for _, ref := range refs {
		g.add(ref, true)
	}
	g.collectProperties()
	return g.merged
}

// refName returns the name of the component in a reference.
func refName(ref string) string {
	if ref == "" {
		return ""
	}
	return path.Base(ref)
}

// add adds a schema. The examples of a top-level schema are examples of the whole value.
func (g *merger) add(ref *openapi3.SchemaRef, top bool) {
	if ref == nil || ref.Value == nil || slices.Contains(g.seen, ref.Value) {
		return
	}
	s := ref.Value
	g.seen = append(g.seen, s)
	if ref.Ref != "" {
		g.names = append(g.names, refName(ref.Ref))
	}
	if s.Always != nil {
		g.never = g.never || !*s.Always
		return
	}
	for _, part := range s.AllOf {
		g.add(part, top && len(s.AllOf) == 1 && len(s.Properties) == 0)
	}
	g.schemas = append(g.schemas, s)
	if hint, ok := s.Extensions[fakerKey]; ok && g.faker == nil {
		g.faker = jsonvalue.Of(hint)
	}
	g.addType(s)
	g.addValues(s, top)
	g.addNumber(s)
	g.addString(s)
	g.addArray(s)
	g.addObject(s)
	g.addBranches(s, top && len(s.Properties) == 0)
	if not := s.Not; not != nil && not.Value != nil {
		g.addNot(not.Value)
	}
}

func (g *merger) addType(s *openapi3.Schema) {
	g.nullable = g.nullable || g.m.nullable(s)
	if s.Type.IsEmpty() {
		return
	}
	allowed := kinds(0)
	for _, name := range *s.Type {
		allowed |= kindOf(name)
		if len(g.order) < len(*s.Type) {
			g.order = append(g.order, kindOf(name))
		}
	}
	if g.m.nullable(s) {
		allowed |= kindNull
	}
	g.nullable = g.nullable || allowed&kindNull != 0
	g.kinds &= allowed
}

func (g *merger) addValues(s *openapi3.Schema, top bool) {
	values := s.Enum
	if s.Const != nil {
		values = []any{s.Const}
	}
	if values != nil {
		converted := make([]any, len(values))
		for i := range values {
			converted[i] = jsonvalue.Of(values[i])
		}
		if g.limited {
			both := make(distinct, len(g.values))
			for _, v := range g.values {
				both.add(v)
			}
			converted = slices.DeleteFunc(converted, func(v any) bool { return !both.has(v) })
		}
		g.limited, g.values = true, converted
	}
	if !top {
		return
	}
	if s.Example != nil {
		g.examples = append(g.examples, jsonvalue.Of(s.Example))
	}
	for _, e := range s.Examples {
		g.examples = append(g.examples, jsonvalue.Of(e))
	}
	if s.Default != nil {
		g.defaults = append(g.defaults, jsonvalue.Of(s.Default))
	}
}

func (g *merger) addNumber(s *openapi3.Schema) {
	of := g.m.Numbers.Of
	if s.Min != nil {
		g.raise(of(s.Min), s.ExclusiveMin.IsTrue())
	}
	if s.Max != nil {
		g.lower(of(s.Max), s.ExclusiveMax.IsTrue())
	}
	if v := s.ExclusiveMin.Value; v != nil {
		g.raise(of(v), true)
	}
	if v := s.ExclusiveMax.Value; v != nil {
		g.lower(of(v), true)
	}
	if s.MultipleOf != nil && *s.MultipleOf > 0 {
		g.steps = append(g.steps, of(s.MultipleOf))
	}
	if s.Format == "int32" || s.Format == "int64" {
		g.addIntegerFormat(s.Format)
	}
}

// Bounds of the integer formats.
var (
	low32, high32 = big.NewRat(math.MinInt32, 1), big.NewRat(math.MaxInt32, 1)
	low64, high64 = big.NewRat(math.MinInt64, 1), big.NewRat(math.MaxInt64, 1)
)

func (g *merger) addIntegerFormat(name string) {
	if g.kinds&kindNumber == 0 {
		return
	}
	if name == "int32" {
		g.raise(low32, false)
		g.lower(high32, false)
	} else {
		g.raise(low64, false)
		g.lower(high64, false)
	}
}

// unbounded reports whether any number is allowed, apart from the limits of integer formats.
func (g *merged) unbounded() bool {
	return len(g.steps) == 0 && (g.low == nil || g.low == low32 || g.low == low64) && (g.high == nil || g.high == high32 || g.high == high64)
}

func (g *merger) raise(low *big.Rat, open bool) {
	if g.low == nil || low.Cmp(g.low) > 0 {
		g.low, g.openLow = low, open
	} else if low.Cmp(g.low) == 0 {
		g.openLow = g.openLow || open
	}
}

func (g *merger) lower(high *big.Rat, open bool) {
	if g.high == nil || high.Cmp(g.high) < 0 {
		g.high, g.openHigh = high, open
	} else if high.Cmp(g.high) == 0 {
		g.openHigh = g.openHigh || open
	}
}

func (g *merger) addString(s *openapi3.Schema) {
	g.minLength = max(g.minLength, clampCount(s.MinLength))
	g.maxLength = least(g.maxLength, s.MaxLength)
	if s.Pattern != "" {
		g.patterns = append(g.patterns, s.Pattern)
	}
	if s.Format != "" && !slices.Contains(g.formats, s.Format) {
		g.formats = append(g.formats, s.Format)
	}
	if name := encodings[strings.ToLower(s.ContentEncoding)]; name != "" && s.Format == "" {
		g.formats = append(g.formats, name)
	}
}

// clampCount caps a count from a document at a value that can still be counted up to.
func clampCount(n uint64) int { return int(min(n, 1<<40)) }

// least returns the smaller of two bounds, where -1 and nil mean no bound.
func least(n int, other *uint64) int {
	if other == nil {
		return n
	}
	if c := clampCount(*other); n < 0 || c < n {
		return c
	}
	return n
}

func (g *merger) addArray(s *openapi3.Schema) {
	g.minItems = max(g.minItems, clampCount(s.MinItems))
	g.maxItems = least(g.maxItems, s.MaxItems)
	g.unique = g.unique || s.UniqueItems
	if s.Contains != nil {
		g.contains = append(g.contains, s)
		g.hard = true
	}
	g.hard = g.hard || s.UnevaluatedItems.Has != nil || s.UnevaluatedItems.Schema != nil
	g.array = g.array || s.Items != nil || s.PrefixItems != nil || s.Contains != nil || s.MinItems > 0 || s.UniqueItems
}

func (g *merger) addObject(s *openapi3.Schema) {
	g.minProps = max(g.minProps, clampCount(s.MinProps))
	g.maxProps = least(g.maxProps, s.MaxProps)
	g.required = append(g.required, s.Required...) // may contain duplicates
	if has := s.UnevaluatedProperties.Has; has != nil && !*has {
		g.closed, g.hard = true, true
	}
	g.hard = g.hard || s.PropertyNames != nil || s.UnevaluatedProperties.Schema != nil
	g.dependent = g.dependent || len(s.DependentRequired) > 0 || len(s.DependentSchemas) > 0
	g.patterny = g.patterny || len(s.PatternProperties) > 0
	if g.dependent {
		g.hard = true
	}
}

// addBranches adds one branch of each choice in a schema.
func (g *merger) addBranches(s *openapi3.Schema, top bool) {
	for _, branches := range []openapi3.SchemaRefs{s.OneOf, s.AnyOf} {
		if len(branches) == 0 {
			continue
		}
		branch := nullLast(branches)[g.pick(len(branches))]
		g.hard = g.hard || len(branches) > 1
		g.discriminate(s.Discriminator, branch)
		g.add(branch, top)
	}
	if s.Discriminator != nil && len(s.OneOf) == 0 && len(s.AnyOf) == 0 {
		g.addSubtype(s)
	}
	if s.If != nil && (s.Then != nil || s.Else != nil) {
		g.hard = true
		if g.pick(2) == 0 {
			g.add(s.If, false)
			g.add(s.Then, false)
		} else {
			g.add(s.Else, false)
		}
	}
}

// nullLast moves the branches that only allow null to the end.
func nullLast(branches openapi3.SchemaRefs) openapi3.SchemaRefs {
	onlyNull := func(ref *openapi3.SchemaRef) int {
		if ref != nil && ref.Value != nil && ref.Value.Type.Is("null") {
			return 1
		}
		return 0
	}
	sorted := slices.Clone(branches)
	slices.SortStableFunc(sorted, func(a, b *openapi3.SchemaRef) int { return onlyNull(a) - onlyNull(b) })
	return sorted
}

func (g *merger) pick(n int) int {
	g.choices = min(g.choices*n, 1<<20)
	return g.choose(n)
}

// discriminate fixes the value of the property that identifies the branch.
func (g *merger) discriminate(d *openapi3.Discriminator, branch *openapi3.SchemaRef) {
	if d == nil || branch == nil || branch.Ref == "" {
		return
	}
	value := refName(branch.Ref)
	for _, key := range jsonvalue.SortedNames(d.Mapping) {
		if ref := d.Mapping[key].Ref; ref == branch.Ref || refName(ref) == value {
			g.fix(d.PropertyName, key)
			return
		}
	}
	g.fix(d.PropertyName, value)
}

func (g *merger) fix(name, value string) {
	if _, ok := g.fixed[name]; ok {
		return
	}
	if g.fixed == nil {
		g.fixed = map[string]string{}
	}
	g.fixed[name] = value
}

// addSubtype chooses the subtype of a schema with a discriminator: the schema whose allOf led here,
// or else one in the mapping.
func (g *merger) addSubtype(s *openapi3.Schema) {
	d := s.Discriminator
	keys := g.m.mapped(d)
	for _, name := range g.names {
		for _, key := range keys {
			if refName(d.Mapping[key].Ref) == name {
				g.fix(d.PropertyName, key)
				return
			}
		}
	}
	if len(keys) == 0 {
		if len(g.names) > 0 {
			g.fix(d.PropertyName, g.names[0])
		}
		return
	}
	key := keys[g.pick(len(keys))]
	g.fix(d.PropertyName, key)
	name := refName(d.Mapping[key].Ref)
	if g.m.doc == nil || g.m.doc.Components == nil {
		return
	}
	if subtype := g.m.doc.Components.Schemas[name]; subtype != nil && subtype.Value != nil {
		g.add(&openapi3.SchemaRef{Ref: "#/components/schemas/" + name, Value: subtype.Value}, false)
	}
}

// fakerKey is the keyword with which a schema asks for invented data, in the form that Prism and
// json-schema-faker use: "name.firstName", or {"datatype.number": {"min": 1, "max": 9}}.
const fakerKey = "x-faker"

// encodings are the formats of texts with a contentEncoding.
var encodings = map[string]string{"base64": "byte", "base64url": "base64url", "base32": "base32", "base16": "base16"}
