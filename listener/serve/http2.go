package serve

import (
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/valyala/fasthttp"

	"mockserver/fetcher/upstream"
	"mockserver/internal/ascii"
	"mockserver/internal/http1"
	"mockserver/internal/pacer"
	"mockserver/internal/semantics"
	"mockserver/listener/compile"
	"mockserver/listener/protocol/h2"
	"mockserver/listener/protocol/wire"
	"mockserver/listener/reply"
	"mockserver/matcher"
)

// HTTP/2: a stream becomes a call, and the reply of the call is sent as the stream's response.
// Everything in between is the same as for HTTP/1.1.

// StartHTTP2 configures the server for HTTP/2. maxAge is how long a connection is used, and pacer keeps
// what waits.
func (s *Server) StartHTTP2(maxAge time.Duration, p *pacer.Pacer) {
	s.HTTP2.Handler = streams{s}
	s.HTTP2.MaxBody, s.HTTP2.MaxAge, s.HTTP2.Pacer = s.MaxBody, maxAge, p
	s.HTTP2.MaxWaiting = int(min(1<<30, debug.SetMemoryLimit(-1)/4)) // -1 only reads the limit
	s.HTTP2.Check = func(method, target, host []byte) (status int, what string) {
		if broken := wire.CheckTarget(method, target, host); broken != nil {
			return broken.Status, broken.What
		}
		return 0, ""
	}
}

// ServeHTTP2 serves a connection as HTTP/2 until it ends, whether or not it began with HTTP/1.1.
// read contains the bytes already read from it, including the HTTP/2 preface.
func (s *Server) ServeHTTP2(conn *wire.Connection, read []byte) {
	c := beyond{conn, &visit{server: s}}
	c.serve(func() error { return s.HTTP2.Serve(c, read, conn.Shard()) })
}

// beyond is a connection that has left HTTP/1.1.
type beyond struct {
	*wire.Connection
	visit *visit
}

// serve serves the connection until it is parked or has ended.
func (c beyond) serve(serve func() error) {
	var err error
	defer func() {
		if err != h2.ErrParked {
			_ = c.CloseNow() // it is closed either way; also after a panic
		}
	}()
	if err = serve(); err != nil && err != h2.ErrParked {
		c.visit.server.Log.Debug("connection", "remote", c.RemoteAddr().String(), "detail", err.Error())
	}
}

// Park parks the connection, and reports whether it did.
func (c beyond) Park(again func() error, timeout time.Duration) bool {
	return c.ParkTalk(func() { c.serve(again) }, timeout)
}

// Read reads what the client sends, without interpreting it.
func (c beyond) Read(b []byte) (int, error) { return c.Stream().Read(b) }

// survive ends a connection after a panic. It must be deferred.
func (s *Server) survive(conn *wire.Connection) {
	if p := recover(); p != nil {
		_ = conn.CloseNow() // no response can be sent any more
		s.logSurvived(conn, p)
	}
}

// logSurvived logs a panic that ends a connection.
func (s *Server) logSurvived(conn *wire.Connection, p any) {
	s.logPanic("panic while serving a connection", "", p, fmt.Sprint(p), slog.String("remote", conn.RemoteAddr().String()))
}

// streams answers HTTP/2 requests.
type streams struct{ *Server }

// receiveStream makes a call from a request. The body of the response is rendered into a buffer of
// the stream.
func receiveStream(st *h2.Stream) *call {
	c := calls.Get().(*call)
	in := &c.In
	in.Method, in.Target, in.Host, in.Header, in.Body = st.Method, st.Target, st.Host, st.Header, st.Body
	in.Protocol, in.Remote, in.Time = matcher.HTTP2, st.Conn().RemoteAddr(), time.Now()
	in.Peer, in.TLS, c.peer = st, st.Conn().(beyond).Connection.TLS, st
	c.Reply.Room = st.Room
	return c
}

// Answer answers a request whose answer can neither block nor take long.
func (s streams) Answer(st *h2.Stream) h2.Later {
	c := receiveStream(st)
	a := s.matchDirectly(c)
	if a == nil || !a.Immediate {
		c.server = s.Server
		c.Shrink()
		return laterStream{c}
	}
	c.immediate = true
	s.serve(c)
	s.send(c, st, a)
	c.Release()
	return nil
}

// laterStream is the call of a stream that is answered in a goroutine of its own.
type laterStream struct{ *call }

