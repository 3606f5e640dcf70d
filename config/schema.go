package config

import (
	"bytes"
	"encoding/json"
	"strings"

	"mockserver/config/syntax"
)

// Schema returns the JSON Schema of the configuration language (draft 7, which
// editors know whole), as indented JSON text. It describes one document: what a YAML,
// JSON or EDN file holds.
//
// It is made of the tables that decoding goes by. Whatever Load accepts is valid
// by it; the reverse holds as far as the tables say it, so rules across keys,
// templates, conditions and other files are for Load alone.
func Schema() []byte {
	item := mapSchema(rowsOf(itemFields))
	item.Type, item.MinProperties, item.MaxProperties = "object", 1, 1
	doc := schema{
		Dialect:     "http://json-schema.org/draft-07/schema#",
		Title:       "Configuration of mockserver",
		Description: "a list of endpoints",
		Type:        "array",
		Items:       &item,
	}
	return schemaText(doc, "  ")
}

// schemaText returns JSON text with each < and & as itself. What is made of texts,
// numbers, lists and structs has one, so there is no error.
func schemaText(v any, indent string) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	_ = e.Encode(v)
	return out.Bytes()
}

// schema is a JSON Schema, as far as the tables need one. The keywords of one kind
// of value say nothing about values of another.
type schema struct {
	Dialect     string `json:"$schema,omitempty"`
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

// mapSchema says what a map may hold that has a table.
func mapSchema(table []row) schema {
	s := schema{AdditionalProperties: false}
	for _, r := range table {
		if r.many != nil {
			s.PatternProperties = append(s.PatternProperties, property{r.many.pattern, r.schema()})
			continue
		}
		s.Properties = append(s.Properties, property{r.key, r.schema()})
		switch {
		case r.required && r.unless != "":
			s.OneOf = []schema{{Required: []string{r.key}}, {Required: []string{r.unless}}}
		case r.required:
			s.Required = append(s.Required, r.key)
		}
	}
	return s
}

// schema says what a row accepts.
func (r row) schema() schema {
	s := schema{}
	if r.table != nil {
		s = mapSchema(r.table)
	}
	s.Description, s.Type, s.Pattern = r.doc, r.types(), r.pattern
	if r.filled {
		s.MinLength = 1
	}
	if len(r.enum) > 0 {
		s.choice(r)
	}
	if r.max > 0 {
		s.Minimum, s.Maximum = bound(r.min), bound(r.max)
	}
	if r.upTo > 0 {
		s.Minimum, s.Maximum = bound(0), bound(r.upTo)
	}
	if r.length != 0 {
		s.duration(r)
	}
	s.Items = r.item.part()
	s.PropertyNames = r.name.part()
	if r.value != nil {
		s.AdditionalProperties = r.value.part()
	}
	return s
}

func bound(n int) *int64 {
	b := int64(n)
	return &b
}

// duration says what a duration may be.
func (s *schema) duration(r row) {
	if r.kinds.has(syntax.TextNode) {
		s.Pattern = durationPattern
	}
	if !r.kinds.has(syntax.NumberNode) {
		return
	}
	if r.length.above() {
		s.ExclusiveMinimum = bound(0)
	} else {
		s.Minimum = bound(0)
	}
	switch {
	case r.length.unit():
		s.Maximum = bound(0) // any other number has no unit
	case r.length.millis() && r.most > 0:
		most := r.most.Milliseconds()
		s.Maximum = &most
	}
}

// part is schema of a row that may be left out.
func (r *row) part() *schema {
	if r == nil {
		return nil
	}
	s := r.schema()
	return &s
}

// choice says which texts are accepted, and null where that is. Where any case will
// do they are listed all the same, for editors to offer, beside a pattern that
// holds of every spelling.
func (s *schema) choice(r row) {
	var words []any
	for _, word := range r.enum {
		words = append(words, word)
	}
	if r.kinds.has(syntax.NullNode) {
		words = append(words, nil)
	}
	if !r.anyCase {
		s.Enum = words
		return
	}
	s.AnyOf = []schema{{Enum: words}, {Pattern: anyCasePattern(r.enum)}}
}

// anyCasePattern holds of the words in small letters, capitals, or a mix:
// ^([Gg][Ee][Tt])$.
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

// types are the JSON types of a row's kinds: a text for one, a list for several,
// nil for all.
func (r row) types() any {
	if r.kinds == anything {
		return nil
	}
	number := "number"
	if r.max > 0 {
		number = "integer"
	}
	var names []string
	for _, t := range []struct {
		kind syntax.Kind
		name string
	}{{syntax.TextNode, "string"}, {syntax.NumberNode, number}, {syntax.BoolNode, "boolean"}, {syntax.ListNode, "array"}, {syntax.MapNode, "object"}, {syntax.NullNode, "null"}} {
		if r.kinds.has(t.kind) {
			names = append(names, t.name)
		}
	}
	if len(names) == 1 {
		return names[0]
	}
	return names
}
