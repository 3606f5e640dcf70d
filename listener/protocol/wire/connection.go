package wire

import (
	"bufio"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"mockserver/matcher"
)

// Connection is one accepted connection. Its timeouts for bodies and responses are meant for a
// peer that stalls: they restart whenever a byte gets through, as long as the rate is high enough.
type Connection struct {
	net.Conn
	from   *Connections
	spoke  atomic.Bool   // something other than empty lines was read from it
	unread atomic.Bool   // the client was refused and may still be sending
	idle   atomic.Uint32 // see beginIdle
	// answered means that serving the connection ended with a response to its last request.
	answered atomic.Bool
	upgraded atomic.Bool // it leaves, or has left, HTTP/1.1: see talk

	// Only the goroutine that serves the connection uses the fields below.
	deadlines
	reading
	stay stay
	ending
	shared bool // see IsShared
	known  bool // a goroutine of its own has served it
	// after is called with the time when the response was written, or could not be written.
	after   func(written time.Time)
	written time.Time

	talk func() // what the connection runs once it has left HTTP/1.1, and once it was parked after that

	secured *stream // the TLS connection over Conn; nil for one in clear text
	// TLS is what the requests of the connection have in common; nil for one in clear text.
	TLS *matcher.TLS

	pausing pausing
	delay   delay

	expires time.Duration // when it reaches its maximum age, since the base of the clock; 0: never

	index  int           // in Connections.open; guarded by its lock
	shard  uint32        // the shard that its requests are counted in
	readAt time.Duration // time of the last noted read, since the base of the clock
	Visit

	out *bufio.Writer // see Output; nil before the first use

	place
}

// Visit is when the current request and the last reply came, as time since the base of the clock.
type Visit struct {
	Came    time.Duration // when the last bytes arrived
	Replied time.Duration // when the last reply was made, which the Handler sets; 0 before
}

// deadlines are the timeouts of a connection, and what they depend on.
type deadlines struct {
	at          part      // the part that the connection was last read for
	readExpires time.Time // the read deadline of that part
	readInForce time.Time // the deadline that is set on the connection; past if it is unknown
	readRenewed time.Time // when the deadline of a body was renewed
	resting     bool      // it is idle; see leaveIdle
	// Stored as time since the base of the clock, because they are compared on each request.
	idleSince    time.Duration // when it was last read for another request
	writeExpires time.Duration // the write deadline
	bodyBegun    time.Time     // when the timeout of the body began
	bodyRead     int           // how many of its bytes were read
	writing      progress      // of the current Write
}

// reading is what was received, and how much of it was read.
type reading struct {
	in       *bufio.Reader // what was received and not taken yet; nil while the connection has no buffer
	head     head          // the head that is being read, or whose request is being served
	requests int           // that were answered
	size     int           // of the head, in bytes, and of the body if its length is known
	plain    Plain
	last     []byte // a copy of that request; empty for one that is too long: see repeats
	later    Later  // serves the plain request that was read last; nil for none

	held    []byte    // bytes that are to be read before others: see pause and hold
	heldAt  time.Time // when what follows the current request arrived; zero if nothing does
	arrived time.Time // when the current request arrived; zero if it was served on arrival

	large   bool // in has MaxHeader bytes instead of readBuffer
	grows   bool // it becomes large when more arrives
	inBody  bool // the body of the request is being read
	ended   bool // the last request was answered
	isPlain bool // the request that was read last is plain
	// preferred and accepted mean that a request on the connection, this one or an earlier one, had
	// a header that may select a response of an operation: Prefer, or an Accept other than */*.
	preferred, accepted bool
	first               [1]byte // the byte that ended the parking
}

// ending is what ends a connection, and how it ends.
type ending struct {
	deaf      bool   // the client has finished sending
	left      bool   // the client left, or the server stopped, while its request waited
	behind    bool   // more bytes came after the last request
	cutOff    bool   // reading failed inside a request
	unwritten bool   // the last response could not be written completely
	rested    bool   // reading ended while it was idle or about to be, with all responses sent
	abrupt    bool   // it is closed without the closing notice of TLS
	parting   bool   // the closing notice is being sent or was sent
	struck    bool   // a fault has ended the connection
	resets    bool   // it ends with RST
	failed    error  // the error of the connection that ended reading
	spoils    string // the fault to apply to the response when it is written; "" if none
}

