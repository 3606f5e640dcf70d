package listener

import (
	"errors"
	"io"
	"log/slog"
	"strconv"
	"sync"

	"github.com/valyala/fasthttp"

	"mockserver/fetcher/upstream"
	"mockserver/internal/ascii"
	"mockserver/listener/wire"
	"mockserver/matcher"
)

// The answers of upstreams are written here instead of by fasthttp, which would change their Date
// and the order of their headers, and would not pass on a body as it comes. fasthttp, which leads
// the connection, writes an empty response, which is dropped.

// pieces are the buffers that bodies of any length go through.
var pieces = sync.Pool{New: func() any { return new(piece) }}

// piece is a part of a body, with room for the size of a chunk before it and the line end after it.
type piece [chunkRoom + pieceSize + 2]byte

const (
	chunkRoom = 10 // hexadecimal digits of pieceSize, and CRLF
	pieceSize = 32 << 10
	// wholeRoom is the largest body, in bytes, that is copied to be written with its head.
	wholeRoom = 16 << 10
)

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
		last = true // its end is that of the connection
	}
	head := c.appendPassedHead(c.passing.Scratch(), conn.Date(), coded, last)
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
	conn.Answered()
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
	_ = c.passing.Close() // it has no error
	var broken *brokenError
	if errors.As(err, &broken) {
		conn.Reset()
		s.tellBroken(c, broken.error)
	}
	return err
}

// brokenError is an error of the upstream after the head of its answer.
type brokenError struct{ error }

// streamPassed writes the beginning of a body, and the rest as it comes, unless the client leaves.
func streamPassed(conn *wire.Connection, rest *passing, begin []byte, coded bool) error {
	b := pieces.Get().(*piece)
	defer pieces.Put(b)
	for {
		var n int
		var err error
		if len(begin) > 0 {
			n = copy(b[chunkRoom:chunkRoom+pieceSize], begin)
			begin = begin[n:]
		} else {
			n, err = rest.ReadWatching(b[chunkRoom:chunkRoom+pieceSize], conn)
		}
		if n > 0 {
			if _, failed := conn.Write(b.framed(n, coded)); failed != nil {
				return failed
			}
		}
		switch {
		case err == io.EOF && coded:
			_, err = conn.Write([]byte("0\r\n\r\n"))
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

// framed returns n bytes of a body as they are sent.
func (b *piece) framed(n int, coded bool) []byte {
	if !coded {
		return b[chunkRoom : chunkRoom+n]
	}
	var digits [chunkRoom]byte
	size := append(strconv.AppendInt(digits[:0], int64(n), 16), "\r\n"...)
	begin := chunkRoom - len(size)
	copy(b[begin:], size)
	copy(b[chunkRoom+n:], "\r\n")
	return b[begin : chunkRoom+n+2]
}

// appendPassedHead appends the head of an upstream's answer.
func (c *call) appendPassedHead(b, date []byte, coded, last bool) []byte {
	p := &c.reply
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(p.Status), 10)
	b = append(append(append(b, ' '), p.Passed.Reason...), "\r\n"...)
	dated := false
	for i := range p.Fields {
		f := &p.Fields[i]
		dated = dated || len(f.Name) == len("Date") && ascii.EqualFold([]byte(f.Name), "date")
		b = appendField(b, f.Name, f.Value)
	}
	if p.ContentType != "" {
		b = appendField(b, fasthttp.HeaderContentType, p.ContentType)
	}
	if !dated { // RFC 9110 section 6.6.1
		b = append(append(append(b, "Date: "...), date...), "\r\n"...)
	}
	switch {
	case coded:
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	case p.Passed.Length >= 0:
		b = append(b, "Content-Length: "...)
		b = append(strconv.AppendInt(b, p.Passed.Length, 10), "\r\n"...)
	}
	switch {
	case last:
		b = append(b, "Connection: close\r\n"...)
	case c.In.Protocol == matcher.HTTP10:
		b = append(b, "Connection: keep-alive\r\n"...)
	}
	return append(b, "\r\n"...)
}

func appendField(b []byte, name, value string) []byte {
	b = append(append(append(b, name...), ": "...), value...)
	return append(b, "\r\n"...)
}

// tellBroken logs that an answer broke off after its head was sent.
func (s *Server) tellBroken(c *call, err error) {
	if suppressed, ok := s.brokenPace.Pass(c.In.Time); ok {
		s.log.Warn("upstream broke off", "endpoint", c.trace.Endpoint, "error", err.Error(), slog.Int("suppressed", suppressed))
	}
}

// streamPassed has fasthttp send the rest of an upstream's answer, on a connection that is not ours,
// or with other responses before it.
func (c *call) streamPassed(ctx *fasthttp.RequestCtx) {
	if p := c.reply.Passed; p == nil || p.Whole {
		return
	}
	rest := &laterPassing{c.passing, c.reply.Body}
	c.passing = passing{}
	ctx.Response.SetBodyStream(rest, int(rest.Length))
}

// laterPassing is an answer that is written after its call was released.
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
	l.taping.end(l.Exchange, codeLeft, l.Status)
	l.Free()
	return nil
}
