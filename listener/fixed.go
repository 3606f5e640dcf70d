package listener

import (
	"bufio"
	"bytes"
	"io"

	"github.com/valyala/fasthttp"

	"mockserver/listener/observe/record"
	"mockserver/listener/protocol/wire"
	"mockserver/listener/reply"
	"mockserver/listener/serve/negotiate"
	"mockserver/matcher"
)

// An answer that is the same for every request is sent as prepared bytes if the request is a plain
// one: see head.isPlain. Reading such a request and writing its response takes a comparison of its
// bytes, a lookup and a copy. The request is checked as strictly as fasthttp would check it, and
// the response has the bytes that fasthttp would send.

// fixed is a fixed response.
type fixed struct {
	head []byte // status line, headers and the empty line
	date int    // index of the value of Date
	body []byte
	// Requests may choose another answer by their query or their Accept header.
	chosen, typed bool
	limited       bool // any query may choose another answer

	answer   *answer // the answer of the endpoint
	status   int
	counters *record.Counters // nil when nothing is recorded
}

// maxFixed is the size of the largest fixed response in bytes. Copying a larger one costs more than
// it saves.
const maxFixed = 16 << 10

// maxLength is the length from which paths are no longer distinguished by length: see fixedLengths.
const maxLength = 63

// fix collects the fixed responses by path. They belong to paths without parameters whose endpoints
// depend on nothing else in the request.
func (sn *snapshot) fix(routes []matcher.Route) {
	for i := range routes {
		if routes[i].Endpoint.Host != "" {
			return // hosts take precedence over paths
		}
	}
	sn.fixed = map[string]*fixed{}
	var w fixing
	for i := range routes {
		path, ok := routes[i].Pattern.Literal()
		if !ok || routes[i].Endpoint.EffectiveMethod() != fasthttp.MethodGet {
			continue
		}
		if _, known := sn.fixed[path]; !known { // otherwise an endpoint declared earlier answers
			sn.fixed[path] = nil
			sn.fixedLengths |= 1 << min(len(path), maxLength)
			if a := &sn.answers[i]; routes[i].If == nil && a.isFixed() {
				sn.fixed[path] = w.fix(a)
			}
		}
	}
}

// isFixed reports whether the answer is the same for every request that does not choose another
// answer of the operation.
func (a *answer) isFixed() bool {
	return a.template.IsNone() && !a.hasTemplates() && a.source == nil && a.proxy == nil && len(a.hooks)+len(a.lets) == 0 && a.access == nil && a.resource == nil && !a.disturbed && (a.operation == nil || a.operation.IsFixed())
}

// fixing is the scratch space for building fixed responses one after the other.
type fixing struct {
	resp fasthttp.Response
	out  bufio.Writer
}

// fix returns a fixed answer as bytes; nil if the answer is too large or cannot be prepared.
func (w *fixing) fix(a *answer) *fixed {
	p := a.Fixed()
	resp := &w.resp
	resp.Reset()
	resp.Header.SetNoDefaultContentType(true)
	encode(p, resp)
	w.out.Reset(io.Discard)
	if resp.Write(&w.out) != nil { // completes the headers
		return nil
	}
	f := &fixed{head: bytes.Clone(resp.Header.Header()), body: p.Body, answer: a, status: a.status}
	f.date = bytes.Index(f.head, dateLine) + len(dateLine)
	if len(f.head)+len(f.body) > maxFixed || f.date < len(dateLine) {
		return nil
	}
	if a.operation != nil {
		f.chosen, f.typed, f.limited = true, a.operation.Typed, a.operation.Limited
	}
	return f
}

// Fixed returns the reply of a fixed answer.
func (a *answer) Fixed() *reply.Reply {
	var c call
	c.reply.Begin()
	new(Server).write(a, &c) // it needs nothing from the server
	return &c.reply
}

var dateLine = []byte("\r\nDate: ")

// fixed returns the fixed response for plain requests to a path, or nil if there is none. It
// returns nil while the server is stopping, because each response must then announce that it is the
// last.
func (s *Server) fixed(path []byte) *fixed {
	if s.stopping.Load() {
		return nil
	}
	sn := s.snapshot.Load()
	if sn.fixedLengths&(1<<min(len(path), maxLength)) == 0 {
		return nil
	}
	return sn.fixed[string(path)]
}

// answerPlain returns a function that answers plain requests, either with the fixed responses that
// lookup finds by path or with direct answers.
func (s *Server) answerPlain(lookup func(path []byte) *fixed) func(*wire.Connection, *wire.Plain) (bool, error) {
	return func(c *wire.Connection, p *wire.Plain) (bool, error) {
		if c.IsOld() { // the response must say so
			return false, nil
		}
		c.NoteReads(s.recorder != nil)
		if done, err := s.answerFixed(lookup, c, p); done || err != nil {
			return done, err
		}
		return s.answerDirectly(c, p)
	}
}

// answerFixed answers a plain request if its answer is fixed, and reports whether it did. The
// response is written over the request. The error is from writing.
func (s *Server) answerFixed(lookup func(path []byte) *fixed, c *wire.Connection, p *wire.Plain) (done bool, err error) {
	if string(p.Method) != fasthttp.MethodGet {
		return false, nil
	}
	path, query, _ := bytes.Cut(p.Target, []byte{'?'})
	if last := len(path) - 1; last > 0 && path[last] == '/' {
		path = path[:last]
	}
	f := lookup(path)
	if f != nil && len(f.head)+len(f.body) > cap(p.Bytes) {
		c.Enlarge()
		return false, nil
	}
	if f == nil || f.chosen && len(query) > 0 && (f.limited || negotiate.Asks(query)) || f.typed && p.Accepts {
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

// A request with a fixed answer takes the same path whether the journal samples it or not:
// otherwise the sampled requests would be slower than those they represent. The journal stores its
// raw bytes before the response is written, so that a client that has the response finds the
// request in the journal. The bytes are parsed after the response is written, or when the journal
// is read.

// countFixed counts a fixed response that is about to be written, and reports whether the journal
// stores the request.
func (s *Server) countFixed(c *wire.Connection, f *fixed, request []byte) (isTold bool) {
	came, took := c.LastRead()
	told, wanted := s.recorder.CountFixed(f.counters, c.Shard(), f.status, len(f.body), took)
	if wanted {
		told.Answer, told.Request, told.Time, told.Remote, told.TLS = f.answer, bytes.Clone(request), c.TimeOf(came), c.RemoteAddr(), c.TLS
		s.recorder.Journal().Tell(told)
	}
	return wanted
}
