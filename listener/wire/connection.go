package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// Connection is one accepted connection. Its time-outs for bodies and responses are for a peer that
// stalls: they restart whenever a byte gets through, as long as the rate is high enough.
type Connection struct {
	net.Conn
	from   *Connections
	spoke  atomic.Bool // something was read from it, other than empty lines
	unread atomic.Bool // it was refused while the client may still be sending
	idle   idleness
	// answered means that serving the connection ended with a response to its last request.
	answered atomic.Bool
	upgraded atomic.Bool // it has left HTTP, after the current or last response: see talk

	// Only the goroutine that serves the connection uses the fields below.
	at          part      // what it was last read for
	readExpires time.Time // the read deadline of that part
	readInForce time.Time // the one that the connection has
	readRenewed time.Time // when the deadline of a body was renewed
	// As time since the base of the clock, because they are compared on each request.
	restsUntil   time.Duration // the read deadline of an idle connection, if it is in force; else 0
	idleSince    time.Duration // when it was last read for another request
	writeExpires time.Duration // the write deadline

	bodyBegun time.Time // when the time-out of the body began
	bodyRead  int       // bytes of it
	parked    bool      // it waits outside fasthttp: see park
	first     [1]byte   // the byte that ended the parking
	framing   framing
	ready     int       // how many bytes of the last look are for fasthttp
	restAt    int       // where in them the part begins that has to be passed again
	looked    bool      // what was last read has already been looked at: see stay
	stay      *stay     // nil where it is not possible
	held      []byte    // received bytes that must not be read yet: see take
	store     []byte    // the buffer whose end is held, with what was held before
	heldAt    time.Time // when the last byte of held arrived
	arrived   time.Time // when the current request arrived, if it was held; otherwise when it is served
	deaf      bool      // the client has finished sending
	left      bool      // the client left, or the server ended, while its request waited
	over      error     // ends reading: a protocol error, or io.EOF after the last request
	told      bool      // over was returned
	behind    bool      // more bytes came after the last request
	failed    error     // the error of the connection that ended reading
	cutOff    bool      // reading failed inside a request
	unwritten bool      // the last response of a plain request could not be written whole
	rested    bool      // reading ended when it was idle, or about to be, with all responses sent
	// after is called once the response has been written, at written, or if it cannot be written.
	after   func(written time.Time)
	written time.Time

	talk func() // what the connection runs once it has left HTTP

	pausing pausing

	spoils string // the fault to apply to the response when it is written; "" for none
	struck bool   // a fault has ended the connection

	shard  uint32        // the shard that its requests are counted in
	timed  bool          // the times of reads are noted
	readAt time.Duration // time of the last noted read, since the base of the clock

	// Above is whatever the server stores with the connection.
	Above any
	// Begun is the server's state of a plain request that Plain did not answer.
	Begun any
}

// Limits for clients.
const (
	// MaxHeader is the maximum size of the request line and headers, in bytes, and the size of a
	// connection's read buffer.
	MaxHeader     = 64 << 10
	headerTimeout = 10 * time.Second
	// idleTimeout outlasts the connection pools of the clients under test: if the server closes
	// first, their next request fails.
	idleTimeout = 10 * time.Minute
	// bodyTimeout is how long a body may stall.
	bodyTimeout = 30 * time.Second
	// writeTimeout is how long a response may stall.
	writeTimeout = 30 * time.Second
	// slowTime is how long a body or a response may take regardless of its rate. slowRate is the
	// minimum rate, in bytes a second, of one that takes longer.
	slowTime = 10 * time.Minute
	slowRate = 1 << 10
	// renewal is how imprecise a deadline may be, so that it is not set again for each byte or
	// small response.
	renewal = time.Second
	// parkTime is the minimum time that a connection waits for a request before the resources that
	// serve it are released. It may be twice as long.
	parkTime = 5 * time.Second

	// lastMoment is the minimum time that a connection may still send when the server stops, if it
	// never sent anything or has just received its last response.
	lastMoment = 100 * time.Millisecond

	// lingerTime and lingerSize limit what a refused client may still send.
	lingerTime = 2 * time.Second
	lingerSize = 256 << 20 // bytes
)

// Read reads what the client sent, as far as it is valid: a head is returned whole, and nothing
// after a protocol error. That protocol error is then the error returned.
func (c *Connection) Read(b []byte) (int, error) {
	if c.after != nil { // fasthttp has written the response: it reads after that
		c.release()
	}
	if c.upgraded.Load() {
		return 0, errParked // fasthttp takes the connection as ended
	}
	switch {
	case c.unwritten:
		return 0, c.failed
	case c.over != nil:
		c.told = true
		return 0, c.over
	}
	for n := 0; ; {
		got, err := c.more(b, n)
		n += got
		if !c.looked {
			if done, failed := c.look(b, n, err); failed != nil {
				return 0, failed
			} else if done {
				n = 0
				continue
			}
		}
		c.looked = false
		ready, rest := c.ready, c.restAt
		switch {
		case c.over != nil && ready > 0:
			return ready, nil
		case c.over != nil:
			c.told = true
			return 0, c.over
		case ready > 0 && rest < n:
			c.hold(b[rest:n])
			return ready, err
		case ready > 0 || err != nil:
			return ready, err
		case n == len(b) && rest == 0: // fasthttp reports it too, once its buffer is full
			c.over = largeHead
			return n, nil
		}
		if n -= rest; rest > 0 {
			copy(b, b[rest:rest+n])
		}
	}
}

