package renderer

import (
	"slices"

	"mockserver/matcher"
	"mockserver/renderer/fake"
	"mockserver/renderer/value"
)

// opcode is the source of an expression's value.
type opcode uint8

const (
	opLiteral opcode = iota
	opPathParam
	opPathSegment
	opQuery
	opHeader
	opCookie
	opForm
	opJSON
	opLoopItem
	opLoopIndex
	opLoopFirst
	opLoopLast
	opStreamIndex
	opRequest
	opBody
	opMessage
	opMessageJSON
	opNow
	opRandom
	opRandomInt
	opPick
	opFake
	opCounter
	opRandomText
	opRandomHex
	opRow
	opModel
	opResponse
	opResponseStatus
	opResponseHeader
	opResponseStream
)

// expr is a compiled expression: the source of its value, and the filters applied to it.
type expr struct {
	op      opcode
	length  bool                                 // .length of the value
	memo    int                                  // the number of the memo in the frame that has the value, from 1; 0 for none
	steady  int                                  // how many filters are included in the memo
	turns   int                                  // the loop whose iterations change the value, or noLoop
	index   int                                  // opPathParam, opPathSegment: position, -1 for none; opLoop…: the loop, from the outermost; opRow: position
	bare    bool                                 // opLiteral: a bare word of a condition
	name    string                               // opQuery, opHeader, opCookie, opForm, opResponseHeader
	steps   []step                               // opJSON, opLoopItem, opRow, opModel, opResponse: the path into the value
	literal value.Value                          // opLiteral
	args    []expr                               // opRandomInt, opPick, opRandomText, opRandomHex; opCounter: the operand, if any
	fake    *fake.Data                           // opFake
	read    func(r *matcher.Request) value.Value // opRequest and similar opcodes, see roots; opModel
	counter *counter                             // opCounter
	filters []filter
}

// step is one step into a JSON value: a key, or an index where there is an array.
type step struct {
	key    string
	index  int  // -1 if key is not an array index
	quoted bool // key is the name of a member, even if it is length
}

// filter is one compiled filter. It is applied as apply(v, arg), where arg is the value of its
// argument.
type filter struct {
	name  string
	arg   *expr // nil if it has none
	cost  int
	apply func(v, arg value.Value, r *matcher.Request) value.Value
}

// isLength reports whether the step is .length, which means the length of a value that has no
// member with that name.
func (s *step) isLength() bool { return s.key == "length" && !s.quoted }

// constant reports whether the value is the same for every request and needs no computation.
func (e *expr) constant() bool {
	return e.op == opLiteral && !e.length && len(e.filters) == 0
}

// everyArgument reports whether all arguments of filters are of a kind.
func (e *expr) everyArgument(is func(*expr) bool) bool {
	return !slices.ContainsFunc(e.filters, func(f filter) bool { return f.arg != nil && !is(f.arg) })
}

// asJSON makes e represent the JSON value in a message, if the message is JSON. The message may be
// e itself, its default, or one of its arguments. The result of a filter other than default is
// text.
func (e *expr) asJSON() {
	for i := range e.filters {
		if e.filters[i].name != "default" {
			return
		}
		e.filters[i].arg.asJSON()
	}
	if e.op == opMessage && !e.length {
		e.op = opMessageJSON
	}
	for i := range e.args {
		e.args[i].asJSON()
	}
}

// optional returns the value of a parameter, missing if it was not sent.
func optional(b []byte, ok bool) value.Value {
	if !ok {
		return value.Value{}
	}
	return value.OfText(b)
}

func message(r *matcher.Request) value.Value { return optional(r.Message, r.Message != nil) }
