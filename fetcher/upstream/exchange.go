package upstream

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"mockserver/dispatcher/client"
	"mockserver/internal/clienttls"
	"mockserver/matcher"
)

// Short is how long a body may be, in bytes, to be read whole before any of it is passed on.
const Short = 64 << 10

const (
	// patience is how long an answer may take before the client is watched meanwhile. Until then it
	// may have left unnoticed.
	patience = 50 * time.Millisecond
	// grace is how long to wait for an answer if the request could not be written completely: the
	// upstream may have answered before that.
	grace = 10 * time.Millisecond
	// writtenAtOnce is the largest body, in bytes, that is written before the answer is read. An
	// upstream may answer before it has read a larger one.
	writtenAtOnce = 64 << 10
)

// Why there is no answer to pass on. Others are those of connecting, reading and parsing.
var (
	ErrLeft    = errors.New("the client left")
	ErrLoop    = errors.New("the request has passed through this server before: its upstream leads back to it")
	ErrUpgrade = errors.New("an Upgrade is not passed on")
	// ErrTimeout is wrapped by the errors of requests that took too long.
	ErrTimeout = errors.New("time-out")

	errTarget        = errors.New("the path to ask for is not one: it has to begin with /, and to be printable ASCII without blanks and #")
	errRequestHeader = errors.New("a header of the request holds a control character")
	errTooLarge      = errors.New("the answer is too large to be kept in memory, which its fault needs")
	errNoPlace       = fmt.Errorf("%w: no connection was free in time", ErrTimeout)
)

// Asked is a request to pass on.
type Asked struct {
	Request   *matcher.Request
	Target    []byte // the path and query to ask for; nil for those of the request
	Forwarded bool   // X-Forwarded-For, -Host and -Proto are sent
	Waiter    Waiter // the client's connection; nil for none, whose end is not noticed
	Room      []byte // where the body of the answer is put, as far as it is large enough
	// Most, if above 0, has the whole body read, up to so many bytes.
	Most int64
}

func (a *Asked) scheme() string {
	if a.Request.In.TLS != nil {
		return "https"
	}
	return "http"
}

// Exchange is one request to an upstream and its answer. It belongs to one goroutine, and may be
// used again after Close.
type Exchange struct {
	Status int
	Reason []byte  // of the status line
	Fields []Field // without those that concern the connection, Content-Length and Transfer-Encoding
	// Length is that of the body, of HEAD and 304 the one that was announced; -1 if it is not known.
	Length int64
	// Body is the body if Whole is set, otherwise its beginning. The rest comes from Read.
	Body  []byte
	Whole bool

	Waited    time.Duration // for a place
	Connected time.Duration // from having it to having a connection
	Sent      time.Time     // when there was a connection
	First     time.Time     // when the first byte of the answer came; zero for none
	UnderWay  int64         // requests at the upstream when this one began, itself included

	upstream *Upstream
	conn     *client.Conn
	asks     bool      // conn.Ask sends the request; else conn has its deadlines
	from     io.Reader // conn, or another one in tests
	deadline time.Time
	hurried  bool   // the read deadline is before deadline
	out      []byte // the request
	head     int    // the length of its head
	named    [][]byte

	in         []byte // all of its length is used
	base, r, w int    // where the body begins, and what is read but not used
	hasty      bool   // reading must not wait

	framing   framing
	left      int64 // of the body, or of the current chunk
	chunkEnds bool  // the end of a chunk is due
	trailing  bool  // the last chunk was read
	trailers  int   // bytes of trailers
	ended     bool
	closes    bool // the connection cannot be used again
	keeps     bool // the upstream says that it keeps it open

	writing chan error // of the goroutine that writes a large body; nil for none
}

var exchanges = sync.Pool{New: func() any { return &Exchange{in: make([]byte, headRoom)} }}

// NewExchange returns an unused exchange.
func NewExchange() *Exchange {
	x := exchanges.Get().(*Exchange)
	x.base, x.r, x.w = 0, 0, 0
	return x
}

// Free closes the exchange and gives it back. Nothing that it returned may be used afterwards.
func (x *Exchange) Free() {
	x.Close()
	in, out, fields, named := x.in, x.out[:0], x.Fields[:0], x.named[:0]
	if len(in) > keptRoom || cap(out) > keptRoom {
		return
	}
	*x = Exchange{in: in, out: out, Fields: fields, named: named}
	exchanges.Put(x)
}

