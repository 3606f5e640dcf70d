package serve

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"

	"mockserver/internal/wording"
	"mockserver/listener/protocol/wire"
	"mockserver/listener/reply"
	"mockserver/matcher"
)

// HTTP/1.1, other than plain requests: fasthttp reads a request, which becomes a call, and writes a
// response, which is made from the reply of the call.

// Exchange is one request of a connection and its response.
type Exchange struct {
	Request  fasthttp.Request
	Response fasthttp.Response
	Conn     *wire.Connection // nil in tests
	begun    *Call            // the call of a plain request, which is not read again; nil for any other
	last     bool             // the connection closes after the response
}

// exchanges holds unused exchanges. fasthttp resets some of the options below with the rest.
var exchanges = sync.Pool{New: func() any {
	x := &Exchange{}
	x.Request.KeepBodyBuffer, x.Response.KeepBodyBuffer = true, true
	return x
}}

func newExchange(conn *wire.Connection) *Exchange {
	x := exchanges.Get().(*Exchange)
	x.Response.Header.SetNoDefaultContentType(true)
	x.Conn = conn
	return x
}

// free returns an exchange to the pool. What its call has used becomes invalid.
func (x *Exchange) free() {
	x.Request.ReleaseBody(keptBody)
	x.Request.Reset()
	x.Response.Reset()
	x.Conn, x.begun, x.last = nil, nil, false
	exchanges.Put(x)
}

// ServeConnection serves one connection to its end. It recovers from panics: a panic outside its
// requests, while they are read or refused, ends the connection and affects no other.
func (s *Server) ServeConnection(conn *wire.Connection) {
	defer s.survive(conn)
	if err := conn.Serve(s.ServeHTTP); err != nil {
		s.Log.Debug("connection", "remote", conn.RemoteAddr().String(), "detail", err.Error())
	}
}

// ServeHTTP serves the requests of a connection until it ends, leaves HTTP/1.1, or is parked.
func (s *Server) ServeHTTP(conn *wire.Connection) error {
	in := conn.Input()
	for first := true; ; first = false {
		_, err := in.Peek(1) // writes the responses so far, and answers plain requests
		var broken *wire.ProtocolError
		switch {
		case err == nil:
		case err == io.EOF:
			return nil // it ended between two requests
		case !first && !errors.As(err, &broken):
			return err
		default:
			return s.malformed(newExchange(conn), err)
		}
		if last, err := s.serveNext(conn, in); last || err != nil {
			return err
		}
	}
}

// serveNext serves the request that has begun, and reports whether it was the last one.
func (s *Server) serveNext(conn *wire.Connection, in *bufio.Reader) (last bool, err error) {
	if later := conn.Later; later != nil {
		conn.Later = nil
		return later.Serve()
	}
	x := newExchange(conn)
	if err = x.read(in, s.MaxBody); err != nil {
		return true, s.malformed(x, err)
	}
	err = s.Handler(x)
	last = x.last
	x.free()
	return last, err
}

// read reads a request. A client that asks before it sends a body may continue unless the body is
// too large for any endpoint.
func (x *Exchange) read(in *bufio.Reader, maxBody int) error {
	if err := x.Request.Header.Read(in); err != nil {
		return err
	}
	if x.Request.MayContinue() {
		if x.Request.Header.ContentLength() > maxBody {
			return fasthttp.ErrBodyTooLarge
		}
		_, _ = x.Conn.Output().WriteString("HTTP/1.1 100 Continue\r\n\r\n") // an error is returned again by Flush
		if x.Conn.Flush() != nil {
			return net.ErrClosed // the client is gone
		}
	}
	return x.Request.ContinueReadBody(in, maxBody, false)
}

// Handle serves a request and writes its response. The error ends the connection.
func (s *Server) Handle(x *Exchange) (err error) {
	c := Receive(x)
	s.serve(c)
	p := &c.Reply
	x.last = x.Request.Header.ConnectionClose() || (s.Stopping.Load() || c.isOld()) && p.Status != fasthttp.StatusSwitchingProtocols
	switch {
	case p.Passed != nil && c.fault == nil:
		err = s.sendPassed(c, x)
	case c.isStreamed():
		err = c.sendSpoilt(x)
	default:
		encode(p, &x.Response)
		if p.Passed != nil { // the reply to a HEAD request
			x.Response.Header.SetContentLength(int(p.Length())) // negative for a chunked body
		}
		err = x.write()
		if err == nil && c.fault != nil && x.Conn != nil {
			err = x.Conn.Flush()
		}
	}
	c.Release()
	return err
}

// write writes the response to the buffer of the connection, and flushes it after the last one.
func (x *Exchange) write() error {
	h := &x.Response.Header
	if x.last {
		h.SetConnectionClose()
	} else if !x.Request.Header.IsHTTP11() {
		h.Set(fasthttp.HeaderConnection, "keep-alive")
	}
	x.Response.SkipBody = x.Response.SkipBody || x.Request.Header.IsHead()
	if x.Conn == nil {
		return nil
	}
	err := x.Response.Write(x.Conn.Output())
	if err == nil && x.last {
		err = x.Conn.Flush()
	}
	return err
}

