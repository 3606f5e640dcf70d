package renderer

import (
	"strings"

	"mockserver/internal/wording"
	"mockserver/matcher"
	"mockserver/matcher/json"
	"mockserver/renderer/fake"
	"mockserver/renderer/value"
)

// opcode is the source of an expression's value.
type opcode uint8

const (
	opLiteral opcode = iota
	opPathParam
	opQuery
	opHeader
	opCookie
	opForm
	opJSON
	opLoopItem
	opLoopIndex
	opLoopFirst
	opLoopLast
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
	opShared
	opRandomText
	opRandomHex
	opRow
	opResponse
	opResponseStatus
	opResponseHeader
)

// expr is a compiled expression: the source of its value, and the filters applied to it.
type expr struct {
	op      opcode
	length  bool                                 // .length of the value
	memo    int                                  // the number of the memo in the frame that has the value, from 1; 0 for none
	steady  int                                  // how many filters are included in the memo
	turns   int                                  // the loop whose turns change that, from the outermost, or noLoop
	index   int                                  // opPathParam: position, -1 for none; opLoop…: the loop, from the outermost; opRow: position
	bare    bool                                 // opLiteral: a bare word of a condition
	name    string                               // opQuery, opHeader, opCookie, opForm, opResponseHeader
	steps   []step                               // opJSON, opLoopItem, opRow, opResponse: the path into the value
	literal value.Value                          // opLiteral
	args    []expr                               // opRandomInt, opPick, opRandomText, opRandomHex; opCounter: the operand, if any
	fake    *fake.Data                           // opFake
	read    func(r *matcher.Request) value.Value // for a row of roots
	counter *counter                             // opCounter
	shared  func() int64                         // opShared
	filters []filter
}

// step is one step into a JSON value: a key, or an index where there is an array.
type step struct {
	key    string
	index  int  // -1 if key is not an array index
	quoted bool // key is the name of a member, even if it is length
}

// isLength reports whether the step is .length, unless there is a member with that name.
func (s *step) isLength() bool { return s.key == "length" && !s.quoted }

// constant reports whether the value is the same for every request and needs no computation.
func (e *expr) constant() bool {
	return e.op == opLiteral && !e.length && len(e.filters) == 0
}

// eval returns the value for r, inside the given loops.
func (e *expr) eval(r *matcher.Request, fr *frame) value.Value {
	if e.memo > 0 {
		return apply(e.filters[e.steady:], e.remembered(r, fr), r, fr)
	}
	return apply(e.filters, e.measured(r, fr), r, fr)
}

// apply applies filters to a value, left to right.
func apply(filters []filter, v value.Value, r *matcher.Request, fr *frame) value.Value {
	for i := range filters {
		f := &filters[i]
		read := len(v.Raw)
		var arg value.Value
		if f.arg != nil {
			arg = f.arg.eval(r, fr)
		}
		if f.cost > 0 {
			read = f.cost * (read + len(arg.Raw))
		}
		fr.spend(read, r)
		v = f.apply(v, arg, r)
	}
	return v
}

// measured returns the value before its filters.
func (e *expr) measured(r *matcher.Request, fr *frame) value.Value {
	v := e.find(r, fr)
	if e.length {
		fr.spend(len(v.Raw), r)
		v = value.Length(v, value.Value{}, r)
	}
	return v
}

// find returns the value from its source.
func (e *expr) find(r *matcher.Request, fr *frame) value.Value {
	switch e.op {
	case opLiteral:
		return e.literal
	case opPathParam:
		if e.index < 0 {
			return value.Value{}
		}
		return value.OfText(r.Param(e.index))
	case opQuery:
		return optional(r.Query(e.name))
	case opHeader:
		return optional(r.Header(e.name))
	case opCookie:
		return optional(r.Cookie(e.name))
	case opForm:
		return optional(r.Form(e.name))
	case opJSON:
		return e.fromBody(r)
	case opMessageJSON:
		if v := e.fromBody(r); v.Kind != value.Missing {
			return v
		}
		return message(r)
	case opLoopItem, opLoopIndex, opLoopFirst, opLoopLast:
		return e.fromLoop(r, fr)
	case opRandomInt, opPick, opFake, opCounter, opShared, opRandomText, opRandomHex:
		return e.call(r, fr)
	case opRow:
		return e.fromRow(r)
	case opResponse, opResponseStatus, opResponseHeader:
		return e.fromResponse(r)
	}
	return e.read(r)
}

// fromBody returns a value of the JSON body. The request performs the first step into an object,
// because it has an index of its members.
func (e *expr) fromBody(r *matcher.Request) value.Value {
	body := r.JSON()
	if body.Kind != json.Object || len(e.steps) == 0 {
		return walk(value.OfJSON(body, r), e.steps, r)
	}
	field := r.Field(e.steps[0].key)
	if field.Kind == json.Missing {
		if len(e.steps) == 1 && e.steps[0].isLength() {
			return value.Length(value.OfJSON(body, r), value.Value{}, r)
		}
		return value.Value{}
	}
	return walk(value.OfJSON(field, r), e.steps[1:], r)
}

