package validate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/openapi/text"
)

// readOnlyDefinition is the name of the schema that stands for read-only properties.
const readOnlyDefinition = "read-only"

// schemas turns the schemas of a document into one JSON Schema of draft 2020-12, of which
// each schema that is named, or asked for, is a definition. They are the schemas of
// requests: what is read-only is refused, and required of nobody.
//
// The library's own validator is not used: of a 3.1 document it compiles the schema anew
// for each value that it is given.
type schemas struct {
	modern      bool // OpenAPI 3.1: a schema is one of draft 2020-12 already
	exact       jsonvalue.Numbers
	definitions map[string]any
	names       map[*openapi3.Schema]string
	pending     []*openapi3.Schema
	warn        func(what string)
	warned      map[string]bool
	runs        runs // of what is compiled
}

// name is the name of the definition of a schema, which is made later.
func (c *schemas) name(s *openapi3.Schema) string {
	name, known := c.names[s]
	if !known {
		name = "s" + strconv.Itoa(len(c.names))
		c.names[s] = name
		c.pending = append(c.pending, s)
	}
	return name
}

// finish makes the definitions that were named.
func (c *schemas) finish() {
	for len(c.pending) > 0 {
		s := c.pending[0]
		c.pending = c.pending[1:]
		c.definitions[c.names[s]] = c.schema(s)
	}
}

func (c *schemas) warnOnce(what string) {
	if !c.warned[what] {
		c.warned[what] = true
		c.warn(what)
	}
}

// ref is a schema where it stands: one that is named by reference.
func (c *schemas) ref(r *openapi3.SchemaRef) any {
	switch {
	case r == nil || r.Value == nil:
		return true
	case r.Ref != "":
		return map[string]any{refKeyword: c.name(r.Value)}
	}
	return c.schema(r.Value)
}

func (c *schemas) refs(list openapi3.SchemaRefs) []any {
	all := make([]any, len(list))
	for i, r := range list {
		all[i] = c.ref(r)
	}
	return all
}

func (c *schemas) schema(s *openapi3.Schema) any {
	if s.Always != nil {
		return *s.Always
	}
	m := map[string]any{}
	c.values(m, s)
	c.numbers(m, s)
	c.texts(m, s)
	c.lists(m, s)
	c.objects(m, s)
	c.combined(m, s)
	if s.Nullable && !c.modern {
		orNull(m)
	}
	return m
}

// orNull makes a schema of OpenAPI 3.0 nullable: its type, and what it is composed of.
// Its enum still counts, as the specification has it from 3.0.3 on.
func orNull(m map[string]any) {
	if t, ok := m["type"].([]any); ok {
		m["type"] = append(t, "null")
	}
	parts := map[string]any{}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		if part, ok := m[key]; ok {
			parts[key] = part
			delete(m, key)
		}
	}
	if len(parts) > 0 {
		m["anyOf"] = []any{map[string]any{"type": []any{"null"}}, parts}
	}
}

// values are the keywords for values of any type.
func (c *schemas) values(m map[string]any, s *openapi3.Schema) {
	var names []any
	for _, name := range s.Type.Slice() {
		if typeNames[name] == 0 {
			c.warnOnce(fmt.Sprintf("the type %q is none of JSON Schema; requests are not held against it", name))
			names = nil
			break
		}
		if !slices.Contains(names, any(name)) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		m["type"] = names
	}
	if len(s.Enum) > 0 {
		m["enum"] = reckonable(s.Enum)
	}
	if s.Const != nil {
		m["const"] = reckonable(s.Const)
	}
	if s.Not != nil {
		m["not"] = c.ref(s.Not)
	}
}

func (c *schemas) numbers(m map[string]any, s *openapi3.Schema) {
	c.number(m, "minimum", s.Min)
	c.number(m, "maximum", s.Max)
	c.exclude(m, "minimum", "exclusiveMinimum", s.ExclusiveMin)
	c.exclude(m, "maximum", "exclusiveMaximum", s.ExclusiveMax)
	if f := s.MultipleOf; f != nil && *f > 0 {
		c.number(m, "multipleOf", f)
	}
}

func (c *schemas) number(m map[string]any, key string, f *float64) {
	if f != nil {
		m[key] = jsonvalue.DecimalText(c.exact.Of(f))
	}
}

func put[T any](m map[string]any, key string, value *T) {
	if value != nil {
		m[key] = *value
	}
}