// Scratch returns memory that the exchange no longer needs, until it is freed.
func (x *Exchange) Scratch() []byte { return x.out[:0] }

// Do sends a request and reads the head of its answer, and its body if that is short. In case of an
// error the exchange is over; otherwise Close has to be called.
func (u *Upstream) Do(x *Exchange, a *Asked) (err error) {
	x.upstream = u
	x.UnderWay = u.UnderWay.Add(1)
	begun := time.Now()
	x.deadline = u.deadline(begun)
	if x.out, err = u.appendHead(x.out[:0], a); err != nil {
		x.end(nil)
		return err
	}
	x.head = len(x.out)
	waited, err := u.places.enter(a.Waiter, x.deadline)
	if waited {
		x.Waited = time.Since(begun)
	}
	if err != nil {
		x.end(nil)
		return err
	}
	if err = x.ask(a, begun.Add(x.Waited)); err == nil {
		x.keepHead()
		err = x.readWhole(a.Room, a.Most)
	}
	if err != nil {
		x.closes = true
		err = x.cause(err)
		x.end(&u.places)
		return err
	}
	if x.Whole {
		x.Close()
	}
	return nil
}

// ask sends the request and reads the head. It does so once more, over a new connection, if one that
// was idle ended without an answer, and the method is safe to repeat.
func (x *Exchange) ask(a *Asked, placed time.Time) (err error) {
	u := x.upstream
	for err = client.ErrStale; err == client.ErrStale; {
		if err = x.connect(len(a.Request.In.Body)); err != nil {
			return err
		}
		if err = x.once(a, placed); err == client.ErrStale {
			u.pool.Drop(x.conn)
		}
	}
	if err == nil || !x.First.IsZero() || !x.conn.Kept() || x.writing != nil || !isSafe(a.Request.In.Method) || isTimeout(err) || errors.Is(err, ErrLeft) {
		return err
	}
	u.pool.Drop(x.conn)
	if x.conn, err = u.pool.Dial(u.target, clienttls.Files{}, x.deadline); err != nil {
		return err
	}
	x.r, x.w = 0, 0
	return x.once(a, placed)
}

// connect gets a connection for a request, which a short body is a part of.
func (x *Exchange) connect(body int) (err error) {
	u := x.upstream
	if x.asks = body <= writtenAtOnce; !x.asks {
		x.conn, err = u.pool.Get(u.target, clienttls.Files{}, x.deadline)
		return err
	}
	if x.conn, err = u.pool.Take(u.target, clienttls.Files{}, x.deadline); err == nil {
		x.asks = x.conn.Asks()
	}
	return err
}

func (x *Exchange) once(a *Asked, placed time.Time) error {
	x.from, x.Sent = x.conn, time.Now()
	x.Connected = x.Sent.Sub(placed)
	err := x.exchange(a)
	var broken *client.SendError
	switch {
	case errors.As(err, &broken):
		x.hurried = false
		_ = x.conn.SetReadDeadline(time.Now().Add(grace)) // the upstream may have answered; if this fails, reading does
		if x.readHead(a.Request.In.Method) != nil {
			return broken.Err
		}
		x.closes, x.First = true, time.Now()
		return x.conn.SetReadDeadline(x.deadline)
	case err != nil:
		return err
	}
	return x.readHead(a.Request.In.Method)
}

// exchange sends the request and waits for the first byte of the answer. The client is watched once
// that takes longer.
func (x *Exchange) exchange(a *Asked) error {
	x.hurried = false
	if early := x.Sent.Add(patience); a.Waiter != nil && early.Before(x.deadline) {
		x.hurried = true
		_ = x.conn.SetReadDeadline(early) // if it fails, reading does
	}
	body := a.Request.In.Body
	var n int
	var err error
	if x.asks {
		if !x.hurried {
			_ = x.conn.SetReadDeadline(x.deadline) // likewise
		}
		x.out = append(x.out[:x.head], body...)
		var sent bool
		n, sent, err = x.conn.Ask(x.out, x.in[x.w:], x.deadline)
		if !sent && x.hurried && errors.Is(err, os.ErrDeadlineExceeded) { // the process stood still meanwhile
			x.unhurry()
			n, sent, err = x.conn.Ask(x.out, x.in[x.w:], x.deadline)
		}
		if err != nil && !sent {
			return err
		}
	} else {
		if err := x.send(body); err != nil {
			return &client.SendError{Err: err}
		}
		n, err = x.conn.Read(x.in[x.w:])
	}
	if n == 0 && x.hurried && errors.Is(err, os.ErrDeadlineExceeded) && time.Now().Before(x.deadline) {
		n, err = x.readWatching(a.Waiter)
	}
	if x.w += n; n > 0 {
		x.First = time.Now()
		return nil
	}
	return unexpected(err)
}

