package serve

import (
	"bufio"
	"bytes"
	"io"

	"github.com/valyala/fasthttp"

	"mockserver/listener/compile"
	"mockserver/listener/compile/negotiate"
	"mockserver/listener/observe/record"
	"mockserver/listener/protocol/wire"
	"mockserver/listener/reply"
)

// An answer that is the same for every request is sent as prepared bytes if the request is a plain
// one: see head.isPlain. Reading such a request and writing its response takes a comparison of its
// bytes, a lookup and a copy. The request is checked as strictly as fasthttp would check it, and
// the response has the bytes that fasthttp would send.

// fixed is a fixed response.
type fixed struct {
	Head []byte // status line, headers and the empty line
	date int    // index of the value of Date
	Body []byte
	// Requests may choose another answer by their query or their Accept header.
	chosen, typed bool
	limited       bool // any query may choose another answer

	response *compile.Response // the answer of the endpoint
	status   int
	counters *record.Counters // nil when nothing is recorded
}

// maxFixed is the size of the largest fixed response in bytes. Copying a larger one costs more than
// it saves.
const maxFixed = 16 << 10

// maxLength is the length from which paths are no longer distinguished by length: see world.lengths.
const maxLength = 63

// world is a snapshot with the responses that are prepared for it.
type world struct {
	*compile.Snapshot
	fixed map[string]*fixed // by path; nil for a path whose answer is not fixed
	// lengths has a bit for each length of these paths, up to maxLength, which excludes most other
	// paths.
	lengths uint64
}

// prepare prepares what is the same for every request.
func prepare(sn *compile.Snapshot) *world {
	w := &world{Snapshot: sn}
	for i := range sn.Responses {
		prepareBlock(&sn.Responses[i])
	}
	if sn.Paths == nil {
		return w
	}
	w.fixed = make(map[string]*fixed, len(sn.Paths))
	var scratch fixing
	for path, i := range sn.Paths {
		w.lengths |= 1 << min(len(path), maxLength)
		if w.fixed[path] = nil; i >= 0 {
			w.fixed[path] = scratch.fix(&sn.Responses[i])
		}
	}
	return w
}

// fixing is the scratch space for building fixed responses one after the other.
type fixing struct {
	resp fasthttp.Response
	out  bufio.Writer
}

// fix returns a fixed answer as bytes; nil if the answer is too large or cannot be prepared.
func (w *fixing) fix(a *compile.Response) *fixed {
	p := fixedReply(a)
	resp := &w.resp
	resp.Reset()
	resp.Header.SetNoDefaultContentType(true)
	encode(p, resp)
	w.out.Reset(io.Discard)
	if resp.Write(&w.out) != nil { // completes the headers
		return nil
	}
	f := &fixed{Head: bytes.Clone(resp.Header.Header()), Body: p.Body, response: a, status: a.Status, counters: a.Counters}
	f.date = bytes.Index(f.Head, dateLine) + len(dateLine)
	if len(f.Head)+len(f.Body) > maxFixed || f.date < len(dateLine) {
		return nil
	}
	if a.Operation != nil {
		f.chosen, f.typed, f.limited = true, a.Operation.Typed, a.Operation.Limited
	}
	return f
}

// Fixed returns the reply, for the journal.
func (f *fixed) Fixed() *reply.Reply { return fixedReply(f.response) }

// fixedReply returns the reply of a fixed answer.
func fixedReply(a *compile.Response) *reply.Reply {
	var c call
	c.Reply.Begin()
	new(Server).write(a, &c) // it needs nothing from the server
	return &c.Reply
}

var dateLine = []byte("\r\nDate: ")

// lastLines end the head of the last response of a connection.
const lastLines = "Connection: close\r\n\r\n"

// fixedAt returns the fixed response for plain requests to a path, or nil if there is none. It
// returns nil while the server is stopping, because each response must then announce that it is the
// last.
func (s *Server) fixedAt(path []byte) *fixed {
	if s.Stopping.Load() {
		return nil
	}
	w := s.snapshot.Load()
	if w.lengths&(1<<min(len(path), maxLength)) == 0 {
		return nil
	}
	return w.fixed[string(path)]
}

// Answer answers a plain request within the read that it arrived in, if that cannot block.
func (s *Server) Answer(c *wire.Connection, p *wire.Plain) (wire.Later, error) {
	return s.replyBy(s.fixedAt, c, p)
}

// replyBy is like Answer, with the fixed responses that lookup finds by path.
func (s *Server) replyBy(lookup func(path []byte) *fixed, c *wire.Connection, p *wire.Plain) (wire.Later, error) {
	if p.Alone && !c.IsOld() { // otherwise the response must say so
		if done, err := s.replyFixed(lookup, c, p); done || err != nil {
			return nil, err
		}
	}
	return s.replyDirectly(c, p)
}

// replyFixed answers a plain request if its answer is fixed, and reports whether it did. The
// response is written over the request. The error is from writing.
func (s *Server) replyFixed(lookup func(path []byte) *fixed, c *wire.Connection, p *wire.Plain) (done bool, err error) {
	if string(p.Method) != fasthttp.MethodGet || p.HTTP10 {
		return false, nil
	}
	path, query, _ := bytes.Cut(p.Target, []byte{'?'})
	if last := len(path) - 1; last > 0 && path[last] == '/' {
		path = path[:last]
	}
	f := lookup(path)
	if f != nil && len(f.Head)+len(lastLines)+len(f.Body) > cap(p.Bytes) {
		c.Enlarge()
		return false, nil
	}
	if f == nil || f.chosen && len(query) > 0 && (f.limited || negotiate.Asks(query)) || f.typed && p.Accepts {
		return false, nil
	}
	inJournal := f.counters != nil && s.countFixed(c, f, p.Bytes)
	b := append(p.Bytes[:0], f.Head...)
	if p.Connection != "" {
		b = append(b[:len(b)-len("\r\n")], lastLines...)
	}
	b = append(b, f.Body...)
	copy(b[f.date:], c.Date())
	_, err = c.Write(b)
	if inJournal {
		s.Recorder.Journal().Settle()
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
func (s *Server) countFixed(c *wire.Connection, f *fixed, request []byte) (inJournal bool) {
	read, took := c.LastRead()
	s.Recorder.Arrive(c.Shard(), c.Came, c.Replied)
	c.Replied = read + took
	fixed, wanted := s.Recorder.CountFixed(f.counters, c.Shard(), f.status, len(f.Body), took)
	if wanted {
		fixed.Response, fixed.Request, fixed.Time, fixed.Remote, fixed.TLS = f, bytes.Clone(request), c.TimeOf(read), c.RemoteAddr(), c.TLS
		s.Recorder.Journal().AddFixed(fixed)
	}
	return wanted
}
