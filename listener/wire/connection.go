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

// Connection is one accepted connection. Its time-outs for bodies and answers are
// for a peer that stands still: they begin anew whenever a byte gets through, for as
// long as enough of them do.
type Connection struct {
	net.Conn
	from   *Connections
	spoke  atomic.Bool // something was read from it, beside empty lines
	unread atomic.Bool // it was refused while it may still be sending
	idle   idleness
	// answered means that serving it has ended with an answer to its last request.
	answered atomic.Bool
	upgraded atomic.Bool // it has left HTTP, after the answer that comes or came last: see talk

	// The goroutine that serves the connection alone has these.
	at          part      // what it was last read for
	readExpires time.Time // the read deadline of that part
	readInForce time.Time // the one that the connection has
	readRenewed time.Time // when the one of a body was renewed
	// In time since the base of the clock, which is compared for each request.
	restsUntil   time.Duration // the read deadline of an idle connection, if it is in force; else 0
	idleSince    time.Duration // when it was last read for another request
	writeExpires time.Duration // the write deadline

	bodyBegun time.Time // when the time of the body began
	bodyRead  int       // bytes of it
	parked    bool      // it waits without fasthttp: see park
	first     [1]byte   // what ended that
	framing   framing
	ready     int       // bytes of what was looked at last that are for fasthttp
	restAt    int       // where in it the part begins that is to come again
	looked    bool      // what was read last was looked at already: see stay
	stay      *stay     // nil where it cannot be
	held      []byte    // what is not to be read yet of what came: see take
	store     []byte    // what held is the end of, and what was held before
	heldAt    time.Time // when the last of it came
	arrived   time.Time // when the request that is served came, if it was held; else when it is served
	deaf      bool      // the client has ended what it sends
	left      bool      // it left, or the server ended, while its request waited
	over      error     // ends reading: a protocol error, or io.EOF after the last request
	told      bool      // over was returned
	behind    bool      // something came after the last request
	failed    error     // of the connection: reading ended with it
	cutOff    bool      // it did so inside a request
	rested    bool      // reading ended when it was idle, or about to be, all answers being sent
	// after is called once the answer is written, which was at written, or is not yet.
	after   func(written time.Time)
	written time.Time

	talk func() // what it goes on with once it has left HTTP

	pausing pausing

	spoils string // the fault that happens to the answer when it is written; "" for none
	struck bool   // a fault has ended the connection

	shard  uint32        // that its requests are counted in
	timed  bool          // when it is read is noted
	readAt time.Duration // when it was, since the base of the clock

	// Above is whatever the server keeps with the connection.
	Above any
	// Begun is whatever the server has of a plain request that it has not answered by Plain.
	Begun any
}

// Bounds of what a client may take.
const (
	// MaxHeader is the largest request line and headers, in bytes, and the size of the
	// buffer that a connection is read into.
	MaxHeader     = 64 << 10
	headerTimeout = 10 * time.Second
	// idleTimeout outlasts the pools of the clients under test: a server that closes first
	// makes their next request fail.
	idleTimeout = 10 * time.Minute
	// bodyTimeout is how long a body may stand still.
	bodyTimeout = 30 * time.Second
	// writeTimeout is how long an answer may stand still.
	writeTimeout = 30 * time.Second
	// slowTime is how long a body or an answer may take however little of it gets
	// through, and slowRate what has to get through, in bytes a second, of one that
	// takes longer.
	slowTime = 10 * time.Minute
	slowRate = 1 << 10
	// renewal is how far a deadline may be off, so that it is not set anew for each
	// byte or small answer.
	renewal = time.Second
	// parkTime is how long at least a connection waits for a request before what
	// serves it is given back. It may be twice as long.
	parkTime = 5 * time.Second

	// lastMoment is how long at least a connection may still speak, when the server stops,
	// that never spoke, or has its last answer only then.
	lastMoment = 100 * time.Millisecond

	// lingerTime and lingerSize bound what a refused client may still send.
	lingerTime = 2 * time.Second
	lingerSize = 256 << 20 // bytes
)

// Read reads what the client sent, as far as it is sound: a head comes whole, and
// nothing that comes after a protocol error. The error is that one then.
func (c *Connection) Read(b []byte) (int, error) {
	if c.after != nil { // fasthttp has written what answers them: it reads after that
		c.release()
	}
	if c.upgraded.Load() {
		return 0, errParked // for fasthttp it has ended
	}
	if c.over != nil {
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
		case n == len(b) && rest == 0: // fasthttp says it too, once its buffer is full
			c.over = largeHead
			return n, nil
		}
		if n -= rest; rest > 0 {
			copy(b, b[rest:rest+n])
		}
	}
}

// look has wire take the n bytes that b holds, and a plain request be answered. It reports
// whether one was. The error is that of writing.
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
		c.failed = failed
		return false, failed
	}
	if done && c.after != nil {
		c.release()
	}
	return done, nil
}

// more adds to the n bytes that b holds: what was held, which may be enough, or else
// what comes.
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

// hold puts b before what is held: where it was held, if it was.
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

// take has wire take what came, and keeps what ends reading: what wire says, or an
// end that comes inside a request. An error of reading is given.
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

