package listener

import (
	"bufio"
	"bytes"
	"io"

	"github.com/valyala/fasthttp"

	"mockserver/listener/record"
	"mockserver/listener/reply"
	"mockserver/listener/wire"
	"mockserver/matcher"
)

// An answer that is the same for every request is sent as the bytes that it is, when
// the request is a plain one: see head.isPlain. Reading such a request and writing its
// answer is then a look at its bytes, a look-up and a copy. The request is as sound as
// any that fasthttp sees, and the answer has the bytes that fasthttp would write.

// fixed is such an answer.
type fixed struct {
	head []byte // status line, headers, and the empty line
	date int    // where in it the value of Date is
	body []byte
	// Requests may choose another one by their query, and by what they accept.
	chosen, typed bool
	limited       bool // any query may choose another one

	answer   *answer // of the endpoint
	status   int
	counters *record.Counters // nil when nothing is recorded
}

// maxFixed is the largest one, in bytes: to copy more costs more than it saves.
const maxFixed = 16 << 10

// maxLength is the length from which on paths are not told apart by it: see fixedLengths.
const maxLength = 63

// fix puts the answers that are fixed, by the paths that they answer: those without
// parameters, of endpoints that answer whatever the request holds beside its path.
func (sn *snapshot) fix(routes []matcher.Route) {
	for i := range routes {
		if routes[i].Endpoint.Host != "" {
			return // the host comes before the path
		}
	}
	sn.fixed = map[string]*fixed{}
	var w fixing
	for i := range routes {
		path, ok := routes[i].Pattern.Literal()
		if !ok || routes[i].Endpoint.EffectiveMethod() != fasthttp.MethodGet {
			continue
		}
		if _, known := sn.fixed[path]; !known { // else the first declared answers
			sn.fixed[path] = nil
			sn.fixedLengths |= 1 << min(len(path), maxLength)
			if a := &sn.answers[i]; routes[i].If == nil && a.isFixed() {
				sn.fixed[path] = w.fix(a)
			}
		}
	}
}

// isFixed reports whether the answer is the same for every request.
func (a *answer) isFixed() bool {
	for i := range a.headers {
		if a.headers[i].template != nil {
			return false
		}
	}
	return a.template.IsNone() && a.source == nil && len(a.hooks) == 0 && !a.disturbed && (a.operation == nil || a.operation.isFixed())
}

// fixing is what answers are written with, one after the other.
type fixing struct {
	ctx fasthttp.RequestCtx
	out bufio.Writer
}

// fix is a fixed answer as bytes; nil when it is too large.
func (w *fixing) fix(a *answer) *fixed {
	p := a.Fixed()
	resp := &w.ctx.Response
	resp.Reset()
	resp.Header.SetNoDefaultContentType(true)
	encode(p, resp)
	w.out.Reset(io.Discard)
	if resp.Write(&w.out) != nil { // which completes the headers
		return nil
	}
	f := &fixed{head: bytes.Clone(resp.Header.Header()), body: p.Body, answer: a, status: a.status}
	f.date = bytes.Index(f.head, dateLine) + len(dateLine)
	if len(f.head)+len(f.body) > maxFixed || f.date < len(dateLine) {
		return nil
	}
	if a.operation != nil {
		f.chosen, f.typed, f.limited = true, a.operation.typed, a.operation.limited
	}
	return f
}

// Fixed is the reply of an answer that is fixed.
func (a *answer) Fixed() *reply.Reply {
	var c call
	c.reply.Begin()
	new(Server).respond(a, &c) // it asks for nothing of the server
	return &c.reply
}

var (
	dateLine  = []byte("\r\nDate: ")
	schemeEnd = []byte("://") // by which fasthttp takes a target for a URL, wherever it stands
)

// answerPlain answers plain requests with the fixed answers that a look-up by path finds.
func (s *Server) answerPlain(lookup func(path []byte) *fixed) func(*wire.Connection, *wire.Plain) (bool, error) {
	return func(c *wire.Connection, p *wire.Plain) (bool, error) {
		c.NoteReads(s.recorder != nil)
		if done, err := s.answerFixed(lookup, c, p); done || err != nil {
			return done, err
		}
		return s.answerDirectly(c, p)
	}
}

// answerFixed answers a plain request if its answer is fixed, and reports whether it did.
// The answer takes the room of the request. The error is that of writing.
func (s *Server) answerFixed(lookup func(path []byte) *fixed, c *wire.Connection, p *wire.Plain) (done bool, err error) {
	if string(p.Method) != fasthttp.MethodGet {
		return false, nil
	}
	path, query, _ := bytes.Cut(p.Target, []byte{'?'})
	if last := len(path) - 1; last > 0 && path[last] == '/' {
		path = path[:last]
	}
	if bytes.Contains(query, schemeEnd) {
		return false, nil
	}
	f := lookup(path)
	if f == nil || len(f.head)+len(f.body) > cap(p.Bytes) || f.chosen && len(query) > 0 && (f.limited || asks(query)) || f.typed && p.Accepts {
		return false, nil
	}
	isTold := f.counters != nil && s.countFixed(c, f, p.Bytes)
	b := append(append(p.Bytes[:0], f.head...), f.body...)
	copy(b[f.date:], c.Date())
	_, err = c.Write(b)
	if isTold {
		s.recorder.Journal().Settle()
	}
	return true, err
}

// A request that is answered with a fixed answer takes the same way whether the journal
// is to have it or not: else those that are sampled would be slower than those that they
// stand for. It is told to the journal as its bytes, before the answer is written, so that
// a client that has its answer finds the request there; and read from them once the answer
// is written, or somebody looks at the journal.

// countFixed counts a fixed answer that is about to be written to a request, and reports
// whether the journal has it.
func (s *Server) countFixed(c *wire.Connection, f *fixed, request []byte) (isTold bool) {
	came, took := c.LastRead()
	told, wanted := s.recorder.CountFixed(f.counters, c.Shard(), f.status, len(f.body), took)
	if wanted {
		told.Answer, told.Request, told.Time, told.Remote = f.answer, bytes.Clone(request), c.TimeOf(came), c.RemoteAddr()
		s.recorder.Journal().Tell(told)
	}
	return wanted
}
