// Package wire handles one HTTP/1.1 connection, from its socket to the requests that a Handler answers:
// it owns the buffers, checks what a client sends against RFC 9112, applies timeouts, parks the
// connection while it is idle, and lets a request wait in it. Serve is its loop. It does not know
// about endpoints.
package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"

	"mockserver/internal/sockio"
	"mockserver/internal/wording"
)

// Handler answers requests.
type Handler interface {
	// Answer answers a plain request within the read that it arrived in, if that cannot block, nor, on a
	// connection that is shared, take long, and returns nil. Otherwise it returns what answers the request.
	// The error is a write error.
	Answer(c *Connection, p *Plain) (Later, error)
	// Serve answers any other request, which has been read completely.
	Serve(x *Exchange) error
	// Refuse answers input that is not a valid request; parts of the request may be missing. The
	// connection ends afterwards.
	Refuse(x *Exchange, status int, why string)
}

// Later is a plain request that is answered outside of the read that it arrived in.
type Later interface {
	// Serve answers the request. last reports whether the connection closes after it.
	Serve() (last bool, err error)
}

// Reasons why reading pauses, each of which is a branch of the loop.
var (
	errIdle   = errors.New("no request has arrived for some time")
	errFull   = errors.New("the buffer is too small")
	errHello  = errors.New("the client begins a TLS handshake")
	errClosed = errors.New("the connection is already closed")
	errDelay  = errors.New("the response is delayed")
	errShared = errors.New("what follows may take long, and the goroutine serves other connections too")
)

// Serve serves the connection to its end, and closes it. Responses are collected in a buffer; what is in
// it is written before a read that may block, before a request waits, before a fault, before a body
// that is sent in pieces, and at the end.
//
// If there is nothing to read, Serve may park the connection: see Connections.Resume.
func (c *Connection) Serve() error {
	if c.talk != nil { // it was parked
		return c.end(nil)
	}
	if c.late {
		c.closeNotify()
		return c.CloseNow()
	}
	c.known = c.known || !c.shared
	for {
		err := c.loop()
		switch {
		case err != errIdle && err != errDelay && err != errShared:
			return c.end(err)
		case err != errShared && c.Park():
			return nil
		case c.shared:
			c.leaveShared()
			return nil
		case err == errDelay: // wait in this goroutine
		case c.requests > 0 && !c.park():
			return c.end(errClosed)
		}
	}
}

// end ends a connection after its last request.
func (c *Connection) end(err error) error {
	c.from.lot.leave(c, false)
	c.behind = c.ended && c.hasMore()
	if c.upgraded.Load() && c.in != nil {
		c.hold()
	}
	c.freeBuffers()
	if talk := c.talk; talk != nil {
		c.talk = nil // talk may run for long: the field must not keep what talk refers to
		talk()       // it may park the connection
		return nil
	}
	if err == errClosed {
		err = nil
	} else if c.resets {
		c.release()
		c.cut()
	} else if closing := c.Close(); err == nil {
		err = closing
	}
	c.answered.Store((err == nil || c.struck || c.rested) && !c.cutOff && !c.unwritten)
	if c.shared && err == nil {
		c.reuse()
	}
	return err
}

// loop serves requests until the connection ends, leaves HTTP/1.1, or is idle.
func (c *Connection) loop() error {
	defer c.release()
	if err := c.sendDelayed(); err != nil {
		return err
	}
	for {
		err := c.next()
		switch {
		case err != errIdle && (c.mayBlock() || c.shared && c.failed == nil && !c.ended):
			return errShared // another goroutine serves it from now on
		case err == nil:
			if last, err := c.answer(); last || err != nil {
				return err
			}
			if c.delay.reply != nil {
				return errDelay
			}
		case err == errIdle:
			return err
		case err == errFull:
			if err := c.grow(); err != nil {
				return err
			}
		case err == errHello:
			if !c.secure() {
				return errClosed
			}
		case err == io.EOF: // it ended between two requests
			return nil
		default:
			return c.refuse(NewExchange(c), err)
		}
	}
}

// next reads until a request is at hand that was not answered within its read.
func (c *Connection) next() error {
	for {
		switch c.settle(); {
		case c.unwritten:
			return c.failed
		case c.mayBlock() || c.upgraded.Load() || c.ended:
			return io.EOF
		}
		if err := c.readHead(); err != nil || !c.isPlain || c.later != nil {
			return err
		}
		c.plain.Alone = c.in.Buffered() == c.size && len(c.held) == 0 && (c.out == nil || c.out.Buffered() == 0)
		if err := c.answerPlain(); c.later != nil || err != nil {
			return err
		}
		if c.discard(); c.shared && !c.ended && c.delay.rest == nil && !c.hasMore() {
			return errIdle // the client sends nothing before it has the response
		}
	}
}

