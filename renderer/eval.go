package renderer

import (
	"strconv"

	"mockserver/internal/json"
	"mockserver/matcher"
	"mockserver/renderer/value"
)

// remembered returns the value of e, computed at most once in each iteration of the loop that it
// depends on. The memory that the computation used in the arena is released.
func (e *expr) remembered(r *matcher.Request, fr *frame) value.Value {
	m := &fr.memos[e.memo-1]
	turn := always
	if e.turns != noLoop {
		turn = fr.turns[e.turns].turn
	}
	if m.turn == turn {
		return m.v
	}
	mark := len(r.Arena)
	m.v, m.turn = apply(e.filters[:e.steady], e.measured(r, fr), r, fr), turn
	if len(r.Arena) > mark {
		m.room = append(m.room[:0], m.v.Raw...) // the previous value ended with its iteration
		m.v.Raw = m.room[:len(m.room):len(m.room)]
		r.Arena = r.Arena[:mark]
	}
	return m.v
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
	case opPathSegment:
		return optional(r.Segment(e.index))
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
	case opLoopItem:
		return walk(fr.turns[e.index].item, e.steps, r)
	case opLoopIndex:
		return value.OfInt(int64(fr.turns[e.index].index), r)
	case opLoopFirst:
		return value.OfBool(fr.turns[e.index].index == 1)
	case opLoopLast:
		return value.OfBool(fr.turns[e.index].index == fr.turns[e.index].count)
	case opStreamIndex:
		return value.OfInt(int64(fr.index), r)
	case opRandomInt, opPick, opFake, opCounter, opRandomText, opRandomHex:
		return e.call(r, fr)
	case opRow:
		return e.fromRow(r)
	case opResponse, opResponseStatus, opResponseHeader, opResponseStream:
		return e.fromResponse(r)
	}
	return walk(e.read(r), e.steps, r) // only opModel has steps
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

// ofStream returns response.items, response.duration in milliseconds, or response.end.
func ofStream(s *matcher.StreamEnd, name string, r *matcher.Request) value.Value {
	switch {
	case s == nil:
		return value.Value{}
	case name == "items":
		return value.OfInt(int64(s.Items), r)
	case name == "duration":
		return value.OfInt(s.Duration.Milliseconds(), r)
	}
	return value.OfText([]byte(s.End))
}

// fromResponse returns a value of the response.
func (e *expr) fromResponse(r *matcher.Request) value.Value {
	switch {
	case r.Response == nil:
		return value.Value{}
	case e.op == opResponseStatus:
		return value.OfInt(int64(r.Response.StatusCode()), r)
	case e.op == opResponseHeader:
		return optional(r.Response.HeaderValue(e.name))
	case e.op == opResponseStream:
		return ofStream(r.Response.Ended(), e.name, r)
	}
	body := r.Response.Content()
	if v := r.ResponseJSON(); v.Kind != json.Missing {
		return walk(value.OfJSON(v, r), e.steps, r)
	}
	if len(e.steps) > 0 {
		return value.Value{}
	}
	return value.OfText(body)
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

// call returns the value of a function call.
func (e *expr) call(r *matcher.Request, fr *frame) value.Value {
	switch e.op {
	case opRandomInt:
		from, to := e.args[0].eval(r, fr).Raw, e.args[1].eval(r, fr).Raw
		fr.spend(len(from)+len(to), r)
		low, errLow := strconv.ParseInt(string(from), 10, 64)
		high, errHigh := strconv.ParseInt(string(to), 10, 64)
		if errLow != nil || errHigh != nil || high < low {
			return value.Value{}
		}
		return value.OfInt(low+randomUpTo(high-low, &r.Random), r)
	case opPick:
		return e.args[r.Random.IntN(len(e.args))].eval(r, fr)
	case opCounter:
		if len(e.args) == 0 {
			return value.OfInt(e.counter.n.Add(1), r)
		}
		of := e.args[0].eval(r, fr)
		fr.spend(len(of.Raw), r)
		return value.OfInt(int64(e.counter.keyed.Next(of.Text(r)))+1, r)
	case opRandomText:
		return e.randomText(textCharacters, r, fr)
	case opRandomHex:
		return e.randomText(hexCharacters, r, fr)
	}
	made := e.fake.Value(&r.Random)
	fr.spend(fakeCost*(fakeBase+len(made.Raw)), r)
	return made
}

// fakeCost is how much longer it takes to invent data than to read it. fakeBase is the number of
// bytes that the shortest data count as.
const (
	fakeCost = 16
	fakeBase = 32
)

// randomUpTo returns a random number from 0 to span, which is taken as unsigned: bounds may be
// further apart than the range of int64.
func randomUpTo(span int64, random *matcher.Random) int64 {
	if n := uint64(span) + 1; n != 0 {
		return int64(random.Uint64N(n))
	}
	return int64(random.Uint64())
}

// maxRandomText is the longest text of random-text and random-hex, in characters.
const maxRandomText = 1024

// The characters of random-hex and random-text.
const (
	hexCharacters  = "0123456789abcdef"
	textCharacters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// randomText returns a text of random characters. The argument is the number of characters.
func (e *expr) randomText(characters string, r *matcher.Request, fr *frame) value.Value {
	length := e.args[0].eval(r, fr).Raw
	fr.spend(len(length), r)
	n, err := strconv.Atoi(string(length))
	if err != nil || n < 1 || n > maxRandomText {
		return value.Value{}
	}
	fr.spend(n, r)
	arena := r.Arena
	for range n {
		arena = append(arena, characters[r.Random.IntN(len(characters))])
	}
	return value.Appended(r, arena)
}
