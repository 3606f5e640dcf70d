package validate

import (
	"encoding/json"
	"regexp"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// types is a set of JSON types.
type types uint8

const (
	nullType types = 1 << iota
	booleanType
	integerType
	numberType
	stringType
	arrayType
	objectType

	anyType       = objectType<<1 - 1
	primitiveType = nullType | booleanType | integerType | numberType | stringType
)

var typeNames = map[string]types{
	"null": nullType, "boolean": booleanType, "integer": integerType, "number": numberType | integerType,
	"string": stringType, "array": arrayType, "object": objectType,
}

// form contains the parts of a schema that are needed to convert strings in a request to values.
type form struct {
	schema     *jsonschema.Schema
	runs       *runs // validations against the schema; nil for a schema compiled by jsonschema
	types      types
	items      *form            // nil when items are not described
	properties map[string]*form // by name
	others     *form            // form of other properties; nil when they are not described
	open       bool             // other properties are declared, whatever their form
}

// forms contains the forms of the schemas seen so far, which may be recursive.
type forms struct {
	known map[*jsonschema.Schema]*form
	runs  *runs
}

// maxNesting limits how deeply references and alternatives of a schema are followed.
const maxNesting = 16

// of returns the form of a schema.
func (fs forms) of(s *jsonschema.Schema) *form {
	if s == nil {
		return nil
	}
	if f := fs.known[s]; f != nil {
		return f
	}
	f := &form{schema: s, runs: fs.runs, types: typesOf(s, maxNesting), properties: map[string]*form{}}
	fs.known[s] = f
	if f.types == anyType || f.types == 0 {
		f.types = stringType // the schema describes nothing, so the value is a string
	}
	fs.fill(f, s, maxNesting)
	return f
}

// fill adds the forms of nested values in a schema and in the schemas that it is composed of.
func (fs forms) fill(f *form, s *jsonschema.Schema, depth int) {
	if s == nil || depth == 0 {
		return
	}
	for name, property := range s.Properties {
		if f.properties[name] == nil {
			f.properties[name] = fs.of(property)
		}
	}
	switch other := s.AdditionalProperties.(type) {
	case bool:
		f.open = f.open || other
	case *jsonschema.Schema:
		f.others, f.open = fs.of(other), true
	}
	for _, list := range []any{s.Items2020, s.Items} {
		if one, ok := list.(*jsonschema.Schema); ok && one != nil && f.items == nil {
			f.items = fs.of(one)
		}
	}
	for _, extension := range s.Extensions {
		switch k := extension.(type) {
		case items:
			if f.items == nil {
				f.items = fs.of(k.schema)
			}
		case others:
			f.others, f.open = fs.of(k.schema), true
		}
	}
	fs.fill(f, referred(s), depth-1)
	for _, parts := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf, {s.Then, s.Else}} {
		for _, part := range parts {
			fs.fill(f, part, depth-1)
		}
	}
}

// typesOf returns the types that a schema allows.
func typesOf(s *jsonschema.Schema, depth int) types {
	left := anyType
	if depth == 0 {
		return left
	}
	if s.Types != nil && !s.Types.IsEmpty() {
		var declared types
		for _, name := range s.Types.ToStrings() {
			declared |= typeNames[name]
		}
		left &= declared
	}
	if s.Enum != nil {
		left &= typesAmong(s.Enum.Values)
	}
	if s.Const != nil {
		left &= typesAmong([]any{*s.Const})
	}
	if other := referred(s); other != nil {
		left &= typesOf(other, depth-1)
	}
	for _, part := range s.AllOf {
		left &= typesOf(part, depth-1)
	}
	for _, alternatives := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		var either types
		for _, part := range alternatives {
			either |= typesOf(part, depth-1)
		}
		if len(alternatives) > 0 {
			left &= either
		}
	}
	return left
}

func typesAmong(values []any) types {
	var found types
	for _, v := range values {
		switch v.(type) {
		case nil:
			found |= nullType
		case bool:
			found |= booleanType
		case string:
			found |= stringType
		case []any:
			found |= arrayType
		case map[string]any:
			found |= objectType
		default:
			found |= numberType | integerType
		}
	}
	return found
}

// numeral matches the strings that are numbers.
var numeral = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// value converts a string to a value of a type that the form allows. A string that fits the schema
// or no type stays a string; the schema rejects the latter.
func (f *form) value(text string) any {
	if f == nil || f.types&primitiveType == stringType || f.types&stringType != 0 && f.fits(text) {
		return text
	}
	switch {
	case f.types&booleanType != 0 && (text == "true" || text == "false"):
		return text == "true"
	case f.types&(numberType|integerType) != 0 && numeral.MatchString(text) && isBounded(text):
		sign, digits := "", text
		if text[0] == '-' {
			sign, digits = text[:1], text[1:]
		}
		for len(digits) > 1 && digits[0] == '0' && '0' <= digits[1] && digits[1] <= '9' { // JSON has no leading zeros
			digits = digits[1:]
		}
		return json.Number(sign + digits)
	case f.types&nullType != 0 && (text == "" || text == "null"):
		return nil
	}
	return text
}

// fits reports whether a string satisfies the schema.
func (f *form) fits(text string) bool {
	if f.runs == nil {
		return f.schema.Validate(text) == nil
	}
	return f.validate(text).fits()
}

// validate checks a value against the schema.
func (f *form) validate(v any) *run { return f.runs.begin(v).validate(f.schema, v) }

// item and property return the forms of nested values; nil when these are not described or f is
// nil.
func (f *form) item() *form {
	if f == nil {
		return nil
	}
	return f.items
}

func (f *form) property(name string) *form {
	if f == nil {
		return nil
	}
	if p := f.properties[name]; p != nil {
		return p
	}
	return f.others
}

// inside returns the form of the value at a key or an index.
func (f *form) inside(token string) *form {
	if f.has(arrayType) && isIndex(token) {
		return f.item()
	}
	return f.property(token)
}

// has reports whether a value may be of one of the types.
func (f *form) has(t types) bool { return f != nil && f.types&t != 0 }
