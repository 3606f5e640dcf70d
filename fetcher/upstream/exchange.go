package upstream

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"mockserver/dispatcher/client"
	"mockserver/internal/events"
	"mockserver/internal/http1"
)

const (
	// headRoom is the size of the buffer that answers are read into, in bytes. It grows for a longer
	// head.
	headRoom = 4 << 10
	// keptRoom is the largest buffer that is kept, in bytes.
	keptRoom = 32 << 10
)

// Exchange is one request to an upstream and its answer. It belongs to one goroutine, and must not
// be used after Free.
type Exchange struct {
	Status int
	Reason []byte  // of the status line
	Fields []Field // without Content-Length, Transfer-Encoding and those that concern the connection
	// Length is the length of the body, or the announced one for HEAD and 304; -1 if unknown.
	Length int64
	// Body is the body if Whole is set, otherwise its beginning. Read returns the rest.
	Body  []byte
	Whole bool
	// Streamed means that the body is passed on as it arrives: events, lines, or a body of unknown length.
	Streamed bool
	Framing  events.Framing // of the body

	Waited    time.Duration // how long the request waited for a place
	Connected time.Duration // how long it then took to get a connection
	Sent      time.Time     // when the request had a connection
	First     time.Time     // when the first byte of the answer arrived; zero if none did
	UnderWay  int64         // requests at the upstream when this one began, including this one
	Ends      time.Time     // when a streamed body must be complete; it may be set to an earlier time

	upstream *Upstream
	placed   bool // it has a place at the upstream
	conn     *client.Conn
	asks     bool      // conn.Ask sends the request; otherwise deadlines are set on conn
	from     io.Reader // conn, except in tests
	deadline time.Time
	hurried  bool   // the read deadline is before deadline
	waiter   Waiter // the client, while Do has not returned
	out      []byte // the request
	headSize int    // of the request
	named    [][]byte

	in     []byte // what was received, from the head of the answer on; the rest of a body is not
	r      int    // how much of it was used
	head   http1.Head
	body   http1.Body
	closes bool // the connection cannot be used again
	coded  bool // the body has a content encoding

	writing chan error // from the goroutine that writes a large body; nil if there is none
}

var exchanges = sync.Pool{New: func() any { return &Exchange{in: make([]byte, 0, headRoom)} }}

// NewExchange returns an unused exchange.
func NewExchange() *Exchange { return exchanges.Get().(*Exchange) }

// Free closes the exchange and returns it to the pool. Nothing that it returned may be used
// afterwards.
func (x *Exchange) Free() {
	x.Close()
	in, out, fields, named := x.in[:0], x.out[:0], x.Fields[:0], x.named[:0]
	if cap(in) > keptRoom || cap(out) > keptRoom {
		return
	}
	*x = Exchange{in: in, out: out, Fields: fields, named: named}
	exchanges.Put(x)
}

// Scratch returns memory that the exchange no longer needs. The memory may be used until the
// exchange is freed.
func (x *Exchange) Scratch() []byte { return x.out[:0] }

// Splitter returns what finds the pieces of the body. Those of a coded one are what arrives together.
func (x *Exchange) Splitter() (s events.Splitter) {
	if !x.coded {
		s.Framing = x.Framing
	}
	return s
}

// unhurry extends the read deadline to the deadline of the exchange.
func (x *Exchange) unhurry() {
	if x.hurried {
		x.hurried = false
		_ = x.conn.SetReadDeadline(x.deadline) // if this fails, so does reading
	}
}

// extend sets the deadline for the next piece of a streamed body.
func (x *Exchange) extend() {
	if x.deadline = x.upstream.Deadline(time.Now()); x.Ends.Before(x.deadline) {
		x.deadline = x.Ends
	}
	x.hurried = true
}

// readConn reads from the connection. Within Do, it also watches the client once the answer takes
// longer than patience.
func (x *Exchange) readConn(p []byte) (n int, err error) {
	if x.waiter == nil {
		x.unhurry()
	}
	if x.waiter == nil || x.hurried {
		n, err = x.from.Read(p)
	}
	if n == 0 && x.waiter != nil && (!x.hurried || errors.Is(err, os.ErrDeadlineExceeded)) {
		n, err = x.watching(x.waiter, x.conn.Read, p)
	}
	if n > 0 {
		err = nil // the next read returns it again
	}
	return n, err
}

// cause returns the error to report for an error from the connection.
func (x *Exchange) cause(err error) error {
	switch {
	case isTimeout(err) && !errors.Is(err, ErrTimeout) && x.Streamed && !time.Now().Before(x.Ends):
		return fmt.Errorf("%w: the answer was not complete within the max-duration of %v", ErrTimeout, x.upstream.maxDuration)
	case isTimeout(err) && !errors.Is(err, ErrTimeout) && x.Streamed:
		return fmt.Errorf("%w: nothing more of the answer arrived for %v", ErrTimeout, x.upstream.timeout)
	case isTimeout(err) && !errors.Is(err, ErrTimeout):
		return fmt.Errorf("%w: the answer was not complete within %v", ErrTimeout, x.upstream.timeout)
	case err == io.ErrUnexpectedEOF && x.First.IsZero():
		return errors.New("the upstream closed the connection without an answer")
	case err == io.ErrUnexpectedEOF:
		return errors.New("the upstream closed the connection before its answer was complete")
	case err == http1.ErrStatus && len(x.in) > 0:
		return fmt.Errorf("%w: it begins with %s", err, http1.Quoted(x.in))
	}
	return err
}

// isTimeout reports whether connecting, reading or writing took too long.
func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.Is(err, ErrTimeout) || errors.As(err, &timeout) && timeout.Timeout()
}

// Close ends the exchange. The connection is kept if its answer was read completely. Close may be
// called more than once.
func (x *Exchange) Close() {
	if x.upstream == nil {
		return
	}
	x.closes = x.closes || !x.body.Over() || x.r < len(x.in)
	x.end()
}

// end releases the connection and the place, if the exchange has them.
func (x *Exchange) end() {
	u := x.upstream
	x.upstream = nil
	writes := false
	if x.writing != nil {
		select {
		case err := <-x.writing:
			x.closes = x.closes || err != nil
		default:
			writes, x.closes = true, true
		}
	}
	if c := x.conn; c != nil {
		if x.closes || u.retired.Load() {
			u.pool.Drop(c)
		} else {
			u.pool.Put(c)
		}
	}
	if writes {
		<-x.writing // the body belongs to the request
	}
	x.conn, x.writing = nil, nil
	if x.placed {
		x.placed = false
		u.places.Leave(time.Time{})
	}
	u.UnderWay.Add(-1)
}