// answerPlain answers a plain request, or sets c.later to what answers it.
func (c *Connection) answerPlain() (err error) {
	if c.later, err = c.from.Handler.Answer(c, &c.plain); err != nil {
		c.failed, c.unwritten = err, true
	} else if c.later == nil {
		c.finish()
	}
	return err
}

// settle ends the previous request: what follows its response is called, and the responses so far are
// written, unless another request is at hand.
func (c *Connection) settle() {
	if c.after != nil || c.upgraded.Load() || !c.hasMore() {
		c.flush()
	}
	if c.after != nil { // the response has been written
		c.release()
	}
}

// readHead reads until a whole head is buffered, and all of a plain request.
func (c *Connection) readHead() error {
	if c.arrived = c.heldAt; c.from.timed && c.hasMore() {
		c.readAt = c.from.clock.exactly()
	}
	in := c.input()
	for c.later == nil {
		b, _ := in.Peek(in.Buffered()) // what is buffered can be peeked at
		if len(b) > 0 {
			whole, err := c.take(b)
			switch {
			case err != nil || whole:
				return err
			case len(b) == in.Size() && c.large:
				return largeHead
			case len(b) == in.Size():
				return errFull
			}
		}
		if _, err := in.Peek(len(b) + 1); err != nil {
			return c.ends(err)
		}
		if c.grows && c.later == nil {
			return errFull
		}
	}
	return nil
}

// ends returns how a connection ends whose head could not be read.
func (c *Connection) ends(err error) error {
	b, _ := c.in.Peek(c.in.Buffered())
	if c.cutOff = err != errShared && c.head.isInside(b); c.cutOff && err == io.EOF {
		return cutShort
	}
	return err
}

// take looks at the input b, and reports whether it begins with a whole head.
func (c *Connection) take(b []byte) (whole bool, err error) {
	if c.requests == 0 && !c.head.begun {
		if begun, err := c.opens(b); begun || err != nil {
			return false, err
		}
	}
	whole, err = c.look(b)
	if (whole || err != nil || c.head.isInside(b)) && !c.spoke.Load() {
		c.spoke.Store(true)
	}
	if whole && c.size >= len(b) && len(c.held) == 0 {
		c.heldAt = time.Time{}
	} else if whole && c.heldAt.IsZero() {
		c.heldAt = time.Now()
	}
	return whole, err
}

// answer answers the request at hand, and reports whether it was the last one.
func (c *Connection) answer() (last bool, err error) {
	if later := c.later; later != nil {
		c.later = nil
		last, err = later.Serve()
		c.discard()
		c.finish()
		return last, err
	}
	x := NewExchange(c)
	if err = c.readRequest(&x.Request); err != nil {
		return true, c.refuse(x, err)
	}
	err = c.from.Handler.Serve(x)
	last = x.Last
	c.finish()
	x.Free()
	return last, err
}

// discard drops a plain request from the input.
func (c *Connection) discard() { _, _ = c.in.Discard(c.size) } // all of it is buffered

// finish ends a request that has been read and answered.
func (c *Connection) finish() {
	c.requests++
	c.ended = c.head.last()
	c.head = head{}
}

// readRequest reads the request whose head is buffered. A client that asks before it sends a body may
// continue unless the body is too large for any endpoint.
func (c *Connection) readRequest(r *fasthttp.Request) (err error) {
	most := c.from.MaxBody
	if err = r.Header.Read(c.in); err != nil { // it accepts more than head does
		return bad(wording.Bounded(err.Error()))
	}
	if c.head.length > most {
		return c.largeBody()
	}
	c.inBody = c.head.chunked || c.head.length > 0
	if r.MayContinue() {
		_, _ = c.Output().WriteString("HTTP/1.1 100 Continue\r\n\r\n") // an error is returned again by Flush
		if c.Flush() != nil {
			return net.ErrClosed // the client is gone
		}
	}
	if c.head.chunked {
		var body []byte
		body, err = c.appendChunks(r.SwapBody(nil)[:0], most)
		r.SwapBody(body)
	} else {
		err = r.ContinueReadBody(c.in, most, false)
	}
	if err != nil && c.failed != nil { // fasthttp may have wrapped it
		if err, c.cutOff = c.failed, true; err == io.EOF {
			err = cutShort
		}
	}
	if c.inBody = err != nil; c.hasMore() && c.heldAt.IsZero() {
		c.heldAt = time.Now()
	}
	return err
}

