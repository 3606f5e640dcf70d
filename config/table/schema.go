package table

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"mockserver/config/syntax"
)

// Schema returns a JSON Schema (draft 7, which editors fully support), as indented JSON text, for a
// list of maps, each with one of the keys of a table.
func Schema(title, description string, table []Row) []byte {
	d := definitions{names: map[string]string{}, taken: map[string]bool{}}
	item := d.table(table)
	item.Type, item.MinProperties, item.MaxProperties = "object", 1, 1
	doc := schema{
		Dialect:     "http://json-schema.org/draft-07/schema#",
		Title:       title,
		Description: description,
		Type:        "array",
		Items:       &item,
		Definitions: d.list,
	}
	return schemaText(doc, "  ")
}

// definitions are the schemas of maps with a table, each written once, because many keys have the
// same table.
type definitions struct {
	list  properties
	names map[string]string // by the text of the schema
	taken map[string]bool   // names in use
}

// refer returns a reference to the definition of a schema, which is added if it is new. Its name
// comes from the key whose value it describes.
func (d *definitions) refer(key string, s schema) schema {
	text := string(schemaText(s, ""))
	name, known := d.names[text]
	if !known {
		name = key
		for n := 2; d.taken[name]; n++ {
			name = fmt.Sprintf("%s-%d", key, n)
		}
		d.names[text], d.taken[name] = name, true
		d.list = append(d.list, property{name, s})
	}
	return schema{Ref: "#/definitions/" + name}
}

// schemaText returns JSON text in which < and & are not escaped. Values made of texts, numbers,
// lists and structs can always be encoded, so there is no error.
func schemaText(v any, indent string) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	_ = e.Encode(v)
	return out.Bytes()
}

// schema is a JSON Schema, as far as the tables need one. The keywords for one type do not restrict
// values of other types.
type schema struct {
	Dialect     string `json:"$schema,omitempty"`
	Ref         string `json:"$ref,omitempty"` // draft 7 ignores all keywords next to it
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Type        any    `json:"type,omitempty"` // a text, or a list of texts; nil for anything

	AnyOf     []schema `json:"anyOf,omitempty"`
	OneOf     []schema `json:"oneOf,omitempty"`
	Enum      []any    `json:"enum,omitempty"`
	MinLength int      `json:"minLength,omitempty"`
	Pattern   string   `json:"pattern,omitempty"`

	Minimum          *int64 `json:"minimum,omitempty"`
	ExclusiveMinimum *int64 `json:"exclusiveMinimum,omitempty"`
	Maximum          *int64 `json:"maximum,omitempty"`

	Items *schema `json:"items,omitempty"`

	Properties           properties `json:"properties,omitempty"`
	PatternProperties    properties `json:"patternProperties,omitempty"`
	Required             []string   `json:"required,omitempty"`
	PropertyNames        *schema    `json:"propertyNames,omitempty"`
	AdditionalProperties any        `json:"additionalProperties,omitempty"` // false, or a *schema
	MinProperties        int        `json:"minProperties,omitempty"`
	MaxProperties        int        `json:"maxProperties,omitempty"`

	Definitions properties `json:"definitions,omitempty"`
}

// properties are the keys of a map in the order of their table.
type properties []property

type property struct {
	key    string
	schema schema
}

// MarshalJSON writes an object whose members are in order.
func (ps properties) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, p := range ps {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, schemaText(p.key, "")...), ':')
		out = append(out, schemaText(p.schema, "")...)
	}
	return append(out, '}'), nil
}

// table returns the schema of a map with a table.
func (d *definitions) table(table []Row) schema {
	s := schema{AdditionalProperties: false}
	for _, r := range table {
		if r.Many != nil {
			s.PatternProperties = append(s.PatternProperties, property{r.Many.Pattern, d.row(r.Key, r)})
			continue
		}
		s.Properties = append(s.Properties, property{r.Key, d.row(r.Key, r)})
		switch {
		case r.Required && r.Unless != "":
			s.OneOf = []schema{{Required: []string{r.Key}}, {Required: []string{r.Unless}}}
		case r.Required:
			s.Required = append(s.Required, r.Key)
		}
	}
	return s
}

