package listener

import (
	"errors"
	"io"
	"log/slog"

	"github.com/valyala/fasthttp"

	"mockserver/fetcher/upstream"
	"mockserver/listener/recording"
	"mockserver/listener/wire"
	"mockserver/matcher"
)

// Upstream answers are written here instead of by fasthttp, which would change their Date and the
// order of their headers, and would not pass on a body as it arrives. fasthttp, which runs the
// connection, writes an empty response, which is discarded.

// wholeRoom is the size in bytes of the largest body that is copied and written with its head.
const wholeRoom = 16 << 10

// sendPassed writes the answer of an upstream, and reports whether it could be written here.
func (s *Server) sendPassed(c *call, ctx *fasthttp.RequestCtx) bool {
	conn, ok := ctx.Conn().(*wire.Connection)
	if !ok || !conn.IsAlone() || c.fault != nil {
		return false
	}
	p := &c.reply
	bodiless := c.isHead() || p.Status == fasthttp.StatusNoContent || p.Status == fasthttp.StatusNotModified
	last := ctx.Request.Header.ConnectionClose() || s.stopping.Load() || c.isOld()
	coded := p.Passed.Length < 0 && !bodiless && c.In.Protocol != matcher.HTTP10
	if p.Passed.Length < 0 && !bodiless && c.In.Protocol == matcher.HTTP10 {
		last = true // the body ends when the connection does
	}
	connection := ""
	switch {
	case last:
		connection = "close"
	case c.In.Protocol == matcher.HTTP10:
		connection = "keep-alive"
	}
	head := p.AppendPassedHead(c.passing.Scratch(), conn.Date(), coded, connection)
	body := p.Body
	if bodiless {
		body = nil
	}
	err := s.writePassed(c, conn, head, body, coded, bodiless)
	if err != nil {
		last = true
	}
	if last {
		ctx.SetConnectionClose()
	}
	conn.Answered(err)
	return true
}

// writePassed writes the head and the body.
func (s *Server) writePassed(c *call, conn *wire.Connection, head, body []byte, coded, bodiless bool) error {
	whole := bodiless || c.reply.Passed.Whole
	if whole && len(body) <= wholeRoom || len(body) == 0 {
		head, body = append(head, body...), nil
	}
	if _, err := conn.Write(head); err != nil {
		return err
	}
	if whole {
		if len(body) == 0 {
			return nil
		}
		_, err := conn.Write(body)
		return err
	}
	err := streamPassed(conn, &c.passing, body, coded)
	_ = c.passing.Close() // never fails
	var broken *brokenError
	if errors.As(err, &broken) {
		conn.Reset()
		s.tellBroken(c, broken.error)
	}
	return err
}

// brokenError is an upstream's error after the head of its answer.
type brokenError struct{ error }

// streamPassed writes the beginning of a body, and the rest as it arrives, unless the client
// leaves.
func streamPassed(conn *wire.Connection, rest *passing, begin []byte, coded bool) error {
	piece := wire.NewPiece()
	defer piece.Free()
	for {
		var n int
		var err error
		if len(begin) > 0 {
			n = copy(piece.Room(), begin)
			begin = begin[n:]
		} else {
			n, err = rest.ReadWatching(piece.Room(), conn)
		}
		if n > 0 {
			if _, failed := conn.Write(piece.Framed(n, coded)); failed != nil {
				return failed
			}
		}
		switch {
		case err == io.EOF && coded:
			_, err = conn.Write(wire.LastChunk)
			return err
		case err == io.EOF:
			return nil
		case err == upstream.ErrLeft:
			return err
		case err != nil:
			return &brokenError{err}
		}
	}
}

// tellBroken logs that an answer broke off after its head was sent, at most once a second.
func (s *Server) tellBroken(c *call, err error) {
	if suppressed, ok := s.brokenLimiter.Pass(c.In.Time); ok {
		s.log.Warn("upstream broke off", "endpoint", c.trace.Endpoint, "error", err.Error(), slog.Int("suppressed", suppressed))
	}
}

// streamPassed makes fasthttp send the rest of an upstream's answer, if the connection is not a
// wire.Connection or the answer must follow other responses.
func (c *call) streamPassed(ctx *fasthttp.RequestCtx) {
	p := c.reply.Passed
	switch {
	case p == nil:
		return
	case c.isHead():
		ctx.Response.Header.SetContentLength(int(p.Length)) // negative for a chunked body
		return
	case p.Whole:
		return
	}
	rest := &laterPassing{c.passing, c.reply.Body}
	c.passing = passing{}
	ctx.Response.SetBodyStream(rest, int(rest.Length))
}

// laterPassing is an answer that is written after its call has been released.
type laterPassing struct {
	passing
	begin []byte
}

// Read reads the beginning, and then the rest.
func (l *laterPassing) Read(b []byte) (int, error) {
	if len(l.begin) > 0 {
		n := copy(b, l.begin)
		l.begin = l.begin[n:]
		return n, nil
	}
	return l.passing.Read(b)
}

// Close ends the exchange.
func (l *laterPassing) Close() error {
	l.taping.End(l.Exchange, recording.CodeLeft, l.Status)
	l.Free()
	return nil
}
