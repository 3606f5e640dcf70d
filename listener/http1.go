package listener

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"

	"mockserver/internal/wording"
	"mockserver/listener/reply"
	"mockserver/listener/traffic"
	"mockserver/listener/wire"
	"mockserver/matcher"
)

// HTTP/1.1 as fasthttp reads and writes it: a request becomes a call, and the reply of the call
// becomes a fasthttp response. Nothing else uses fasthttp's contexts.

// serveHTTP serves a connection with buffers of the size that it needs.
func (s *Server) serveHTTP(conn net.Conn) error {
	if c, ok := conn.(*wire.Connection); ok && c.IsLarge() {
		return s.large.ServeConn(conn)
	}
	return s.http.ServeConn(conn)
}

func (s *Server) newHTTP(readBuffer int) *fasthttp.Server {
	return &fasthttp.Server{
		Handler:                      s.handle,
		ErrorHandler:                 s.malformed,
		ExpectHandler:                s.expect,
		NoDefaultServerHeader:        true,
		NoDefaultContentType:         true,
		MaxRequestBodySize:           s.opts.MaxBody,
		ReadBufferSize:               readBuffer,
		DisablePreParseMultipartForm: true,
		SecureErrorLogMessage:        true,
		Logger:                       connectionLog{s.log},
	}
}

// handle serves a request that fasthttp has read.
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	c := receive(ctx)
	s.serve(c)
	sent := c.reply.Passed != nil && s.sendPassed(c, ctx) // its head says whether the connection closes
	if !sent {
		c.encode(ctx)
	}
	ctx.Request.ReleaseBody(keptBody)
	if !sent && (s.stopping.Load() || c.isOld()) && c.reply.Status != fasthttp.StatusSwitchingProtocols {
		ctx.SetConnectionClose()
	}
	c.release()
}

// receive makes a call from the request in ctx. The body of the reply is rendered into the buffer
// of the connection, so that it is not copied.
func receive(ctx *fasthttp.RequestCtx) *call {
	if c := begunCall(ctx); c != nil {
		c.reply.Room = ctx.Response.SwapBody(nil)
		return c
	}
	c := calls.Get().(*call)
	h, in := &ctx.Request.Header, &c.In
	in.Method, in.Target, in.Host, in.Header = h.Method(), h.RequestURI(), h.Host(), h.RawHeaders()
	in.Body, in.Remote, in.Time = ctx.Request.Body(), ctx.RemoteAddr(), ctx.Time()
	if !h.IsHTTP11() {
		in.Protocol = matcher.HTTP10
	}
	if conn, ok := ctx.Conn().(*wire.Connection); ok {
		c.peer, in.Peer, in.TLS = conn, conn, conn.TLS
	}
	c.reply.Room = ctx.Response.SwapBody(nil)
	return c
}

// begunCall returns the call of a request that answerDirectly has left to fasthttp; nil for any
// other request.
func begunCall(ctx *fasthttp.RequestCtx) *call {
	conn, ok := ctx.Conn().(*wire.Connection)
	if !ok || conn.Begun == nil {
		return nil
	}
	c := conn.Begun.(*call)
	conn.Begun = nil
	return c
}

// encode copies the reply into fasthttp's response.
func (c *call) encode(ctx *fasthttp.RequestCtx) {
	if !c.isStreamed() {
		encode(&c.reply, &ctx.Response)
		c.streamPassed(ctx)
		return
	}
	conn, _ := c.peer.(*wire.Connection)
	body := &heldBody{wire.SpoiltBody{Body: c.reply.Body, Conn: conn}, c.held} // with its buffer
	if c.fault.Kind == wire.Slow {
		body.Pace = c.fault.Pace
	}
	c.reply.Body, c.reply.Room = nil, nil
	encode(&c.reply, &ctx.Response)
	ctx.Response.ImmediateHeaderFlush = true
	ctx.Response.SetBodyStream(body, len(body.Body))
}

// heldBody is a spoilt body, with the place that its request holds until the body is sent.
type heldBody struct {
	wire.SpoiltBody
	held *traffic.Capacity // nil for none
}

// Close frees the place. fasthttp calls it when the response has been sent or cannot be sent.
func (b *heldBody) Close() error {
	if b.held != nil {
		b.held.Leave(time.Now())
	}
	return nil
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
	if p.Rendered && cap(p.Body) <= keptBody {
		resp.SwapBody(p.Body)
		return
	}
	resp.SwapBody(p.Room)
	resp.SetBodyRaw(p.Body)
}

// receiveBroken makes a call from input that did not become a request. If the headers could not be
// parsed, nothing is known about the request.
func receiveBroken(ctx *fasthttp.RequestCtx) *call {
	ctx.Request.ReleaseBody(keptBody)
	c := receive(ctx)
	c.In.Time = time.Now() // ctx has the time of the previous request
	if h := &ctx.Request.Header; len(h.RawHeaders()) == 0 && len(h.Host()) == 0 {
		c.In.Method, c.In.Target = nil, nil
	}
	return c
}

// malformed answers input that never became a request. The connection is closed afterwards. A
// client that has sent nothing, has left, or sent its headers too slowly gets no response.
func (s *Server) malformed(ctx *fasthttp.RequestCtx, err error) {
	var small *fasthttp.ErrSmallBuffer
	var timeout net.Error
	var broken *wire.ProtocolError
	c := receiveBroken(ctx)
	defer c.release()
	conn, _ := c.peer.(*wire.Connection)
	if conn != nil {
		err = conn.Cause(err)
	}
	switch {
	case errors.As(err, &broken):
		s.refuse(c, violations[broken.Status], broken.What)
	case conn != nil && !conn.HasSpoken(), errors.Is(err, net.ErrClosed), errors.Is(wire.Portable(err), syscall.ECONNRESET):
		_ = ctx.Conn().Close() // there was no request, or the client is gone
		return
	case errors.As(err, &small):
		s.refuse(c, reply.HeadersTooLarge, wire.LargeHead)
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		s.refuse(c, reply.PayloadTooLarge, "the request body is larger than "+wording.Size(s.opts.MaxBody))
	case errors.Is(err, fasthttp.ErrorInvalidURI):
		s.refuse(c, reply.BadRequest, "the request target is malformed")
	case errors.As(err, &timeout) && timeout.Timeout():
		if conn == nil || !conn.IsInBody() {
			_ = ctx.Conn().Close() // nothing is left to say; an error from Close does not matter
			return
		}
		s.refuse(c, reply.RequestTimeout, conn.Lateness())
	default:
		s.refuse(c, reply.BadRequest, wording.Bounded(err.Error()))
	}
	c.encode(ctx)
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

// expect answers a client that asks before sending a body. The client may continue unless the body
// is too large for any endpoint.
func (s *Server) expect(ctx *fasthttp.RequestCtx) int {
	if ctx.Request.Header.ContentLength() <= s.opts.MaxBody {
		return fasthttp.StatusContinue
	}
	s.malformed(ctx, fasthttp.ErrBodyTooLarge)
	return reply.PayloadTooLarge.Status
}

// connectionLog logs what fasthttp reports about single connections at debug level. Important
// events have a response and a log line of their own.
type connectionLog struct{ log *slog.Logger }

// Printf implements fasthttp.Logger.
func (c connectionLog) Printf(format string, args ...any) {
	c.log.Debug("connection", "detail", fmt.Sprintf(format, args...))
}
