package generate

import (
	"cmp"
	"maps"
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

var kindOf = map[string]kinds{
	"null": kindNull, "boolean": kindBoolean, "integer": kindInteger, "number": kindNumber,
	"string": kindString, "array": kindArray, "object": kindObject,
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
	order    []kinds // in the order in which they are listed
	nullable bool    // null is listed as a type

	limited    bool  // has an enum or a const
	values     []any // of the first enum or const
	examples   []any
	defaults   []any
	properties []property
	fixed      map[string]string // values of discriminators
	faker      any               // a hint for invented data (x-faker)
}

// unlimited is the bound of a count that has none. It can still be counted up to.
const unlimited = 1 << 40

// least returns the greatest of a lower bound in the schemas.
func (g *merged) least(of func(*openapi3.Schema) uint64) int {
	bound := uint64(0)
	for _, s := range g.schemas {
		bound = max(bound, of(s))
	}
	return int(min(bound, unlimited))
}

// most returns the smallest of an upper bound in the schemas.
func (g *merged) most(of func(*openapi3.Schema) *uint64) int {
	bound := uint64(unlimited)
	for _, s := range g.schemas {
		if n := of(s); n != nil {
			bound = min(bound, *n)
		}
	}
	return int(bound)
}

// merger merges schemas.
type merger struct {
	*merged
	m      *Maker
	names  []string // names of the components seen so far, the most specific first
	seen   []*openapi3.Schema
	choose choice
}

// choice returns the index of one of n branches.
type choice func(n int, branch func(i int) *openapi3.SchemaRef) int

// merge combines all the schemas. In each oneOf, anyOf and if it takes the branch that choose
// returns.
func (m *Maker) merge(refs []*openapi3.SchemaRef, choose choice) *merged {
	g := &merger{m: m, choose: choose, merged: &merged{kinds: anyKind, choices: 1, fixed: map[string]string{}}}
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
	g.hard = g.hard || isHard(s)
	g.addType(s)
	g.addValues(s, top)
	g.addBranches(s, top && len(s.Properties) == 0)
}

// isHard reports whether a schema has keywords that values are not made for, but checked against.
func isHard(s *openapi3.Schema) bool {
	items, properties := s.UnevaluatedItems, s.UnevaluatedProperties
	return s.Not != nil || s.Contains != nil || s.PropertyNames != nil || len(s.DependentRequired) > 0 ||
		items.Has != nil || items.Schema != nil || properties.Has != nil || properties.Schema != nil
}

func (g *merger) addType(s *openapi3.Schema) {
	nullable := g.m.nullable(s)
	if !s.Type.IsEmpty() {
		allowed := kinds(0)
		for _, name := range *s.Type {
			allowed |= kindOf[name]
			g.order = append(g.order, kindOf[name])
		}
		if nullable {
			allowed |= kindNull
		}
		nullable = allowed&kindNull != 0
		g.kinds &= allowed
	}
	g.nullable = g.nullable || nullable
}

func (g *merger) addValues(s *openapi3.Schema, top bool) {
	add := func(to *[]any, values ...any) {
		for _, v := range values {
			if v != nil {
				*to = append(*to, jsonvalue.Of(v))
			}
		}
	}
	switch {
	case g.limited: // the values of another enum are checked
	case s.Const != nil:
		g.limited = true
		add(&g.values, s.Const)
	case s.Enum != nil:
		g.limited = true
		for _, v := range s.Enum {
			g.values = append(g.values, jsonvalue.Of(v))
		}
	}
	if top {
		add(&g.examples, s.Example)
		add(&g.examples, s.Examples...)
		add(&g.defaults, s.Default)
	}
}

// addBranches adds one branch of each choice in a schema.
func (g *merger) addBranches(s *openapi3.Schema, top bool) {
	for _, branches := range []openapi3.SchemaRefs{s.OneOf, s.AnyOf} {
		if len(branches) > 0 {
			branch := g.pick(branches...)
			if d := s.Discriminator; d != nil && branch != nil && branch.Ref != "" { // it identifies the branch
				value, _ := g.valueOf(d, refName(branch.Ref))
				g.fix(d.PropertyName, value)
			}
			g.add(branch, top)
		}
	}
	if s.Discriminator != nil && len(s.OneOf) == 0 && len(s.AnyOf) == 0 {
		g.addSubtype(s.Discriminator)
	}
	if s.If != nil && (s.Then != nil || s.Else != nil) {
		if g.pick(s.If, nil) != nil {
			g.add(s.If, false)
			g.add(s.Then, false)
		} else {
			g.add(s.Else, false)
		}
	}
	for _, name := range jsonvalue.SortedNames(s.DependentSchemas) {
		g.add(g.pick(s.DependentSchemas[name], nil), false) // most objects have the property
	}
}

func (g *merger) pick(branches ...*openapi3.SchemaRef) *openapi3.SchemaRef {
	return branches[g.pickOf(len(branches), func(i int) *openapi3.SchemaRef { return branches[i] })]
}

func (g *merger) pickOf(n int, branch func(i int) *openapi3.SchemaRef) int {
	g.hard = g.hard || n > 1
	g.choices = min(g.choices*n, 1<<20)
	return g.choose(n, branch)
}

// valueOf returns the value of a discriminator for a component, and whether its mapping has it.
func (g *merger) valueOf(d *openapi3.Discriminator, name string) (value string, isMapped bool) {
	for _, key := range g.m.mapped(d) {
		if refName(d.Mapping[key].Ref) == name {
			return key, true
		}
	}
	return name, false
}

func (g *merger) fix(name, value string) {
	if _, ok := g.fixed[name]; !ok {
		g.fixed[name] = value
	}
}

// addSubtype chooses the subtype of a schema with a discriminator: the schema whose allOf led here,
// or else one in the mapping.
func (g *merger) addSubtype(d *openapi3.Discriminator) {
	keys := g.m.mapped(d)
	for i, name := range g.names {
		if value, ok := g.valueOf(d, name); ok || len(keys) == 0 && i == 0 {
			g.fix(d.PropertyName, value)
			return
		}
	}
	if len(keys) == 0 {
		return
	}
	subtype := func(i int) *openapi3.SchemaRef {
		name := refName(d.Mapping[keys[i]].Ref)
		if c := g.m.doc.Components; c != nil && c.Schemas[name] != nil {
			return &openapi3.SchemaRef{Ref: "#/components/schemas/" + name, Value: c.Schemas[name].Value}
		}
		return nil
	}
	i := g.pickOf(len(keys), subtype)
	g.fix(d.PropertyName, keys[i])
	g.add(subtype(i), false)
}

// collectProperties merges the schemas of each property that is declared or required.
func (g *merger) collectProperties() {
	index := map[string]int{}
	declare := func(name string) *property {
		i, ok := index[name]
		if !ok {
			i = len(g.properties)
			index[name] = i
			g.properties = append(g.properties, g.m.propertyOf(g.schemas, name))
		}
		return &g.properties[i]
	}
	for _, s := range g.schemas {
		for _, name := range g.m.orderOf(s) {
			declare(name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.fixed)) {
		declare(name).required = true
	}
	for _, s := range g.schemas {
		for _, name := range s.Required {
			declare(name).required = true
		}
	}
}

// fakerKey is the keyword with which a schema asks for invented data, in the form that Prism and
// json-schema-faker use: "name.firstName", or {"datatype.number": {"min": 1, "max": 9}}.
const fakerKey = "x-faker"

// encodings are the formats of texts with a contentEncoding.
var encodings = map[string]string{"base64": "byte", "base64url": "base64url", "base32": "base32", "base16": "base16"}

func (g *merged) formats() (all []string) {
	for _, s := range g.schemas {
		name := cmp.Or(s.Format, encodings[strings.ToLower(s.ContentEncoding)])
		if name != "" && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}