// Serve answers the request, or returns until when it waits.
func (l laterStream) Serve() (until time.Time) {
	s, st := streams{l.server}, l.peer.(*h2.Stream)
	defer s.survive(st.Conn().(beyond).Connection)
	switch {
	case l.flow != nil:
		return l.flow.put(st)
	case l.waits && time.Now().Before(l.rest.due) && !st.HasLeft():
		return l.rest.due
	case l.waits:
		s.resume(l.call)
	default:
		l.paced = true
		s.serve(l.call)
	}
	switch {
	case l.flow != nil:
		return l.flow.put(st)
	case l.waits:
		return l.rest.due
	}
	s.send(l.call, st, nil)
	l.Release()
	return time.Time{}
}

// Refuse answers an invalid request.
func (s streams) Refuse(st *h2.Stream, status int, why string) {
	c := receiveStream(st)
	s.refuse(c, violations[status], why)
	s.send(c, st, nil)
	c.Release()
}

// send sends the reply of a call. If a is not nil, the reply was made from this direct answer.
func (s streams) send(c *call, st *h2.Stream, a *compile.Response) {
	p := &c.Reply
	if c.held != nil && !p.Streamed { // the place is free once the body is sent
		st.AfterWrite(c.held.Leave)
	}
	if st.HasLeft() {
		s.endPieces(c)
		return
	}
	var room [1 << 10]byte
	block := c.appendBlock(room[:0], a, st.Conn().(beyond).Connection.Date())
	if p.Rendered { // the stream owns its buffer
		st.Room = p.Body
	}
	p.Room = nil
	body := p.Sent(c.isHead())
	switch {
	case c.isHead() || semantics.HasNoContent(p.Status):
	case p.Passed != nil && !p.Passed.Whole:
		s.sendPieces(c, st, block, body)
		return
	case c.fault != nil && c.fault.Kind == h2.Truncate:
		st.Spoil(h2.Truncate)
	case c.fault != nil && c.fault.Kind == wire.Slow && len(body) > 0:
		st.SendSlowly(block, body, c.fault.Speed(c.Random.Float64()))
		return
	}
	st.Send(block, body)
}

// sendPieces sends an upstream's answer as it arrives.
func (s streams) sendPieces(c *call, st *h2.Stream, block, body []byte) {
	piece := http1.NewPiece()
	defer piece.Free()
	defer s.endPieces(c)
	defer c.passing.Close()
	st.Begin(block)
	c.startPieces(body)
	var err error
	for err == nil {
		var n int
		n, err = c.nextPiece(piece.Room())
		if n > 0 && st.Write(piece.Framed(n, false)) {
			err = upstream.ErrLeft
		}
	}
	switch err {
	case upstream.ErrLeft:
	case io.EOF:
		st.End()
	case errCut:
		st.Break(c.fault.OfConnection)
	default:
		st.Break(false)
		s.logBroken(c, err)
	}
}

// appendBlock appends the header block of the reply. A fixed answer has one already prepared.
func (c *call) appendBlock(b []byte, a *compile.Response, date []byte) []byte {
	p := &c.Reply
	if a != nil && a.Block != nil && len(p.Fields) == len(a.Headers) && p.Refusal == nil {
		return h2.AppendDate(append(b, a.Block...), date)
	}
	b = appendFields(h2.AppendStatus(b, p.Status), p)
	if p.Passed != nil && p.Has(fasthttp.HeaderDate) {
		return b
	}
	return h2.AppendDate(b, date)
}

// appendFields appends all fields of a reply. It does not add a Date.
func appendFields(b []byte, p *reply.Reply) []byte {
	typed := false
	for i := range p.Fields {
		typed = typed || ascii.EqualFold([]byte(p.Fields[i].Name), fasthttp.HeaderContentType)
		b = h2.AppendField(b, p.Fields[i].Name, p.Fields[i].Value)
	}
	if p.ContentType != "" && !typed {
		b = h2.AppendField(b, fasthttp.HeaderContentType, p.ContentType)
	}
	if n := p.Length(); n >= 0 {
		b = h2.AppendLength(b, int(n))
	}
	return b
}

// prepareBlock prepares the header block of an answer that is the same for every request.
func prepareBlock(a *compile.Response) {
	if a.IsFixed() {
		a.Block = appendFields(h2.AppendStatus(nil, a.Status), fixedReply(a))
	}
}
