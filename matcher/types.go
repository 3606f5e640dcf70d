package matcher

import (
	"slices"

	"mockserver/internal/ascii"
	"mockserver/internal/json"
)

// paramType is the type of texts that a parameter accepts.
type paramType uint8

const (
	anyText paramType = iota
	intType
	floatType
	boolType
	uuidType
	dateType
	mixedType // a segment that contains parameters and text; see mixed
)

var typeNames = map[string]paramType{
	"string": anyText, "int": intType, "float": floatType, "double": floatType,
	"bool": boolType, "boolean": boolType, "uuid": uuidType, "date": dateType,
}

// typeOrder contains the names of the types in the order in which messages list them.
var typeOrder = []string{"string", "int", "float", "double", "bool", "boolean", "uuid", "date"}

// described returns the name of a type for use in a sentence.
func (t paramType) described() string {
	return [...]string{"a text", "an integer", "a number", "true or false", "a UUID", "an ISO 8601 date", "of that form"}[t]
}

// accepts reports whether a parameter of type t accepts the decoded text b.
func (t paramType) accepts(b []byte) bool {
	switch t {
	case intType:
		return isInt(b)
	case floatType:
		return isFloat(b)
	case boolType:
		return string(b) == "true" || string(b) == "false"
	case uuidType:
		return isUUID(b)
	case dateType:
		_, ok := ParseTime(b)
		return ok
	}
	return true
}

// covers reports whether t accepts every text that other accepts.
func (t paramType) covers(other paramType) bool {
	return t == other || t == anyText || t == floatType && other == intType
}

func unsigned(b []byte) []byte {
	if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
		return b[1:]
	}
	return b
}

func isInt(b []byte) bool {
	b = unsigned(b)
	return len(b) > 0 && !slices.ContainsFunc(b, func(c byte) bool { return !isDigit(c) })
}

func isFloat(b []byte) bool {
	b = unsigned(b)
	for len(b) > 1 && b[0] == '0' && isDigit(b[1]) {
		b = b[1:]
	}
	return len(b) > 0 && isDigit(b[0]) && json.IsNumber(b)
}

func isUUID(b []byte) bool {
	if len(b) != 36 {
		return false
	}
	for i, c := range b {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if ascii.Hex(c) > 15 {
				return false
			}
		}
	}
	return true
}