// exclude sets a bound that is excluded: a number, or in OpenAPI 3.0 a word about the
// other one.
func (c *schemas) exclude(m map[string]any, bound, excluded string, b openapi3.ExclusiveBound) {
	if b.Value != nil {
		c.number(m, excluded, b.Value)
	} else if value, ok := m[bound]; ok && b.IsTrue() {
		m[excluded] = value
		delete(m, bound)
	}
}

func (c *schemas) texts(m map[string]any, s *openapi3.Schema) {
	if s.MinLength > 0 {
		m["minLength"] = s.MinLength
	}
	put(m, "maxLength", s.MaxLength)
	if s.Format != "" {
		m["format"] = s.Format
	}
	if s.Pattern == "" {
		return
	}
	if _, err := text.CompilePattern(s.Pattern); err == nil {
		m["pattern"] = s.Pattern
	} else {
		c.warnPattern(s.Pattern, err)
	}
}

func (c *schemas) warnPattern(source string, err error) {
	c.warnOnce(fmt.Sprintf("requests are not held against the pattern %q: %v", source, err))
}

// expression is a pattern for the validator.
type expression struct {
	*text.Pattern
	source string
}

// MatchString reports whether the pattern takes a text.
func (e expression) MatchString(s string) bool { return e.Matches(s) }

// String is the pattern as it was declared.
func (e expression) String() string { return e.source }

func compileExpression(source string) (jsonschema.Regexp, error) {
	p, err := text.CompilePattern(source)
	return expression{p, source}, err
}

func (c *schemas) lists(m map[string]any, s *openapi3.Schema) {
	if s.MinItems > 0 {
		m["minItems"] = s.MinItems
	}
	put(m, "maxItems", s.MaxItems)
	if s.UniqueItems {
		m["uniqueItems"] = true
	}
	c.put(m, itemsKeyword, s.Items)
	if len(s.PrefixItems) > 0 {
		m["prefixItems"] = c.refs(s.PrefixItems)
	}
	if s.Contains != nil {
		c.put(m, containsKeyword, s.Contains)
		put(m, minContainsKeyword, s.MinContains)
		put(m, maxContainsKeyword, s.MaxContains)
	}
	c.unevaluated(m, "unevaluatedItems", s.UnevaluatedItems)
}

func (c *schemas) objects(m map[string]any, s *openapi3.Schema) {
	if s.MinProps > 0 {
		m["minProperties"] = s.MinProps
	}
	put(m, "maxProperties", s.MaxProps)
	properties := c.named(s.Properties)
	required := []any{}
	for _, name := range s.Required {
		if !slices.Contains(required, any(name)) && !isReadOnly(s.Properties[name]) {
			required = append(required, name)
		}
	}
	for name, property := range s.Properties {
		if isReadOnly(property) {
			c.definitions[readOnlyDefinition] = false
			properties[name] = map[string]any{refKeyword: readOnlyDefinition}
		}
	}
	if len(required) > 0 {
		m["required"] = required
	}
	if len(properties) > 0 {
		m["properties"] = properties
	}
	if s.AdditionalProperties.Has != nil {
		m["additionalProperties"] = *s.AdditionalProperties.Has
	} else {
		c.put(m, othersKeyword, s.AdditionalProperties.Schema)
	}
	c.unevaluated(m, "unevaluatedProperties", s.UnevaluatedProperties)
	c.put(m, namesKeyword, s.PropertyNames)
	if len(s.DependentSchemas) > 0 {
		m["dependentSchemas"] = c.named(s.DependentSchemas)
	}
	if len(s.DependentRequired) > 0 {
		depending := map[string]any{}
		for name, others := range s.DependentRequired {
			depending[name] = slices.Compact(slices.Sorted(slices.Values(others)))
		}
		m["dependentRequired"] = depending
	}
	if len(s.PatternProperties) > 0 {
		c.patternProperties(m, s)
	}
}

func (c *schemas) patternProperties(m map[string]any, s *openapi3.Schema) {
	byPattern := map[string]any{}
	for pattern, property := range s.PatternProperties {
		if _, err := text.CompilePattern(pattern); err == nil {
			byPattern[pattern] = c.ref(property)
		} else {
			c.warnPattern(pattern, err)
			delete(m, "additionalProperties") // it may be one of these
			delete(m, othersKeyword)
			delete(m, "unevaluatedProperties")
		}
	}
	m["patternProperties"] = byPattern
}

func isReadOnly(r *openapi3.SchemaRef) bool { return r != nil && r.Value != nil && r.Value.ReadOnly }