// AfterWrite has f called once the answer that is being made is written, or cannot be.
func (c *Connection) AfterWrite(f func(written time.Time)) { c.after = f }

// release calls what waits for the answer to be written: whoever reads again, or ends, has
// written it.
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

// HasLeft reports whether nobody is there to be answered any more.
func (c *Connection) HasLeft() bool { return c != nil && c.left }

// Shard numbers the connection, for counters that are kept in several places.
func (c *Connection) Shard() uint32 {
	if c == nil {
		return 0
	}
	return c.shard
}

// Arrived is when the request that is served came, if that was before it began to be
// served: while another one of the connection was. Otherwise it is zero.
func (c *Connection) Arrived() time.Time {
	if c == nil {
		return time.Time{}
	}
	return c.arrived
}

// Chooses reports whether the request may have a header by which answers of an operation
// are chosen: Prefer, or an Accept that says something. It costs less than to look.
func (c *Connection) Chooses() (prefers, accepts bool) {
	if c == nil {
		return true, true
	}
	return c.framing.preferred, c.framing.accepted
}

// IsAlone reports whether nothing but the answer to this request is to be written: what
// happens to it happens to no other.
func (c *Connection) IsAlone() bool { return c != nil && c.framing.single }

// IsEnding reports whether the server accepts no more connections.
func (c *Connection) IsEnding() bool { return c.from.isEnding() }

// ReadHeld reads what came after the request that is served, if anything did.
func (c *Connection) ReadHeld(b []byte) int {
	n := copy(b, c.held)
	if c.held = c.held[n:]; len(c.held) == 0 {
		c.held, c.store = nil, nil
	}
	return n
}

// NoteReads has it noted when the connection is read, or not. The first time is that of the
// call: the request was read a tenth of a microsecond ago.
func (c *Connection) NoteReads(on bool) {
	if on && !c.timed {
		c.readAt = c.from.clock.exactly()
	}
	c.timed = on
}

// LastRead is when the connection was read last, since the base of its clock, and how long
// ago that is.
func (c *Connection) LastRead() (at, ago time.Duration) {
	return c.readAt, c.from.clock.exactly() - c.readAt
}

// ReadAt is when the connection was read last, while that is noted.
func (c *Connection) ReadAt() time.Time { return c.TimeOf(c.readAt) }

// TimeOf is the time that lastRead returned.
func (c *Connection) TimeOf(at time.Duration) time.Time { return c.from.clock.base.Add(at) }

// Date is the time as the header Date has it, to the second.
func (c *Connection) Date() []byte { return *c.from.clock.date.Load() }

// HasSpoken reports whether anything was read from the connection, other than empty lines.
func (c *Connection) HasSpoken() bool { return c.spoke.Load() }

// Refuse notes that its client is refused while it may still be sending.
func (c *Connection) Refuse() { c.unread.Store(true) }

// IsInBody reports whether a body was read last.
func (c *Connection) IsInBody() bool { return c.at.kind == inBody }

// Cause is what ended reading: what Read returned, which fasthttp does not always
// pass on, or else err.
func (c *Connection) Cause(err error) error {
	switch {
	case c.told:
		return c.over
	case c.failed != nil:
		return c.failed
	}
	return err
}

// Serve serves the connection to its end with serve, which it calls again when the
// connection is needed after it was parked.
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
	c.answered.Store((err == nil || c.struck || c.rested) && !c.cutOff)
	return err
}

// Leave has the connection leave HTTP after the answer that is being made, for talk.
func (c *Connection) Leave(talk func()) {
	c.talk = talk
	c.answered.Store(true) // the request was served, whatever becomes of the connection
	c.upgraded.Store(true)
}

// IsUnanswered reports whether the connection was cut off in a request that had no answer.
func (c *Connection) IsUnanswered() bool {
	return c.spoke.Load() && !c.idle.now() && !c.unread.Load() && !c.answered.Load()
}

// Write writes b as long as the client takes any of it, and enough.
func (c *Connection) Write(b []byte) (int, error) {
	if c.spoils != "" {
		return 0, c.strike(b)
	}
	written := 0
	begun := c.from.clock.elapsed()
	for now := begun; ; now = c.from.clock.exactly() {
		if c.writeExpires-now < writeTimeout+clockTick {
			c.writeExpires = now + writeTimeout + 10*renewal
			_ = c.Conn.SetWriteDeadline(c.TimeOf(c.writeExpires)) // writing fails too
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

// Close closes the connection and forgets it. When the client was refused, sends
// beyond its last request, or learns only now that the connection ends, it may still be
// sending, and closing at once would make its system throw the answer away: what it
// sends is read first, for a while. One that is parked, or has left HTTP, stays open.
func (c *Connection) Close() error {
	if c.parked || c.upgraded.Load() {
		return nil
	}
	c.release() // what is discarded may take long
	ended := c.from.isEnding() && c.spoke.Load() && !c.rested
	if c.unread.Load() || c.behind || ended || c.struck {
		c.Discard()
	}
	return c.CloseNow()
}

// CloseNow closes the connection, whatever is under way, and forgets it.
func (c *Connection) CloseNow() error {
	c.from.forget(c)
	c.pausing.end()
	if err := c.Conn.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil // the end of the server was first
}

// Discard ends what the client is sent and reads what it sends, until it ends too.
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
