package listener

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

// exchange is one request of a connection and its response.
type exchange struct {
	request  fasthttp.Request
	response fasthttp.Response
	conn     *wire.Connection // nil in tests
	last     bool             // the connection closes after the response
}

// exchanges holds unused exchanges. fasthttp resets some of the options below with the rest.
var exchanges = sync.Pool{New: func() any {
	x := &exchange{}
	x.request.KeepBodyBuffer, x.response.KeepBodyBuffer = true, true
	return x
}}

func newExchange(conn *wire.Connection) *exchange {
	x := exchanges.Get().(*exchange)
	x.response.Header.SetNoDefaultContentType(true)
	x.conn = conn
	return x
}

// free returns an exchange to the pool. What its call has used becomes invalid.
func (x *exchange) free() {
	x.request.ReleaseBody(keptBody)
	x.request.Reset()
	x.response.Reset()
	x.conn, x.last = nil, false
	exchanges.Put(x)
}

// serveHTTP serves the requests of a connection until it ends, leaves HTTP/1.1, or is parked.
func (s *Server) serveHTTP(conn *wire.Connection) error {
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
	x := newExchange(conn)
	if err = x.read(in, s.opts.MaxBody); err != nil {
		return true, s.malformed(x, err)
	}
	err = s.handler(x)
	last = x.last
	x.free()
	return last, err
}

// read reads a request. A client that asks before it sends a body may continue unless the body is
// too large for any endpoint.
func (x *exchange) read(in *bufio.Reader, maxBody int) error {
	if err := x.request.Header.Read(in); err != nil {
		return err
	}
	if x.request.MayContinue() {
		if x.request.Header.ContentLength() > maxBody {
			return fasthttp.ErrBodyTooLarge
		}
		_, _ = x.conn.Output().WriteString("HTTP/1.1 100 Continue\r\n\r\n") // an error is returned again by Flush
		if x.conn.Flush() != nil {
			return net.ErrClosed // the client is gone
		}
	}
	return x.request.ContinueReadBody(in, maxBody, false)
}

// handle serves a request and writes its response. The error ends the connection.
func (s *Server) handle(x *exchange) (err error) {
	c := receive(x)
	s.serve(c)
	p := &c.reply
	x.last = x.request.Header.ConnectionClose() || (s.stopping.Load() || c.isOld()) && p.Status != fasthttp.StatusSwitchingProtocols
	switch {
	case p.Passed != nil && c.fault == nil:
		err = s.sendPassed(c, x)
	case c.isStreamed():
		err = c.sendSpoilt(x)
	default:
		encode(p, &x.response)
		if p.Passed != nil { // the reply to a HEAD request
			x.response.Header.SetContentLength(int(p.Length())) // negative for a chunked body
		}
		err = x.write()
		if err == nil && c.fault != nil && x.conn != nil {
			err = x.conn.Flush()
		}
	}
	c.release()
	return err
}

// write writes the response to the buffer of the connection, and flushes it after the last one.
func (x *exchange) write() error {
	h := &x.response.Header
	if x.last {
		h.SetConnectionClose()
	} else if !x.request.Header.IsHTTP11() {
		h.Set(fasthttp.HeaderConnection, "keep-alive")
	}
	x.response.SkipBody = x.response.SkipBody || x.request.Header.IsHead()
	if x.conn == nil {
		return nil
	}
	err := x.response.Write(x.conn.Output())
	if err == nil && x.last {
		err = x.conn.Flush()
	}
	return err
}

// sendSpoilt sends a reply whose body a fault sends in pieces, or only in part.
func (c *call) sendSpoilt(x *exchange) error {
	if c.held != nil {
		defer func() { c.held.Leave(time.Now()) }()
	}
	body := c.reply.Body
	encode(&c.reply, &x.response)
	x.response.SkipBody = true
	err := x.write()
	if err == nil {
		err = x.conn.Flush()
	}
	switch {
	case err != nil:
		return err
	case c.fault.Kind == wire.Slow:
		return x.conn.WriteSlowly(body, c.fault.Pace)
	}
	return x.conn.WriteHalf(body)
}

// receive makes a call from a request. The body of the reply is rendered into the buffer of the
// exchange, so that it is not copied.
func receive(x *exchange) *call {
	room := x.response.SwapBody(nil)
	if x.conn != nil && x.conn.Begun != nil { // answerDirectly has left it to the general way
		c := x.conn.Begun.(*call)
		x.conn.Begun, c.reply.Room = nil, room
		return c
	}
	c := calls.Get().(*call)
	h, in := &x.request.Header, &c.In
	in.Method, in.Target, in.Host, in.Header = h.Method(), h.RequestURI(), h.Host(), h.RawHeaders()
	in.Time = time.Now()
	if body := x.request.Body(); len(body) > 0 {
		in.Body = body
	}
	if !h.IsHTTP11() {
		in.Protocol = matcher.HTTP10
	}
	if x.conn != nil {
		c.peer, in.Remote, in.Peer, in.TLS = x.conn, x.conn.RemoteAddr(), x.conn, x.conn.TLS
	}
	c.reply.Room = room
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
func (s *Server) malformed(x *exchange, err error) error {
	c := receive(x)
	if h := &x.request.Header; len(h.RawHeaders()) == 0 && len(h.Host()) == 0 { // nothing is known about the request
		c.In.Method, c.In.Target = nil, nil
	}
	if failure, why := s.failureOf(x.conn, x.conn.Cause(err)); why != "" {
		s.refuse(c, failure, why)
		encode(&c.reply, &x.response)
		x.last = true
		_ = x.write() // the client may be gone, and the connection ends anyway
	}
	c.release()
	x.free()
	return err
}

// failureOf returns how input that ended with err is answered, and what the message says; "" if it
// is not answered.
func (s *Server) failureOf(conn *wire.Connection, err error) (f reply.Failure, why string) {
	var timeout net.Error
	var broken *wire.ProtocolError
	switch {
	case errors.As(err, &broken):
		return violations[broken.Status], broken.What
	case !conn.HasSpoken(), errors.Is(err, net.ErrClosed), errors.Is(wire.Portable(err), syscall.ECONNRESET):
		return f, "" // there was no request, or the client is gone
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		return reply.PayloadTooLarge, "the request body is larger than " + wording.Size(s.opts.MaxBody)
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
func (s *Server) refuse(c *call, f reply.Failure, message string) {
	f.Write(&c.reply, message)
	s.allowOrigin(c)
	if conn, _ := c.peer.(*wire.Connection); conn != nil {
		conn.Refuse()
	}
	if s.recorder != nil {
		s.recorder.Refused(&c.In, &c.reply, c.peer.Shard())
	}
	if s.opts.AccessLog {
		s.logAccess(c, slog.String("code", f.Code))
	}
}
