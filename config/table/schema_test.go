package table

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"mockserver/config/syntax"
	"mockserver/internal/list"
)

// The program contains the schema of its configurations as a file, which TestSchema_IsOfTheTables compares with the
// schema that this file makes of the tables.

// Schema returns a JSON Schema (draft 7, which editors fully support), as indented JSON text, for a
// list of maps, each with one of the keys of a table.
func Schema(title, description string, table []Row) []byte {
	d := definitions{list: syntax.NewMap(), names: map[string]string{}}
	item := syntax.NewMap().SetText("type", "object")
	d.keys(item, table)
	item.Set("minProperties", number(1)).Set("maxProperties", number(1))
	doc := syntax.NewMap().SetText("$schema", "http://json-schema.org/draft-07/schema#").SetText("title", title).
		SetText("description", description).SetText("type", "array").Set("items", item).Set("definitions", d.list)
	var out bytes.Buffer
	_ = json.Indent(&out, []byte(schemaText(doc)), "", "  ") // it is JSON, so there is no error
	return append(out.Bytes(), '\n')
}

func schemaText(s *syntax.Node) string { return s.JSON(true, nil).Value }

func number[T int | int64](n T) *syntax.Node {
	return syntax.NewNumber(strconv.FormatInt(int64(n), 10))
}

func textList(texts []string) *syntax.Node { return syntax.NewList(list.Map(texts, syntax.NewText)...) }

// definitions are the schemas of maps with a table, each written once, because many keys have the
// same table.
type definitions struct {
	list  *syntax.Node      // by name
	names map[string]string // by the text of the schema, without its description
}

// refer returns a reference to the definition of a schema, which is added if it is new. Its name
// comes from the key whose value it describes.
func (d *definitions) refer(key string, s *syntax.Node) *syntax.Node {
	own := s.Get("description")
	s.Delete("description")
	text := schemaText(s)
	name, known := d.names[text]
	if !known {
		name = key
		for n := 2; d.list.Get(name) != nil; n++ {
			name = fmt.Sprintf("%s-%d", key, n)
		}
		d.names[text] = name
		d.list.Set(name, s)
		if own != nil {
			s.Entries = append([]syntax.Entry{syntax.NewEntry("description", own)}, s.Entries...)
		}
	}
	ref := syntax.NewMap().SetText("$ref", "#/definitions/"+name) // draft 7 ignores all keywords next to it
	if own == nil || d.list.Get(name, "description").AsText() == own.AsText() {
		return ref
	}
	return syntax.NewMap().Set("description", own).Set("allOf", syntax.NewList(ref))
}

// keys adds the keys of a map with a table.
func (d *definitions) keys(s *syntax.Node, table []Row) {
	var required []string
	for _, r := range table {
		if r.Many != nil {
			s.Make("patternProperties").Set(r.Many.Pattern, d.row(r.Key, r))
			continue
		}
		s.Make("properties").Set(r.Key, d.row(r.Key, r))
		switch {
		case r.Required && r.Unless != "":
			one := syntax.NewMap().Set("required", textList([]string{r.Key}))
			s.Set("oneOf", syntax.NewList(one, syntax.NewMap().Set("required", textList([]string{r.Unless}))))
		case r.Required:
			required = append(required, r.Key)
		}
	}
	if required != nil {
		s.Set("required", textList(required))
	}
	s.Set("additionalProperties", syntax.NewBool(false))
}

// row returns the schema of a row, which is the value of a key or in it. The keywords for one type
// do not restrict values of other types.
func (d *definitions) row(key string, r Row) *syntax.Node {
	if r.Again != "" {
		return syntax.NewMap().SetText("$ref", "#/definitions/"+r.Again)
	}
	s := syntax.NewMap().SetText("description", r.Doc)
	if r.Kinds != Anything {
		s.Set("type", r.types())
	}
	if len(r.Enum) > 0 {
		choose(s, r)
	}
	if r.Filled {
		s.Set("minLength", number(1))
	}
	s.SetText("pattern", r.Pattern)
	switch {
	case r.Max > 0:
		s.Set("minimum", number(r.Min)).Set("maximum", number(r.Max))
	case r.UpTo > 0:
		s.Set("minimum", number(0)).Set("maximum", number(r.UpTo))
	case r.Length.form != "":
		limitDuration(s, r)
	}
	d.part(s, "items", key, r.Item)
	if r.Table != nil {
		d.keys(s, r.Table)
	}
	d.part(s, "propertyNames", key, r.Name)
	d.part(s, "additionalProperties", key, r.Value)
	if r.Table != nil {
		return d.refer(key, s)
	}
	return s
}

// part sets a keyword to the schema of a row, if there is one.
func (d *definitions) part(s *syntax.Node, keyword, key string, r *Row) {
	if r != nil {
		s.Set(keyword, d.row(key, *r))
	}
}

// durationPattern matches what time.ParseDuration accepts, without a minus sign, in the syntax that
// ECMAScript and RE2 have in common.
const durationPattern = `^\+?(0|(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`

// limitDuration adds the restrictions of a duration.
func limitDuration(s *syntax.Node, r Row) {
	if r.Kinds.Has(syntax.TextNode) {
		s.SetText("pattern", durationPattern)
	}
	if !r.Kinds.Has(syntax.NumberNode) {
		return
	}
	if r.Length.above {
		s.Set("exclusiveMinimum", number(0))
	} else {
		s.Set("minimum", number(0))
	}
	switch {
	case r.Length.unit:
		s.Set("maximum", number(0)) // any other number needs a unit
	case r.Length.millis && r.Most > 0:
		s.Set("maximum", number(r.Most.Milliseconds()))
	}
}

// choose adds the accepted texts, and null if it is accepted. If any case is accepted, the texts
// are still listed, so that editors suggest them, next to a pattern for all spellings.
func choose(s *syntax.Node, r Row) {
	words := textList(r.Enum)
	if r.Kinds.Has(syntax.NullNode) {
		words.Append(&syntax.Node{})
	}
	if !r.AnyCase {
		s.Set("enum", words)
		return
	}
	spelt := syntax.NewMap().SetText("pattern", anyCasePattern(r.Enum))
	s.Set("anyOf", syntax.NewList(syntax.NewMap().Set("enum", words), spelt))
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

// types returns the JSON types of a row: a text for one type, a list for several.
func (r Row) types() *syntax.Node {
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
		return syntax.NewText(names[0])
	}
	return textList(names)
}

// The schema accepts the texts without a minus sign that time.ParseDuration accepts, and otherwise
// only texts that would overflow.
func FuzzDurationPattern(f *testing.F) {
	pattern := regexp.MustCompile(durationPattern)
	for _, text := range []string{"0", "+0", "1h2m3.4s", ".5ms", "1.us", "µs", "1μs", "1e3s", "1", "1d", "-1s", "1s\n", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := time.ParseDuration(text)
		reads := err == nil && !strings.HasPrefix(text, "-")
		known := pattern.MatchString(text)
		if reads && !known {
			t.Errorf("%q is %v, but not known", text, d)
		}
		if known && !reads && len(text) < 10 { // a long one may overflow
			t.Errorf("%q is known, but %v", text, err)
		}
	})
}