// sendSpoilt sends a reply whose body a fault sends in pieces, or only in part.
func (c *Call) sendSpoilt(x *Exchange) error {
	if c.held != nil {
		defer func() { c.held.Leave(time.Now()) }()
	}
	body := c.Reply.Body
	encode(&c.Reply, &x.Response)
	x.Response.SkipBody = true
	err := x.write()
	if err == nil {
		err = x.Conn.Flush()
	}
	switch {
	case err != nil:
		return err
	case c.fault.Kind == wire.Slow:
		return x.Conn.WriteSlowly(body, c.fault.Pace)
	}
	return x.Conn.WriteHalf(body)
}

// Receive makes a call from a request. The body of the reply is rendered into the buffer of the
// exchange, so that it is not copied.
func Receive(x *Exchange) *Call {
	room := x.Response.SwapBody(nil)
	if c := x.begun; c != nil { // answerDirectly has left it to the general way
		c.Reply.Room = room
		return c
	}
	c := calls.Get().(*Call)
	h, in := &x.Request.Header, &c.In
	in.Method, in.Target, in.Host, in.Header = h.Method(), h.RequestURI(), h.Host(), h.RawHeaders()
	in.Time = time.Now()
	if body := x.Request.Body(); len(body) > 0 {
		in.Body = body
	}
	if !h.IsHTTP11() {
		in.Protocol = matcher.HTTP10
	}
	if x.Conn != nil {
		c.peer, in.Remote, in.Peer, in.TLS = x.Conn, x.Conn.RemoteAddr(), x.Conn, x.Conn.TLS
	}
	c.Reply.Room = room
	return c
}

// encode copies a reply into fasthttp's response. It does not keep the buffer of a large body,
// because a connection would hold it for as long as it stays open. fasthttp's own limit applies to
// the whole process, and a host program may have set it for itself.
func encode(p *reply.Reply, resp *fasthttp.Response) {
	resp.SetStatusCode(p.Status)
	if len(p.Fields) > 0 {
		resp.Header.DisableNormalizing() // names are sent as written
		for i := range p.Fields {
			resp.Header.Add(p.Fields[i].Name, p.Fields[i].Value)
		}
		resp.Header.EnableNormalizing()
	}
	if p.ContentType != "" {
		resp.Header.SetContentType(p.ContentType)
	}
	body := p.Body
	if p.Status == fasthttp.StatusResetContent { // fasthttp knows the other statuses without a body
		body = nil
	}
	if p.Rendered && cap(body) <= keptBody {
		resp.SwapBody(body)
		return
	}
	resp.SwapBody(p.Room)
	resp.SetBodyRaw(body)
}

// malformed answers input that never became a request, and returns why. The connection ends
// afterwards. A client that has sent nothing, has left, or sent its headers too slowly gets no
// response.
func (s *Server) malformed(x *Exchange, err error) error {
	c := Receive(x)
	if h := &x.Request.Header; len(h.RawHeaders()) == 0 && len(h.Host()) == 0 { // nothing is known about the request
		c.In.Method, c.In.Target = nil, nil
	}
	if failure, why := s.FailureOf(x.Conn, x.Conn.Cause(err)); why != "" {
		s.refuse(c, failure, why)
		encode(&c.Reply, &x.Response)
		x.last = true
		_ = x.write() // the client may be gone, and the connection ends anyway
	}
	c.Release()
	x.free()
	return err
}

// FailureOf returns how input that ended with err is answered, and what the message says; "" if it
// is not answered.
func (s *Server) FailureOf(conn *wire.Connection, err error) (f reply.Failure, why string) {
	var timeout net.Error
	var broken *wire.ProtocolError
	switch {
	case errors.As(err, &broken):
		return violations[broken.Status], broken.What
	case !conn.HasSpoken(), errors.Is(err, net.ErrClosed), errors.Is(wire.Portable(err), syscall.ECONNRESET):
		return f, "" // there was no request, or the client is gone
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		return reply.PayloadTooLarge, "the request body is larger than " + wording.Size(s.MaxBody)
	case errors.As(err, &timeout) && timeout.Timeout():
		if !conn.IsInBody() {
			return f, ""
		}
		return reply.RequestTimeout, conn.Lateness()
	}
	return reply.BadRequest, wording.Bounded(err.Error())
}

// violations maps the status of a protocol error, or of a refused body, to the failure to send.
var violations = map[int]reply.Failure{
	reply.BadRequest.Status: reply.BadRequest, reply.HeadersTooLarge.Status: reply.HeadersTooLarge,
	reply.ExpectationFailed.Status: reply.ExpectationFailed, reply.NotImplemented.Status: reply.NotImplemented,
	reply.PayloadTooLarge.Status: reply.PayloadTooLarge, reply.RequestTimeout.Status: reply.RequestTimeout,
}

// refuse answers a request that is not read to its end. An HTTP/1.1 connection must be closed
// afterwards.
func (s *Server) refuse(c *Call, f reply.Failure, message string) {
	f.Write(&c.Reply, message)
	s.allowOrigin(c)
	if conn, _ := c.peer.(*wire.Connection); conn != nil {
		conn.Refuse()
	}
	if s.Recorder != nil {
		s.Recorder.Refused(&c.In, &c.Reply, c.peer.Shard())
	}
	if s.AccessLog {
		s.logAccess(c, slog.String("code", f.Code))
	}
}
