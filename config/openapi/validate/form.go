package validate

import (
	"encoding/json"
	"regexp"
)

// types is a set of JSON types.
type types uint8

const (
	nullType types = 1 << iota
	booleanType
	numberType
	integerType
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
	schema     *schema
	from       *schemas
	types      types
	items      *form            // nil when items are not described
	properties map[string]*form // by name
	others     *form            // form of other properties; nil when they are not described
	open       bool             // other properties are declared, whatever their form
}

// forms contains the forms of the schemas seen so far, which may be recursive.
type forms struct {
	known map[*schema]*form
	from  *schemas
}

// maxNesting limits how deeply references and alternatives of a schema are followed.
const maxNesting = 16

func (fs forms) of(s *schema) *form {
	if s == nil {
		return nil
	}
	if f := fs.known[s]; f != nil {
		return f
	}
	f := &form{schema: s, from: fs.from, types: typesOf(s, maxNesting), properties: map[string]*form{}}
	fs.known[s] = f
	if f.types == anyType || f.types == 0 {
		f.types = stringType // the schema describes nothing, so the value is a string
	}
	fs.fill(f, s, maxNesting)
	return f
}

// fill adds the forms of nested values in a schema and in the schemas that it is composed of.
func (fs forms) fill(f *form, s *schema, depth int) {
	if s == nil || depth == 0 {
		return
	}
	if s.ref != nil {
		fs.fill(f, s.ref(), depth-1)
		return
	}
	for name, property := range s.properties {
		if f.properties[name] == nil {
			f.properties[name] = fs.of(property)
		}
	}
	switch {
	case s.others == anything:
		f.open = true
	case s.others != nil && s.others.refusal == notRefused:
		f.others, f.open = fs.of(s.others), true
	}
	if f.items == nil {
		f.items = fs.of(s.items)
	}
	for _, parts := range [][]*schema{s.allOf, s.anyOf, s.oneOf} {
		for _, part := range parts {
			fs.fill(f, part, depth-1)
		}
	}
	for _, k := range s.choices {
		for _, named := range k.named {
			for _, part := range named {
				fs.fill(f, part, depth-1)
			}
		}
	}
	fs.fill(f, s.condition.then, depth-1)
	fs.fill(f, s.condition.otherwise, depth-1)
}

// typesOf returns the types that a schema allows.
func typesOf(s *schema, depth int) types {
	left := anyType
	switch {
	case depth == 0:
		return left
	case s.ref != nil:
		return typesOf(s.ref(), depth-1)
	case s.types != 0:
		left = s.types
	}
	for _, a := range s.allowed {
		left &= typesAmong(a.values)
	}
	for _, part := range s.allOf {
		left &= typesOf(part, depth-1)
	}
	for _, alternatives := range [][]*schema{s.anyOf, s.oneOf} {
		var either types
		for _, part := range alternatives {
			either |= typesOf(part, depth-1)
		}
		if len(alternatives) > 0 {
			left &= either
		}
	}
	if len(s.choices) > 0 {
		left &= objectType
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
	r := f.from.begin(text)
	r.silent = true
	return r.validate(f.schema, text).ok()
}

// validate checks a value against the schema.
func (f *form) validate(v any) *run { return f.from.begin(v).validate(f.schema, v) }

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