// part is what a connection is read for. Each part has its own timeout, which starts when the part
// begins.
type part struct {
	request int // how many requests were read before this part
	kind    kind
}

// kind is the kind of a part.
type kind uint8

const (
	waiting kind = iota // for its first byte
	inHead
	inBody
)

// Limits for clients.
const (
	// MaxHeader is the maximum size of the request line and headers, in bytes, and the size of the
	// read buffer of a connection that is large.
	MaxHeader = 64 << 10
	// readBuffer is the size of the read buffer of all other connections, in bytes. A connection
	// holds it while it waits.
	readBuffer    = 4 << 10
	headerTimeout = 10 * time.Second
	// idleTimeout is longer than clients under test keep idle connections in their pools: if the
	// server closed first, their next request would fail.
	idleTimeout = 10 * time.Minute
	// bodyTimeout is how long a body may stall.
	bodyTimeout = 30 * time.Second
	// writeTimeout is how long a response may stall.
	writeTimeout = 30 * time.Second
	// slowTime is how long a body or a response may take regardless of its rate. slowRate is the
	// minimum rate, in bytes a second, of one that takes longer.
	slowTime = 10 * time.Minute
	slowRate = 1 << 10
	// renewal is how imprecise a deadline may be; it avoids setting the deadline again for each
	// byte or small response.
	renewal = time.Second
	// leaveTime is the time without a request after which the resources that serve a connection are
	// released. The actual wait may be twice as long.
	leaveTime = time.Second

	// lastMoment is the minimum time for which a client may still send when the server stops, if it
	// never sent anything or has just received its last response.
	lastMoment = 100 * time.Millisecond

	// lingerSize limits what a refused client may still send, in bytes, and lingerTime how long it may
	// take for each lingerPart of it.
	lingerSize = 256 << 20
	lingerPart = 1 << 20
	lingerTime = 2 * time.Second
)

// AfterWrite sets f to be called once the current response has been written, or cannot be written.
func (c *Connection) AfterWrite(f func(written time.Time)) { c.after = f }

// release calls the function that AfterWrite has set. It is called when the connection is read
// again or closed: by then the response has been written or has failed.
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

// The code that builds a response may call the methods below on the connection of its request. In a
// test, a request may have no connection: it does not wait, and the methods that accept a nil
// connection do nothing.

// HasLeft reports whether the client has left, so that no response is needed.
func (c *Connection) HasLeft() bool { return c != nil && c.left }

// Shard returns the number of the connection, for counters that are split into shards.
func (c *Connection) Shard() uint32 {
	if c == nil {
		return 0
	}
	return c.shard
}

// Arrived returns when the current request arrived, if that was before serving it began, because
// another request of the connection was being served. Otherwise it returns the zero time.
func (c *Connection) Arrived() time.Time {
	if c == nil {
		return time.Time{}
	}
	return c.arrived
}

// Chooses reports whether the request may have a header that selects a response of an operation:
// Prefer, or an Accept that does not accept all media types equally. It is cheaper than parsing the
// headers.
func (c *Connection) Chooses() (prefers, accepts bool) {
	if c == nil {
		return true, true
	}
	return c.preferred, c.accepted
}

// Enlarge makes the connection large when its next request arrives, because a request, or a
// response that is built in the buffer, did not fit. The connection stays large until it is parked.
// A connection whose requests wait does not become large.
func (c *Connection) Enlarge() { c.grows = !c.large }

// IsOld reports whether the connection has reached its maximum age.
func (c *Connection) IsOld() bool {
	return c != nil && c.expires > 0 && c.from.clock.elapsed() >= c.expires
}

// IsEnding reports whether the server accepts no more connections.
func (c *Connection) IsEnding() bool { return c.from.isEnding() }

