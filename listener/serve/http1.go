package serve

import (
	"log/slog"
	"time"

	"github.com/valyala/fasthttp"

	"mockserver/listener/protocol/wire"
	"mockserver/listener/reply"
	"mockserver/matcher"
)

// HTTP/1.1, other than plain requests: fasthttp reads a request, which becomes a call, and writes a
// response, which is made from the reply of the call.

// ServeConnection serves one connection to its end. It recovers from panics: a panic outside its
// requests, while they are read or refused, ends the connection and affects no other.
func (s *Server) ServeConnection(conn *wire.Connection) {
	defer s.survive(conn)
	if err := conn.Serve(); err != nil {
		s.Log.Debug("connection", "remote", conn.RemoteAddr().String(), "detail", err.Error())
	}
}

// Serve answers a request, and writes the response. The error ends the connection.
func (s *Server) Serve(x *wire.Exchange) error { return s.exchange(receive(x), x) }

// exchange answers a call, and writes the response.
func (s *Server) exchange(c *call, x *wire.Exchange) (err error) {
	if s.serve(c); c.waits {
		x.Response.SwapBody(c.Reply.Room) // unless the body is larger
		if c.flow != nil {
			return c.flow.start(x)
		}
		s.delay(c, x.Conn)
		return nil
	}
	p := &c.Reply
	x.Last = x.Request.Header.ConnectionClose() || (s.Stopping.Load() || x.Conn.IsOld()) && p.Status != fasthttp.StatusSwitchingProtocols
	switch {
	case p.Passed != nil && (c.fault == nil || p.Streamed):
		err = s.sendPassed(c, x)
	case c.isStreamed():
		err = c.sendSpoilt(x)
	default:
		encode(p, &x.Response)
		if p.Passed != nil { // the reply to a HEAD request
			x.Response.Header.SetContentLength(int(p.Length())) // negative for a chunked body
		}
		err = write(x)
		if err == nil && c.fault != nil && x.Conn != nil {
			err = x.Conn.Flush()
		}
	}
	if s.Recorder != nil && x.Conn != nil && (p.Passed != nil || c.fault != nil) { // it took time to send
		s.leave(c, time.Since(c.In.Time))
	}
	c.Release()
	return err
}

// write writes the response to the buffer of the connection, and flushes it after the last one.
func write(x *wire.Exchange) error {
	h := &x.Response.Header
	if x.Last {
		h.SetConnectionClose()
	} else if !x.Request.Header.IsHTTP11() {
		h.Set(fasthttp.HeaderConnection, "keep-alive")
	}
	x.Response.SkipBody = x.Response.SkipBody || x.Request.Header.IsHead()
	if x.Conn == nil {
		return nil
	}
	err := x.Response.Write(x.Conn.Output())
	if err == nil && x.Last {
		err = x.Conn.Flush()
	}
	return err
}

// sendSpoilt sends a reply whose body a fault sends in pieces, or only in part.
func (c *call) sendSpoilt(x *wire.Exchange) error {
	if c.held != nil {
		defer func() { c.held.Leave(time.Now()) }()
	}
	body := c.Reply.Body
	encode(&c.Reply, &x.Response)
	x.Response.SkipBody = true
	err := write(x)
	if err == nil {
		err = x.Conn.Flush()
	}
	switch {
	case err != nil:
		return err
	case c.fault.Kind == wire.Slow:
		return x.Conn.WriteSlowly(body, c.fault.Speed(c.Random.Float64()))
	}
	return x.Conn.WriteHalf(body)
}

// receive makes a call from a request. The body of the reply is rendered into the buffer of the
// exchange, so that it is not copied.
func receive(x *wire.Exchange) *call {
	c := calls.Get().(*call)
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
	c.Reply.Room = x.Response.SwapBody(nil)
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

// Refuse answers input that never became a request, after which the connection ends.
func (s *Server) Refuse(x *wire.Exchange, status int, why string) {
	c := receive(x)
	if h := &x.Request.Header; len(h.RawHeaders()) == 0 && len(h.Host()) == 0 { // nothing is known about the request
		c.In.Method, c.In.Target = nil, nil
	}
	s.refuse(c, violations[status], why)
	encode(&c.Reply, &x.Response)
	_ = write(x) // the client may be gone, and the connection ends anyway
	c.Release()
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
	f.Write(&c.Reply, message)
	s.dress(c)
	s.allowOrigin(c)
	if conn, _ := c.peer.(*wire.Connection); conn != nil {
		conn.Refuse()
	}
	if s.Recorder != nil {
		s.arrive(c)
		s.leave(c, time.Since(c.In.Time))
		s.Recorder.Refused(&c.In, &c.Reply, c.peer.Shard())
	}
	if s.AccessLog {
		s.logAccess(c, c.peer.HasLeft(), slog.String("code", f.Code))
	}
}
