package serve

import (
	"cmp"
	"log/slog"

	"github.com/valyala/fasthttp"

	"mockserver/config/policy"
	"mockserver/fetcher/upstream"
	"mockserver/internal/semantics"
	"mockserver/listener/protocol/wire"
	"mockserver/matcher"
)

// Upstream answers are written here instead of by fasthttp, which would change their Date and the
// order of their headers, and would not pass on a body as it arrives.

// wholeRoom is the size in bytes of the largest body that is copied and written with its head.
const wholeRoom = 16 << 10

// sendPassed writes the answer of an upstream. The error ends the connection.
func (s *Server) sendPassed(c *call, x *wire.Exchange) error {
	defer s.endPieces(c)
	p := &c.Reply
	bodiless := c.isHead() || semantics.HasNoContent(p.Status)
	coded := p.Length() < 0 && !bodiless && c.In.Protocol != matcher.HTTP10
	switch {
	case coded:
		p.Add(fasthttp.HeaderTransferEncoding, "chunked")
	case p.Length() < 0 && !bodiless:
		x.Last = true // the body ends when the connection does
	}
	switch {
	case x.Last:
		p.Add(fasthttp.HeaderConnection, "close")
	case c.In.Protocol == matcher.HTTP10:
		p.Add(fasthttp.HeaderConnection, "keep-alive")
	}
	head := p.AppendHead(c.passing.Scratch(), x.Conn.Date(), "")
	if err := x.Conn.Flush(); err != nil {
		return err
	}
	return s.writePassed(c, x.Conn, head, p.Sent(c.isHead()), coded, bodiless)
}

// writePassed writes the head and the body.
func (s *Server) writePassed(c *call, conn *wire.Connection, head, body []byte, coded, bodiless bool) error {
	whole := bodiless || c.Reply.Passed.Whole
	if whole && len(body) <= wholeRoom || len(body) == 0 {
		head, body = append(head, body...), nil
	}
	_, err := conn.Write(head)
	if whole && err == nil && len(body) > 0 {
		_, err = conn.Write(body)
	}
	if whole || err != nil {
		return err
	}
	c.startPieces(body)
	failed, broken := conn.SendPieces(coded, c.nextPiece)
	c.passing.Close()
	switch broken {
	case nil, upstream.ErrLeft:
		return cmp.Or(failed, broken)
	case errCut:
		conn.Break(c.fault.Kind == policy.FaultReset)
		return conn.WriteHalf(nil)
	}
	conn.Reset()
	s.logBroken(c, broken)
	return broken
}

// logBroken logs that an answer broke off after its head was sent, at most once a second.
func (s *Server) logBroken(c *call, err error) {
	if suppressed, ok := s.brokenLimiter.Pass(c.In.Time); ok {
		s.Log.Warn("upstream broke off", "endpoint", c.Trace.Endpoint, "error", err.Error(), slog.Int("suppressed", suppressed))
	}
}