// row returns the schema of a row, which is the value of a key or in it.
func (d *definitions) row(key string, r Row) schema {
	s := schema{}
	if r.Table != nil {
		s = d.table(r.Table)
	}
	s.Description, s.Type, s.Pattern = r.Doc, r.types(), r.Pattern
	if r.Filled {
		s.MinLength = 1
	}
	if len(r.Enum) > 0 {
		s.choice(r)
	}
	if r.Max > 0 {
		s.Minimum, s.Maximum = bound(r.Min), bound(r.Max)
	}
	if r.UpTo > 0 {
		s.Minimum, s.Maximum = bound(0), bound(r.UpTo)
	}
	if r.Length != 0 {
		s.duration(r)
	}
	s.Items, s.PropertyNames = d.part(key, r.Item), d.part(key, r.Name)
	if r.Value != nil {
		s.AdditionalProperties = d.part(key, r.Value)
	}
	if r.Table != nil {
		return d.refer(key, s)
	}
	return s
}

func bound(n int) *int64 {
	b := int64(n)
	return &b
}

// DurationPattern matches what time.ParseDuration accepts, without a minus sign, in the syntax that
// ECMAScript and RE2 have in common.
const DurationPattern = `^\+?(0|(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`

// duration adds the restrictions of a duration.
func (s *schema) duration(r Row) {
	if r.Kinds.Has(syntax.TextNode) {
		s.Pattern = DurationPattern
	}
	if !r.Kinds.Has(syntax.NumberNode) {
		return
	}
	if r.Length.above() {
		s.ExclusiveMinimum = bound(0)
	} else {
		s.Minimum = bound(0)
	}
	switch {
	case r.Length.unit():
		s.Maximum = bound(0) // any other number needs a unit
	case r.Length.millis() && r.Most > 0:
		most := r.Most.Milliseconds()
		s.Maximum = &most
	}
}

// part returns the schema of an optional row.
func (d *definitions) part(key string, r *Row) *schema {
	if r == nil {
		return nil
	}
	s := d.row(key, *r)
	return &s
}

// choice adds the accepted texts, and null if it is accepted. If any case is accepted, the texts
// are still listed, so that editors suggest them, next to a pattern for all spellings.
func (s *schema) choice(r Row) {
	var words []any
	for _, word := range r.Enum {
		words = append(words, word)
	}
	if r.Kinds.Has(syntax.NullNode) {
		words = append(words, nil)
	}
	if !r.AnyCase {
		s.Enum = words
		return
	}
	s.AnyOf = []schema{{Enum: words}, {Pattern: anyCasePattern(r.Enum)}}
}

// anyCasePattern matches the words in any mix of cases: ^([Gg][Ee][Tt])$.
func anyCasePattern(words []string) string {
	var b strings.Builder
	for i, word := range words {
		b.WriteString(map[bool]string{true: "^(", false: "|"}[i == 0])
		for _, r := range word {
			b.WriteString("[" + strings.ToUpper(string(r)) + strings.ToLower(string(r)) + "]")
		}
	}
	return b.String() + ")$"
}

// types returns the JSON types for a row's kinds: a string for one type, a list for several, nil
// for all.
func (r Row) types() any {
	if r.Kinds == Anything {
		return nil
	}
	number := "number"
	if r.Max > 0 {
		number = "integer"
	}
	var names []string
	for _, t := range []struct {
		kind syntax.Kind
		name string
	}{{syntax.TextNode, "string"}, {syntax.NumberNode, number}, {syntax.BoolNode, "boolean"}, {syntax.ListNode, "array"}, {syntax.MapNode, "object"}, {syntax.NullNode, "null"}} {
		if r.Kinds.Has(t.kind) {
			names = append(names, t.name)
		}
	}
	if len(names) == 1 {
		return names[0]
	}
	return names
}