// refuse answers input that never became a request, and returns why. A client that has sent nothing,
// has left, or sent its headers too slowly gets no response.
func (c *Connection) refuse(x *Exchange, err error) error {
	if status, why := c.refusal(err); why != "" {
		x.Last = true
		c.from.Handler.Refuse(x, status, why)
	}
	x.Free()
	return err
}

// refusal returns how input that ended with err is answered; "" for not at all.
func (c *Connection) refusal(err error) (status int, why string) {
	var broken *ProtocolError
	switch {
	case c.unwritten: // the client is gone, and its last request was counted
		return 0, ""
	case errors.As(err, &broken):
		return broken.Status, broken.What
	case !c.inBody, errors.Is(err, net.ErrClosed), errors.Is(sockio.Portable(err), syscall.ECONNRESET):
		return 0, ""
	case errors.Is(err, os.ErrDeadlineExceeded):
		return 408, c.lateness()
	}
	return 400, wording.Bounded(err.Error())
}

// largeBody is the error for a body that is too large for any endpoint.
func (c *Connection) largeBody() error {
	return &ProtocolError{413, "the request body is larger than " + wording.Size(c.from.MaxBody)}
}

// opens looks at the first bytes of a connection. begun means that they may be the beginning of the
// preface of HTTP/2.
func (c *Connection) opens(b []byte) (begun bool, err error) {
	if c.from.Handshake != nil && c.secured == nil {
		switch {
		case b[0] == hello:
			return false, errHello
		case c.from.OnlyTLS:
			c.spoke.Store(true)
			return false, clearText
		}
	}
	switch {
	case c.from.HTTP2 == nil:
		return false, nil
	case bytes.HasPrefix(b, preface):
		c.spoke.Store(true)
		read := bytes.Clone(b)
		_, _ = c.in.Discard(len(b))
		c.Leave(func() { c.from.HTTP2(c, read) })
		return false, io.EOF
	}
	return bytes.HasPrefix(preface, b) && c.failed == nil, nil
}

// preface is what a client sends first if it speaks HTTP/2 from the beginning, RFC 9113 section
// 3.4. In HTTP/1.1 no request begins with it.
var preface = []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

// A connection that waits for a long time is parked: its buffers, which take up most of its memory,
// are released. Only a goroutine that waits for one byte is left.

// park waits until an idle connection must be served again. It reports false if it has closed the
// connection instead.
func (c *Connection) park() bool {
	c.freeBuffers()
	c.large, c.grows = false, false
	c.readInForce = c.TimeOf(c.idleSince + idleTimeout)
	err := c.Conn.SetReadDeadline(c.readInForce)
	c.beginIdle(isAlone)
	if err == nil && c.from.isEnding() {
		err = c.Conn.SetReadDeadline(time.Now().Add(c.from.patience))
	}
	n := 0
	if err == nil {
		n, err = c.Stream().Read(c.first[:])
	}
	if c.leaveIdle(); n == 0 || err != nil {
		c.closeNotify()
		_ = c.CloseNow() // the client expects no response
		return false
	}
	c.held = c.first[:n]
	return true
}

// grow gives the connection a large buffer, into which what is buffered is read again.
func (c *Connection) grow() error {
	if c.flush(); c.unwritten {
		return c.failed
	}
	c.hold()
	c.freeBuffers()
	c.large, c.grows = true, false
	return nil
}

// Exchange is a request and its response.
type Exchange struct {
	Request  fasthttp.Request
	Response fasthttp.Response
	Conn     *Connection // nil in tests
	Last     bool        // the connection closes after the response
}

// keptBody is the size, in bytes, of the largest buffer of a body that is kept for other requests.
const keptBody = 256 << 10

// exchanges holds unused exchanges. fasthttp resets some of the options below with the rest.
var exchanges = sync.Pool{New: func() any {
	x := &Exchange{}
	x.Request.KeepBodyBuffer, x.Response.KeepBodyBuffer = true, true
	return x
}}

// NewExchange returns an empty exchange from the pool.
func NewExchange(conn *Connection) *Exchange {
	x := exchanges.Get().(*Exchange)
	x.Response.Header.SetNoDefaultContentType(true)
	x.Conn = conn
	return x
}

// Free returns an exchange to the pool. What was made from it becomes invalid.
func (x *Exchange) Free() {
	x.Request.ReleaseBody(keptBody)
	x.Request.Reset()
	x.Response.Reset()
	x.Conn, x.Last = nil, false
	exchanges.Put(x)
}