// ReadHeld reads what arrived after the current request, if anything did.
func (c *Connection) ReadHeld(b []byte) int {
	n := copy(b, c.held)
	if c.held = c.held[n:]; len(c.held) == 0 {
		c.held = nil
	}
	return n
}

// LastRead returns when the connection was last read, as time since the base of its clock, and how
// long ago that is.
func (c *Connection) LastRead() (at, ago time.Duration) {
	return c.readAt, c.from.clock.exactly() - c.readAt
}

// ReadAt returns when the connection was last read, while read times are noted.
func (c *Connection) ReadAt() time.Time { return c.TimeOf(c.readAt) }

// TimeOf converts a time that LastRead returned.
func (c *Connection) TimeOf(at time.Duration) time.Time { return c.from.clock.base.Add(at) }

// Date returns the time in the format of the Date header, to the second.
func (c *Connection) Date() []byte { return *c.from.clock.date.Load() }

// Refuse notes that the client is refused while it may still be sending.
func (c *Connection) Refuse() { c.unread.Store(true) }

// Leave makes the connection leave HTTP/1.1 after the current response, and run talk.
func (c *Connection) Leave(talk func()) {
	c.talk = talk
	c.answered.Store(true) // the request was served, whatever happens to the connection
	c.upgraded.Store(true)
}

// WasCutOff reports whether the connection was cut off in a request that had no response.
func (c *Connection) WasCutOff() bool {
	state := c.idle.Load()
	return c.spoke.Load() && (state == isBusy || state == isDelayed) && !c.unread.Load() && !c.answered.Load()
}

// Close closes the connection and forgets it. A client may still be sending if it was refused,
// sends more after its last request, or learns only now that the connection is closed. Closing at
// once would make the client's system discard the response, so in these cases, and after a fault,
// Close first spends a while reading what the client sends.
func (c *Connection) Close() error {
	c.release() // discarding may take a long time
	c.closeNotify()
	if c.behind || c.lingers() {
		c.Discard()
	}
	return c.CloseNow()
}

// lingers reports whether closing the connection may take long.
func (c *Connection) lingers() bool {
	ended := (c.from.isEnding() || c.IsOld()) && c.spoke.Load() && !c.rested
	return ended || c.unread.Load() || c.struck || c.shared && c.hasMore()
}

// CloseNow closes the connection at once, even during a request, and forgets it.
func (c *Connection) CloseNow() error {
	c.from.forget(c)
	c.pausing.end()
	err := c.Conn.Close()
	c.from.lot.forget(c)
	if errors.Is(err, net.ErrClosed) {
		return nil // the server had already closed it
	}
	return err
}

// Discard stops sending to the client, and reads what the client sends until the client also stops,
// but no more than lingerSize, and as long as each lingerPart of it takes no longer than lingerTime.
func (c *Connection) Discard() {
	c.closeNotify()
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	for range lingerSize / lingerPart {
		if c.Conn.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, c.Conn, lingerPart); err != nil {
			return // the connection is closed next in any case
		}
	}
}

// isIdle reports whether the connection was last read for another request.
func (c *Connection) isIdle() bool { return c.at.kind == waiting && c.at.request > 0 }

// longest returns the maximum time that n bytes may take to get through.
func longest(n int) time.Duration { return slowTime + time.Duration(n/slowRate)*time.Second }

// pausing is the part of the state of a connection's pauses that is shared with other goroutines.
type pausing struct {
	mu     sync.Mutex // guards the fields below
	reads  bool       // the pause is a read, which a deadline ends
	woken  bool       // Wake was called, and no pause has reported it
	closed bool
	signal chan struct{} // ends a pause that is not a read; nil before the first one
}

// end ends the pauses of a connection that is closed.
func (p *pausing) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.wakeUp()
}

func (p *pausing) wakeUp() {
	select {
	case p.signal <- struct{}{}: // the channel is nil if no pause waits for it
	default:
	}
}

// progress is how far a call of Write has come.
type progress struct {
	begun time.Duration // since the base of the clock
	bytes int           // that were written to the socket
}