// look passes the n bytes in b to take, and a plain request to Plain. It reports whether a request
// was answered. The error is a write error.
func (c *Connection) look(b []byte, n int, err error) (done bool, failed error) {
	if c.timed {
		c.readAt = c.from.clock.exactly()
	}
	c.framing.single = c.from.Single() // as it is now: a reload may have come while nothing else did
	if err != nil || !c.framing.again(b[:n]) {
		c.ready, c.restAt = c.take(b[:n], err)
	}
	if !c.framing.isPlain || c.from.Plain == nil || err != nil {
		return false, nil
	}
	c.framing.plain.Bytes = b[:n:len(b)]
	if done, failed = c.from.Plain(c, &c.framing.plain); failed != nil {
		c.failed, c.unwritten = failed, true
		return false, failed
	}
	if done && c.after != nil {
		c.release()
	}
	return done, nil
}

// more adds to the n bytes in b: held bytes, which may be enough, or newly received ones.
func (c *Connection) more(b []byte, n int) (int, error) {
	if len(c.held) == 0 {
		c.store, c.arrived = nil, time.Time{}
		return c.receive(b, n)
	}
	got := copy(b[n:], c.held)
	if c.held = c.held[got:]; len(c.held) == 0 {
		c.held = nil
	}
	c.arrived = c.heldAt
	return got, nil
}

// hold puts b back in front of the held bytes, in place if b was among them.
func (c *Connection) hold(b []byte) {
	if before := len(c.store) - len(c.held); before >= len(b) {
		c.held = c.store[before-len(b):]
		copy(c.held, b)
		return
	}
	if len(c.held) == 0 {
		c.heldAt = time.Now()
	}
	c.held = append(append([]byte(nil), b...), c.held...)
	c.store = c.held
}

// take passes the received bytes to wire's framing and stores what ends reading: its error, or an
// end inside a request. err is the error of reading.
func (c *Connection) take(b []byte, err error) (ready, rest int) {
	ready, rest, c.over = c.framing.take(b)
	inside := c.framing.inside(b[rest:])
	if (inside || ready > 0 || c.over != nil) && !c.spoke.Load() {
		c.spoke.Store(true)
	}
	c.cutOff = inside && err != nil
	if c.over == nil && inside && err == io.EOF {
		c.over = cutShort
		if rest < len(b) {
			ready = expose(b, ready)
		}
	}
	c.behind = c.over != nil && rest < len(b)
	return ready, rest
}

// AfterWrite sets f to be called once the current response has been written, or cannot be.
func (c *Connection) AfterWrite(f func(written time.Time)) { c.after = f }

// release calls the function that waits for the response to be written: when the connection is read
// again, or ends, it has been.
func (c *Connection) release() {
	after, written := c.after, c.written
	c.after, c.written = nil, time.Time{}
	if after == nil {
		return
	}
	if written.IsZero() {
		written = time.Now()
	}
	after(written)
}

// What an answer may ask of the connection that its request came by follows. A nil one is
// that of a request which came by none, in a test: it does not wait, and nothing can be
// done to it.

// HasLeft reports whether the client is gone, so that no response is needed.
func (c *Connection) HasLeft() bool { return c != nil && c.left }

// Shard numbers the connection, for counters that are split into shards.
func (c *Connection) Shard() uint32 {
	if c == nil {
		return 0
	}
	return c.shard
}

// Arrived returns when the current request arrived, if that was before serving it began, because
// another request of the connection was being served. Otherwise it is zero.
func (c *Connection) Arrived() time.Time {
	if c == nil {
		return time.Time{}
	}
	return c.arrived
}

// Chooses reports whether the request may have a header that selects a response of an operation:
// Prefer, or an Accept that is selective. It is cheaper than looking at the headers.
func (c *Connection) Chooses() (prefers, accepts bool) {
	if c == nil {
		return true, true
	}
	return c.framing.preferred, c.framing.accepted
}

// IsAlone reports whether only the response to this request is about to be written, so that a fault
// in it affects no other.
func (c *Connection) IsAlone() bool { return c != nil && c.framing.single }

// IsEnding reports whether the server accepts no more connections.
func (c *Connection) IsEnding() bool { return c.from.isEnding() }

// ReadHeld reads what arrived after the current request, if anything did.
func (c *Connection) ReadHeld(b []byte) int {
	n := copy(b, c.held)
	if c.held = c.held[n:]; len(c.held) == 0 {
		c.held, c.store = nil, nil
	}
	return n
}

// NoteReads turns the noting of read times on or off. The first time is that of the call: the
// request was read a tenth of a microsecond before.
func (c *Connection) NoteReads(on bool) {
	if on && !c.timed {
		c.readAt = c.from.clock.exactly()
	}
	c.timed = on
}

