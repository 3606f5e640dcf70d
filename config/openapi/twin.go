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

// twin distinguishes an operation from another with the same method and the same shape of path.
type twin struct {
	when  string              // the condition of the operation; "" for the one that answers all other requests
	ahead *openapi3.Operation // the operation that it must precede; nil for none
}

// shapes finds paths of the same shape.
type shapes struct {
	d     *decoding
	first map[string]*syntax.Entry // the first path of each shape
	open  map[string]*alike        // by method and shape, the operation that answers the remaining requests
	twins map[*openapi3.Operation]twin
}

// alike is an operation with the condition that distinguishes it from others of its shape.
type alike struct {
	op   *openapi3.Operation
	path *syntax.Entry
	rank int    // how narrow the condition is; 0 if there is none
	when string // the condition
	key  string // the condition without parameter names
}

// shapeOf returns a path without its parameter names. Paths of the same shape match the same
// request paths.
func shapeOf(form *pathForm) string {
	plain := form.plain
	for _, name := range form.names {
		plain = strings.Replace(plain, "{"+name+"}", "{}", 1)
	}
	return plain
}

// add compares the operations of a path with those of earlier paths of the same shape. It reports
// these and, unless s.d.strict is set, records how operations with the same method are told apart.
func (s *shapes) add(e *syntax.Entry, item *openapi3.PathItem, form *pathForm) {
	shape := shapeOf(form)
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
		own := alikeOf(op, e, item, form)
		other := s.open[method.Name()+" "+shape]
		if other == nil {
			s.open[method.Name()+" "+shape] = own
			continue
		}
		common = true
		what := fmt.Sprintf("%s is of the same shape as %s on line %d", strings.ToUpper(method.Name()), wording.Clip(other.path.Name()), other.path.Key.Pos().Line)
		if own.key == other.key {
			s.d.atKey(&method, sameOperation, "%s: no request tells them apart", what)
			continue
		}
		if own.rank >= other.rank {
			s.set(own, other.op)
			s.d.atKey(&method, fault{apart, "it answers if " + own.when}, "%s", what)
		} else {
			s.set(other, nil)
			s.open[method.Name()+" "+shape] = own
			s.d.atKey(&method, fault{apart, "the other one answers if " + other.when}, "%s", what)
		}
	}
	if first != nil && !common {
		s.d.atKey(e, sameShape, "the path is of the same shape as %s on line %d", wording.Clip(first.Name()), first.Key.Pos().Line)
	}
}

// apart is the kind of warnings about operations that are told apart.
const apart = "paths are of the same shape as others, and are told apart by their parameters"

func (s *shapes) set(a *alike, ahead *openapi3.Operation) {
	if s.twins == nil {
		s.twins = map[*openapi3.Operation]twin{}
	}
	s.twins[a.op] = twin{when: a.when, ahead: ahead}
}

// alikeOf returns the condition that distinguishes an operation from others: the query in its path,
// and the enums and types of its path parameters.
func alikeOf(op *openapi3.Operation, path *syntax.Entry, item *openapi3.PathItem, form *pathForm) *alike {
	a := &alike{op: op, path: path}
	for _, q := range form.query {
		if q.parameter == "" && plainText(q.key) && plainText(q.value) {
			a.add(4, "query "+q.key, `@ = "`+q.value+`"`, "query-params["+strconv.Quote(q.key)+"]")
		}
	}
	parameters := map[string]*openapi3.Schema{}
	for _, p := range validate.ParametersOf(item, op) {
		if p.In == openapi3.ParameterInPath {
			parameters[p.Name] = validate.SchemaOf(p)
		}
	}
	for i, name := range form.names {
		if !plainText(name) {
			continue
		}
		if rank, test := testOf(parameters[name]); rank > 0 {
			a.add(rank, strconv.Itoa(i), test, "path-params["+strconv.Quote(name)+"]")
		}
	}
	return a
}

// add adds a test of a variable. Each @ in test stands for the variable; key names its place.
func (a *alike) add(rank int, key, test, variable string) {
	a.rank, a.key = max(a.rank, rank), a.key+key+test+"\x00"
	if a.when != "" {
		a.when += " and "
	}
	a.when += strings.ReplaceAll(test, "@", variable)
}

// mostCompared limits how many enum values a condition compares with a parameter.
const mostCompared = 50

// testOf returns the condition that the values of a schema meet, with @ for the value, and how
// narrow the condition is; 0 if there is none.
func testOf(s *openapi3.Schema) (rank int, test string) {
	if s == nil {
		return 0, ""
	}
	if 0 < len(s.Enum) && len(s.Enum) <= mostCompared {
		var tests []string
		for _, value := range s.Enum {
			text, ok := scalarText(value)
			if !ok || !plainText(text) {
				return 0, ""
			}
			tests = append(tests, `@ = "`+text+`"`)
		}
		return 3, "(" + strings.Join(tests, " or ") + ")"
	}
	switch {
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

// add adds an operation to the document: at the end, or before the operation that would otherwise
// answer in its place.
func (c *compiler) add(o *Operation, op *openapi3.Operation) {
	t := c.twins[op]
	o.When = t.when
	if c.made == nil {
		c.made = map[*openapi3.Operation]*Operation{}
	}
	c.made[op] = o
	at := len(c.out.Operations)
	if first := c.made[t.ahead]; first != nil {
		for at > 0 && c.out.Operations[at-1] != first {
			at--
		}
		at = max(at-1, 0)
	}
	c.out.Operations = append(c.out.Operations, nil)
	copy(c.out.Operations[at+1:], c.out.Operations[at:])
	c.out.Operations[at] = o
}