// combined are the keywords that make a schema of others.
func (c *schemas) combined(m map[string]any, s *openapi3.Schema) {
	if len(s.AllOf) > 0 {
		m["allOf"] = c.refs(s.AllOf)
	}
	for key, list := range map[string]openapi3.SchemaRefs{"anyOf": s.AnyOf, "oneOf": s.OneOf} {
		if len(list) > 0 && !c.discriminate(m, list, s.Discriminator) {
			m[key] = c.refs(list)
		}
	}
	c.put(m, "if", s.If)
	c.put(m, "then", s.Then)
	c.put(m, "else", s.Else)
	if s.DynamicRef != "" {
		c.warnOnce(fmt.Sprintf("the $dynamicRef %q is not followed; requests are not held against it", s.DynamicRef))
	}
}

// discriminate makes of alternatives with a discriminator what it says: the property
// names the one that counts. That tells what is wrong with it, where the keyword itself
// only tells that none fits. False when an alternative has no name.
func (c *schemas) discriminate(m map[string]any, list openapi3.SchemaRefs, d *openapi3.Discriminator) bool {
	if d == nil || d.PropertyName == "" || slices.ContainsFunc(list, func(r *openapi3.SchemaRef) bool { return r.Ref == "" }) {
		return false
	}
	var values, rules []any
	for _, r := range list {
		for _, value := range valuesFor(r.Ref, d) {
			values = append(values, value)
			is := map[string]any{"properties": map[string]any{d.PropertyName: map[string]any{"const": value}}, "required": []any{d.PropertyName}}
			rules = append(rules, map[string]any{"if": is, "then": c.ref(r)})
		}
	}
	all, _ := m["allOf"].([]any)
	m["allOf"] = append(all, map[string]any{
		"type": []any{"object"}, "required": []any{d.PropertyName},
		"properties": map[string]any{d.PropertyName: map[string]any{"enum": values}},
		"allOf":      rules,
	})
	return true
}

// valuesFor are the values of a discriminator that name the schema of a reference: those
// of the mapping, or else its own name.
func valuesFor(ref string, d *openapi3.Discriminator) []string {
	own := ref[strings.LastIndexByte(ref, '/')+1:]
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

func (c *schemas) put(m map[string]any, key string, r *openapi3.SchemaRef) {
	if r != nil {
		m[key] = c.ref(r)
	}
}

func (c *schemas) unevaluated(m map[string]any, key string, b openapi3.BoolSchema) {
	put(m, key, b.Has)
	if b.Has == nil {
		c.put(m, key, b.Schema)
	}
	if m[key] != nil {
		c.runs.unevaluated = true
	}
}

func (c *schemas) named(all openapi3.Schemas) map[string]any {
	m := make(map[string]any, len(all))
	for name, r := range all {
		m[name] = c.ref(r)
	}
	return m
}

// compile compiles the definitions and returns what finds one.
func (c *schemas) compile() (func(*openapi3.Schema) (*jsonschema.Schema, error), error) {
	c.finish()
	const url = "mock:document"
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	compiler.UseRegexpEngine(compileExpression)
	compiler.RegisterVocabulary(&jsonschema.Vocabulary{URL: "mock:names", Compile: c.runs.compileNames})
	compiler.RegisterVocabulary(&jsonschema.Vocabulary{URL: "mock:items", Compile: compileItems})
	compiler.RegisterVocabulary(&jsonschema.Vocabulary{URL: "mock:contains", Compile: compileContains})
	compiler.RegisterVocabulary(&jsonschema.Vocabulary{URL: "mock:others", Compile: compileOthers})
	refs := references{known: map[string]*reference{}, runs: &c.runs}
	compiler.RegisterVocabulary(&jsonschema.Vocabulary{URL: "mock:references", Compile: refs.compile})
	compiler.AssertVocabs()
	for _, f := range checkedFormats {
		compiler.RegisterFormat(f)
	}
	plain, err := plainJSON(map[string]any{"$defs": c.definitions})
	if err != nil {
		return nil, err
	}
	if err := compiler.AddResource(url, plain); err != nil {
		return nil, err
	}
	c.definitions = nil
	find := func(name string) (*jsonschema.Schema, error) {
		s, err := compiler.Compile(url + "#/$defs/" + name)
		for len(refs.pending) > 0 {
			r := refs.pending[0]
			refs.pending = refs.pending[1:]
			var wrong error
			if r.schema, wrong = compiler.Compile(url + "#/$defs/" + r.name); wrong != nil {
				c.warnOnce("requests are not held against a schema: " + wrong.Error())
			}
		}
		return s, err
	}
	return func(s *openapi3.Schema) (*jsonschema.Schema, error) { return find(c.names[s]) }, nil
}