// LastRead returns when the connection was last read, since the base of its clock, and how long ago
// that is.
func (c *Connection) LastRead() (at, ago time.Duration) {
	return c.readAt, c.from.clock.exactly() - c.readAt
}

// ReadAt returns when the connection was last read, while read times are noted.
func (c *Connection) ReadAt() time.Time { return c.TimeOf(c.readAt) }

// TimeOf converts a time that LastRead returned.
func (c *Connection) TimeOf(at time.Duration) time.Time { return c.from.clock.base.Add(at) }

// Date is the time in the format of the Date header, to the second.
func (c *Connection) Date() []byte { return *c.from.clock.date.Load() }

// HasSpoken reports whether anything was read from the connection, other than empty lines.
func (c *Connection) HasSpoken() bool { return c.spoke.Load() }

// Refuse notes that the client is refused while it may still be sending.
func (c *Connection) Refuse() { c.unread.Store(true) }

// IsInBody reports whether the last read was for a body.
func (c *Connection) IsInBody() bool { return c.at.kind == inBody }

// Cause returns what ended reading: the error of Read, which fasthttp does not always pass on, or
// else err.
func (c *Connection) Cause(err error) error {
	switch {
	case c.told:
		return c.over
	case c.failed != nil:
		return c.failed
	}
	return err
}

// Serve serves the connection to its end with serve, which it calls again when a parked connection
// is needed again.
func (c *Connection) Serve(serve func(net.Conn) error) error {
	defer c.release()
	var err error
	for {
		err = serve(c)
		if c.upgraded.Load() {
			c.talk()
			err = nil
			break
		}
		if !c.parked || !c.unpark() {
			break
		}
	}
	c.answered.Store((err == nil || c.struck || c.rested) && !c.cutOff && !c.unwritten)
	return err
}

// Leave makes the connection leave HTTP after the current response, and run talk.
func (c *Connection) Leave(talk func()) {
	c.talk = talk
	c.answered.Store(true) // the request was served, whatever becomes of the connection
	c.upgraded.Store(true)
}

// IsUnanswered reports whether the connection was cut off in a request that had no response.
func (c *Connection) IsUnanswered() bool {
	return c.spoke.Load() && !c.idle.now() && !c.unread.Load() && !c.answered.Load()
}

// Write writes b as long as the client keeps reading, at a sufficient rate.
func (c *Connection) Write(b []byte) (int, error) {
	if c.spoils != "" {
		return 0, c.strike(b)
	}
	written := 0
	begun := c.from.clock.elapsed()
	for now := begun; ; now = c.from.clock.exactly() {
		if c.writeExpires-now < writeTimeout+clockTick {
			c.writeExpires = now + writeTimeout + 10*renewal
			_ = c.Conn.SetWriteDeadline(c.TimeOf(c.writeExpires)) // if this fails, writing fails too
		}
		n, err := c.write(b[written:])
		written += n
		if c.after != nil {
			c.written = time.Now()
		}
		if n == 0 || !errors.Is(err, os.ErrDeadlineExceeded) || c.from.clock.exactly()-begun > longest(written)+clockTick {
			return written, err
		}
	}
}

// Close closes the connection and forgets it. A client that was refused, sends more after its last
// request, or learns only now that the connection ends may still be sending. Closing at once would
// make its system discard the response, so what it sends is read first, for a while. A connection
// that is parked, or has left HTTP, stays open.
func (c *Connection) Close() error {
	if c.parked || c.upgraded.Load() {
		return nil
	}
	c.release() // discarding may take long
	ended := c.from.isEnding() && c.spoke.Load() && !c.rested
	if c.unread.Load() || c.behind || ended || c.struck {
		c.Discard()
	}
	return c.CloseNow()
}

// CloseNow closes the connection at once, even during a request, and forgets it.
func (c *Connection) CloseNow() error {
	c.from.forget(c)
	c.pausing.end()
	if err := c.Conn.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil // the server ended first
}

// Discard ends sending to the client, and reads what the client sends until it ends too.
func (c *Connection) Discard() {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || c.Conn.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, c.Conn, lingerSize) // closing follows whatever happens
}

// strike does what a fault does instead of writing b, the beginning of an answer.
func (c *Connection) strike(b []byte) error {
	fault := c.spoils
	c.spoils, c.struck = "", true
	c.answered.Store(true) // this is the answer it was to have
	switch fault {
	case reset:
		if tcp, ok := c.Conn.(interface{ SetLinger(seconds int) error }); ok {
			_ = tcp.SetLinger(0) // closing sends RST then; it is closed if this fails too
		}
		_ = c.CloseNow() // it is gone either way
	case malformed:
		_, _ = c.Write([]byte(noAnswer)) // a client that does not get it gets no answer either
	case Truncate: // the answer is a head alone: clients take headers that end early for all of them
		line, _, _ := bytes.Cut(b, []byte("\r\n"))
		_, _ = c.Write(line[:len(line)/2])
	}
	return errStruck
}
