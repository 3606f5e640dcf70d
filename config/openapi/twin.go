package openapi

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/validate"
	"mockserver/config/syntax"
	"mockserver/internal/wording"
)

// shapes finds paths of the same shape, which match the same request paths.
type shapes struct {
	d     *decoding
	first map[string]*syntax.Entry // the first path of each shape
	open  map[string]*twin         // by method and shape, the operation that answers the remaining requests
}

// twin is an operation with the condition that distinguishes it from others of its shape.
type twin struct {
	op   *openapi3.Operation
	path *syntax.Entry
	rank int    // how narrow the condition is; 0 if there is none
	when string // the condition
	key  string // the condition without parameter names
}

// add compares the operations of a path with those of earlier paths of the same shape. It reports
// these and, unless s.d.strict is set, records how operations with the same method are told apart.
func (s *shapes) add(e *syntax.Entry, item *openapi3.PathItem, form *pathForm) {
	shape := form.plain
	for _, name := range form.names {
		shape = strings.Replace(shape, "{"+name+"}", "{}", 1)
	}
	first := s.first[shape]
	if first == nil {
		s.first[shape] = e
	} else if s.d.strict {
		s.d.atKey(e, sameShape, "the path is of the same shape as %s on line %d: no request tells them apart", wording.Clip(first.Name()), first.Key.Pos().Line)
		return
	}
	common := false
	for _, method := range e.Value.Entries {
		op := operationOf(item, method.Name())
		if op == nil {
			continue
		}
		own, at := twinOf(op, e, item, form), method.Name()+" "+shape
		other := s.open[at]
		if other == nil {
			s.open[at] = own
			continue
		}
		common = true
		what := fmt.Sprintf("%s is of the same shape as %s on line %d", strings.ToUpper(method.Name()), wording.Clip(other.path.Name()), other.path.Key.Pos().Line)
		switch {
		case own.key == other.key:
			s.d.atKey(&method, sameOperation, "%s: no request tells them apart", what)
		case own.rank >= other.rank:
			s.d.twins[op] = own
			s.d.atKey(&method, fault{apart, "it answers if " + own.when}, "%s", what)
		default:
			s.d.twins[other.op], s.open[at] = other, own
			s.d.atKey(&method, fault{apart, "the other one answers if " + other.when}, "%s", what)
		}
	}
	if first != nil && !common {
		s.d.atKey(e, sameShape, "the path is of the same shape as %s on line %d", wording.Clip(first.Name()), first.Key.Pos().Line)
	}
}

// apart is the kind of warnings about operations that are told apart.
const apart = "paths are of the same shape as others, and are told apart by their parameters"

// twinOf returns an operation with its condition: the query in its path, and the enums and types of
// its path parameters.
func twinOf(op *openapi3.Operation, path *syntax.Entry, item *openapi3.PathItem, form *pathForm) *twin {
	t := &twin{op: op, path: path}
	add := func(rank int, key, test, variable string) { // each @ in test stands for the variable
		if t.when != "" {
			t.when += " and "
		}
		t.rank, t.key, t.when = max(t.rank, rank), t.key+key+test+"\x00", t.when+strings.ReplaceAll(test, "@", variable)
	}
	for _, q := range form.query {
		if q.parameter == "" && plainText(q.key) && plainText(q.value) {
			add(3, "query "+q.key, `@ = "`+q.value+`"`, "query-params["+strconv.Quote(q.key)+"]")
		}
	}
	for i, p := range form.parameters(validate.ParametersOf(item, op)) {
		if rank, test := testOf(p.Schema); rank > 0 && plainText(p.Name) {
			add(rank, strconv.Itoa(i), test, "path-params["+strconv.Quote(p.Name)+"]")
		}
	}
	return t
}

// mostCompared limits how many enum values a condition compares with a parameter.
const mostCompared = 50

// testOf returns the condition that the values of a schema meet, with @ for the value, and how
// narrow the condition is; 0 if there is none.
func testOf(s *openapi3.Schema) (rank int, test string) {
	switch {
	case s == nil:
	case 0 < len(s.Enum) && len(s.Enum) <= mostCompared:
		tests := make([]string, len(s.Enum))
		for i, value := range s.Enum {
			text, ok := scalarText(value)
			if !ok || !plainText(text) {
				return 0, ""
			}
			tests[i] = `@ = "` + text + `"`
		}
		return 3, "(" + strings.Join(tests, " or ") + ")"
	case s.Type.Is(openapi3.TypeBoolean):
		return 2, `@ matches "^(true|false)$"`
	case s.Type.Is(openapi3.TypeInteger):
		return 2, `@ matches "^-?[0-9]+$"`
	case s.Type.Is(openapi3.TypeNumber):
		return 1, `@ matches "^-?[0-9]+[.]?[0-9]*$"`
	case s.Format == "uuid":
		return 2, `@ matches "^[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}$"`
	}
	return 0, ""
}

// plainText reports whether a string can be quoted in a condition without escaping.
func plainText(text string) bool { return !strings.ContainsAny(text, "\"\\{}@%\n\r") }