// fromRow returns a value of a row that the endpoint has found.
func (e *expr) fromRow(r *matcher.Request) value.Value {
	if e.index >= len(r.Rows) {
		return value.Value{}
	}
	return walk(value.OfJSON(r.Rows[e.index], r), e.steps, r)
}

// fromResponse returns a value of what was answered.
func (e *expr) fromResponse(r *matcher.Request) value.Value {
	switch {
	case r.Answer == nil:
		return value.Value{}
	case e.op == opResponseStatus:
		return value.OfInt(int64(r.Answer.StatusCode()), r)
	case e.op == opResponseHeader:
		return optional(r.Answer.HeaderValue(e.name))
	}
	body := r.Answer.Content()
	if v := r.AnswerJSON(); v.Kind != json.Missing {
		return walk(value.OfJSON(v, r), e.steps, r)
	}
	if len(e.steps) > 0 {
		return value.Value{}
	}
	return value.OfText(body)
}

// asJSON makes a message that e is, or selects, represent the JSON value in it, if it is JSON. The
// result of a filter other than default is text.
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

func (e *expr) fromLoop(r *matcher.Request, fr *frame) value.Value {
	turn := &fr.turns[e.index]
	switch e.op {
	case opLoopIndex:
		return value.OfInt(int64(turn.index), r)
	case opLoopFirst:
		return value.OfBool(turn.index == 1)
	case opLoopLast:
		return value.OfBool(turn.index == turn.count)
	}
	return walk(turn.item, e.steps, r)
}

// walk follows steps into a JSON value. A last step "length" that is not a key is the length of the
// value reached.
func walk(v value.Value, steps []step, r *matcher.Request) value.Value {
	for i := range steps {
		s := &steps[i]
		j := v.JSON()
		var next json.Value
		switch {
		case v.Kind == value.Object:
			next = j.Member(s.key)
		case v.Kind == value.Array && s.index >= 0:
			next = j.Index(s.index)
		}
		if next.Kind == json.Missing {
			if i == len(steps)-1 && s.isLength() {
				return value.Length(v, value.Value{}, r)
			}
			return value.Value{}
		}
		v = value.OfJSON(next, r)
	}
	return v
}

// expression parses a variable, literal or function with its filters. ok is false after an error,
// which has been reported.
func (s *scanner) expression() (e expr, ok bool) {
	before := len(s.unset)
	e, ok = s.operand()
	for ok && s.tok.is("|") {
		s.next()
		if s.tok.word("default") {
			s.unset = s.unset[:before]
		}
		var f filter
		if f, ok = s.filter(); ok {
			e.filters = append(e.filters, f)
		}
	}
	for _, name := range s.unset[before:] {
		s.warn(name.offset, "the environment variable %s is not set; it renders as missing", name.text)
	}
	s.unset = s.unset[:before]
	s.remember(&e)
	return e, ok
}

// operand parses a variable, literal or function. In conditions, a bare word that is none of these
// is a text; see word.
func (s *scanner) operand() (expr, bool) {
	t := s.tok
	switch {
	case t.kind == textToken:
		s.next()
		return expr{literal: value.OfText([]byte(t.text))}, true
	case t.kind == wordToken:
		s.next()
		if s.tok.is("(") {
			return s.function(t)
		}
		return s.word(t)
	case t.kind == badToken:
		return expr{}, false
	}
	s.fail(t.offset, "expected a variable, a literal or a function, not %s", t.describe())
	return expr{}, false
}

// word parses a keyword, a number or a variable or, in a condition, a bare word.
func (s *scanner) word(t token) (expr, bool) {
	if v, ok := value.Literal(t.text); ok {
		return expr{literal: v}, true
	}
	if e, ok, known := s.variable(t); known {
		return e, ok
	}
	root, rest := cutRoot(t.text)
	if s.bare && (rest == "" || wording.DidYouMean(root, s.variableNames()) == "") && !strings.HasSuffix(root, "-params") {
		return expr{literal: value.OfText([]byte(t.text)), bare: true}, true
	}
	hint := s.hint(t.text)
	if root == messageRoot {
		hint += "; message is known in WebSocket replies only"
	}
	if root == responseRoot {
		hint = "; response is known in webhooks only, which are sent after it"
	}
	message := ""
	if s.scope.Message {
		message = "message, "
	}
	s.fail(t.offset, "unknown variable %q%s; variables are path-params.x, query-params.x, header-params.X, cookie-params.x, "+
		"form-params.x, json-params, %smethod, path, host, query-string, protocol, remote-addr, tls.X, client-cert.X, body, env.NAME, now, uuid, uuid7, ulid, random", t.text, hint, message)
	return expr{}, false
}
