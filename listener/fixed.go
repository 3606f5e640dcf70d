package listener

import (
	"bufio"
	"bytes"
	"io"
	"time"

	"github.com/valyala/fasthttp"

	"mockserver/listener/record"
	"mockserver/listener/reply"
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

	answer   *answer // of the endpoint
	status   int
	counters *record.Counters // nil when nothing is recorded
}

// maxFixed is the largest one, in bytes: to copy more costs more than it saves.
const maxFixed = 16 << 10

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
			if a := &sn.answers[i]; routes[i].If == nil && a.isFixed() {
				sn.fixed[path] = w.fix(a)
			}
		}
	}
}

// isFixed tells whether the answer is the same for every request.
func (a *answer) isFixed() bool {
	for i := range a.headers {
		if a.headers[i].template != nil {
			return false
		}
	}
	return a.template == nil && a.source == nil && len(a.hooks) == 0 && (a.behaviour == nil || a.behaviour.isFixed())
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
	if a.behaviour != nil {
		f.chosen, f.typed = true, a.behaviour.operation.typed
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

// date is the time as headers have it. The clock keeps the last one.
func date(now time.Time) *[]byte {
	b := fasthttp.AppendHTTPDate(make([]byte, 0, 32), now)
	return &b
}

// reply answers the request that b begins with, the first n bytes, if it is plain and the
// answer fixed, and tells whether it did. The answer takes the room of the request. The
// error is that of writing.
func (c *connection) reply(b []byte, n int) (done bool, err error) {
	target := c.wire.plain
	if len(target) == 0 {
		return false, nil
	}
	path, query, _ := bytes.Cut(target, []byte{'?'})
	if last := len(path) - 1; last > 0 && path[last] == '/' {
		path = path[:last]
	}
	if bytes.Contains(query, schemeEnd) {
		return false, nil
	}
	f := c.from.fixed(path)
	c.expect(f)
	if f == nil || len(f.head)+len(f.body) > len(b) || f.chosen && asks(query) || f.typed && c.wire.accepts {
		return false, nil
	}
	isTold := f.counters != nil && c.countFixed(f, b[:n])
	b = append(append(b[:0], f.head...), f.body...)
	copy(b[f.date:], *c.from.clock.date.Load())
	_, c.failed = c.Write(b)
	if isTold {
		c.from.recorder.Journal().Settle()
	}
	return true, c.failed
}

// expect notes whether a request was for a fixed answer, so that only connections with
// such requests read the clock when they are read. The first is timed from here on, and
// not from when it was read a tenth of a microsecond ago.
func (c *connection) expect(f *fixed) {
	if f != nil && f.counters != nil && !c.quick {
		c.readAt = time.Since(c.from.clock.base)
	}
	c.quick = f != nil
}