// unhurry lets reads take as long as the whole may.
func (x *Exchange) unhurry() {
	if x.hurried {
		x.hurried = false
		_ = x.conn.SetReadDeadline(x.deadline) // if it fails, reading does
	}
}

// send writes the head and the body. A goroutine writes a large body while the answer is awaited.
func (x *Exchange) send(body []byte) error {
	if len(body) <= writtenAtOnce {
		x.out = append(x.out[:x.head], body...)
		_, err := x.conn.Write(x.out)
		return err
	}
	if _, err := x.conn.Write(x.out[:x.head]); err != nil {
		return err
	}
	conn, writing := x.conn, make(chan error, 1)
	x.writing = writing
	go func() {
		_, err := conn.Write(body)
		writing <- err
	}()
	return nil
}

// readWatching reads the beginning of the answer, unless the client leaves.
func (x *Exchange) readWatching(w Waiter) (n int, err error) {
	conn, into := x.conn, x.in[x.w:]
	return x.watching(w, func() (int, error) { return conn.Read(into) })
}

// ReadWatching is like Read, but returns ErrLeft as soon as the client leaves, however long the
// upstream is silent.
func (x *Exchange) ReadWatching(p []byte, w Waiter) (int, error) {
	return x.watching(w, func() (int, error) { return x.Read(p) })
}

// watching reads in another goroutine, while this one notices when the client leaves.
func (x *Exchange) watching(w Waiter, read func() (int, error)) (n int, err error) {
	type result struct {
		n   int
		err error
	}
	done, woken := make(chan result, 1), make(chan struct{})
	conn := x.conn
	if conn != nil { // nil if all of it has come
		x.unhurry()
	}
	go func() {
		defer close(woken)
		n, err := read()
		done <- result{n, err}
		w.Wake()
	}()
	for {
		left := w.Wait()
		if left {
			if conn != nil {
				_ = conn.SetReadDeadline(time.Unix(1, 0)) // ends the read; if it fails, the connection has ended
			}
			<-woken
			return 0, ErrLeft
		}
		select {
		case r := <-done:
			<-woken // then nobody uses the Waiter any more
			return r.n, r.err
		default:
		}
	}
}

// readConn reads from the connection.
func (x *Exchange) readConn(p []byte) (int, error) {
	x.unhurry()
	n, err := x.from.Read(p)
	if n > 0 {
		err = nil // it comes again
	}
	return n, err
}

// cause returns what is said of an error of the connection.
func (x *Exchange) cause(err error) error {
	switch {
	case isTimeout(err) && !errors.Is(err, ErrTimeout):
		return fmt.Errorf("%w: the answer was not complete within %v", ErrTimeout, x.upstream.timeout)
	case err == io.ErrUnexpectedEOF && x.First.IsZero():
		return errors.New("the upstream closed the connection without an answer")
	case err == io.ErrUnexpectedEOF:
		return errors.New("the upstream closed the connection before its answer was complete")
	case err == errStatus && x.w > 0:
		return fmt.Errorf("%w: it begins with %s", err, quoted(x.in[:x.w]))
	}
	return err
}

func isTimeout(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, ErrTimeout) || isContextTimeout(err)
}

// isContextTimeout reports whether dialing took too long.
func isContextTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

// isSafe reports whether a request may be repeated.
func isSafe(method []byte) bool {
	switch string(method) {
	case "GET", "HEAD", "OPTIONS":
		return true
	}
	return false
}

// Close ends the exchange. A connection whose answer was read to its end is kept. It may be called
// more than once.
func (x *Exchange) Close() {
	if x.upstream == nil {
		return
	}
	x.closes = x.closes || !x.Whole && !x.over() || x.r < x.w
	x.end(&x.upstream.places)
}

// over reports whether the body was read to its end.
func (x *Exchange) over() bool {
	return x.framing == noBody || x.framing == sized && x.left == 0 || x.framing == chunked && x.ended
}

// end gives up the connection and the place.
func (x *Exchange) end(p *places) {
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
	if p != nil {
		p.leave()
	}
	u.UnderWay.Add(-1)
}
