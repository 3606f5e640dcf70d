package listener

import (
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"mockserver/internal/loglimit"
)

// connections is a listener that knows the connections it accepted, and what each
// is at, so that stopping can close those that wait for a request, and at the end
// of the grace period the rest.
type connections struct {
	net.Listener
	log      *slog.Logger
	refusals *loglimit.Limiter // of log lines about connections that cannot be accepted
	// plain answers a plain request, the first n bytes of b, and reports whether it did; nil
	// never does. The answer may take the room of b. The error is that of writing.
	plain func(c *connection, b []byte, n int) (done bool, err error)
	// single reports whether requests are to be read one at a time.
	single func() bool

	closing sync.Once
	closed  error
	ended   chan struct{} // closed with the listener
	// patience is how long a connection may wait for another request once the listener is
	// closed; nobody changes it from then on.
	patience time.Duration
	hurrying sync.Mutex // held while hurry sets deadlines

	clock clock
	alarm *alarm // of pauses; nil in tests

	mu   sync.Mutex // guards what follows
	open map[*connection]struct{}
	cut  bool   // closeAll was called
	last uint32 // the shard of the connection that was accepted last
}

func newConnections(l net.Listener, log *slog.Logger) *connections {
	return &connections{
		Listener: l, log: log, refusals: loglimit.New(1, loglimit.TellSuppressed(log, "cannot accept a connection")), single: func() bool { return false },
		ended: make(chan struct{}), open: map[*connection]struct{}{},
	}
}

// startAlarm has pauses end within 50 µs of when they are due, where the system can, until
// stopAlarm.
func (c *connections) startAlarm() { c.alarm = newAlarm() }

func (c *connections) stopAlarm() { c.alarm.close() }

// How long accepting waits after an error that passes: the first time, and at most.
const (
	firstPause   = 5 * time.Millisecond
	longestPause = time.Second
)

// Accept waits for the next connection. It outlasts errors that pass, such as no
// descriptor being free.
func (c *connections) Accept() (net.Conn, error) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		inner, err := c.Listener.Accept()
		switch {
		case err == nil:
			return c.adopt(inner), nil
		case !passes(err):
			return nil, err
		}
		if suppressed, ok := c.refusals.Pass(time.Now()); ok {
			c.log.Warn("cannot accept a connection", "error", err.Error(), "suppressed", suppressed)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-c.ended: // the next Accept says so
			timer.Stop()
		}
	}
}

// adopt knows a connection from now on. One that was accepted while closeAll closed
// the others is closed as they are.
func (c *connections) adopt(inner net.Conn) *connection {
	accepted := &connection{Conn: inner, from: c, readExpires: time.Now().Add(headerTimeout)}
	c.mu.Lock()
	c.open[accepted] = struct{}{}
	c.last++
	accepted.shard = c.last
	if len(c.open) == 1 {
		c.clock.start(c.tick)
	}
	late := c.cut
	c.mu.Unlock()
	if late {
		_ = accepted.closeNow() // it is gone either way
	}
	return accepted
}

// passes tells whether accepting may succeed again after err: something has run
// out, the client went away, a firewall forbade the connection, or it has an error
// of the network already, which accept passes on (accept(2), "Error handling").
func passes(err error) bool {
	err = portable(err)
	return slices.ContainsFunc([]syscall.Errno{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.EPERM,
		syscall.ENETDOWN, syscall.EPROTO, syscall.ENOPROTOOPT, syscall.EHOSTDOWN, syscall.EHOSTUNREACH,
		syscall.EOPNOTSUPP, syscall.ENETUNREACH, syscall.ETIMEDOUT,
	}, func(e syscall.Errno) bool { return errors.Is(err, e) })
}

// Close is end without patience.
func (c *connections) Close() error { return c.end(0) }

// end closes the listener, the first time, and returns how that went each time.
func (c *connections) end(patience time.Duration) error {
	c.closing.Do(func() {
		c.patience = patience
		c.closed = c.Listener.Close()
		close(c.ended)
	})
	return c.closed
}

// isEnding tells whether the listener was closed.
func (c *connections) isEnding() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// hurry gives the connections that wait for a request a moment more: one may be on its
// way, and its answer says that the connection is closed. Without it they would hold
// the end up for as long as they may be idle, or headers may take. The listener is
// closed already, so that a connection that waits from now on sees it.
func (c *connections) hurry() {
	c.hurrying.Lock()
	defer c.hurrying.Unlock()
	now := time.Now()
	for _, conn := range c.all() { // where setting a deadline fails, reading fails too
		switch {
		case conn.upgraded.Load():
			_ = conn.Conn.SetReadDeadline(now) // wakes it
		case conn.idle.CompareAndSwap(true, false):
			_ = conn.Conn.SetReadDeadline(now.Add(c.patience))
		case !conn.spoke.Load():
			_ = conn.Conn.SetReadDeadline(now.Add(c.moment()))
		}
	}
}

// moment is how long a connection may still speak that never spoke, or has its last
// answer only now.
func (c *connections) moment() time.Duration { return max(lastMoment, c.patience) }

// closeAll closes every connection, those too that are still being accepted, and
// returns those that were open.
func (c *connections) closeAll() []*connection {
	c.mu.Lock()
	c.cut = true
	c.mu.Unlock()
	all := c.all()
	for _, conn := range all {
		_ = conn.closeNow() // it is gone either way
	}
	return all
}

// all is every connection that is open.
func (c *connections) all() []*connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.open))
}

// count is how many connections are open.
func (c *connections) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}

func (c *connections) forget(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.open[conn]; !known {
		return
	}
	if delete(c.open, conn); len(c.open) == 0 {
		c.clock.stop()
	}
}

// tick sets the clock for as long as a connection is open.
func (c *connections) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) > 0 {
		c.clock.set()
	}
}

// connection is one accepted connection. Its time-outs for bodies and answers are
// for a peer that stands still: they begin anew whenever a byte gets through, for as
// long as enough of them do.
type connection struct {
	net.Conn
	from   *connections
	spoke  atomic.Bool // something was read from it, beside empty lines
	unread atomic.Bool // it was refused while it may still be sending
	// idle tells that it reads for another request, all answers being sent. Who takes
	// it back may set the next deadline first: the connection with a request, or the end
	// of the server.
	idle atomic.Bool
	// answered tells that serving it has ended with an answer to its last request.
	answered atomic.Bool
	upgraded atomic.Bool // it has left HTTP, behind the answer that comes or came last: see talk

	// The goroutine that serves the connection alone has these.
	at           part      // what it was last read for
	readExpires  time.Time // the read deadline of that part
	readInForce  time.Time // the one that the connection has
	readRenewed  time.Time // when the one of a body was renewed
	idleSince    time.Time // when it was last read for another request
	writeExpires time.Time // the write deadline
	bodyBegun    time.Time // when the time of the body began
	bodyRead     int       // bytes of it
	parked       bool      // it waits without fasthttp: see park
	first        [1]byte   // what ended that
	wire         wire
	held         []byte    // what is not to be read yet of what came: see take
	store        []byte    // what held is the end of, and what was held before
	heldAt       time.Time // when the last of it came
	arrived      time.Time // when the request that is served came, if it was held; else when it is served
	deaf         bool      // the client has ended what it sends
	left         bool      // it left, or the server ended, while its request waited
	over         error     // ends reading: a breach, or io.EOF behind the last request
	told         bool      // over was returned
	behind       bool      // something came behind the last request
	failed       error     // of the connection: reading ended with it
	cutOff       bool      // it did so inside a request
	rested       bool      // reading ended when it was idle, or about to be, all answers being sent
	// after is called once the answer is written, which was at written, or is not yet.
	after   func(written time.Time)
	written time.Time

	talk func() // what it goes on with once it has left HTTP

	pausing pausing

	spoils string // the fault that happens to the answer when it is written; "" for none
	struck bool   // a fault has ended the connection

	shard  uint32
	timed  bool          // when it is read is noted
	readAt time.Duration // when it was, since the base of the clock

	// Above is whatever the server keeps with the connection.
	Above any
}

// Bounds of what a client may take.
const (
	// maxHeader is the largest request line and headers, in bytes, and the size of the
	// buffer that a connection is read into.
	maxHeader     = 64 << 10
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
	// lastWord is how long connections that were closed may take to say that what they
	// were asked was answered: on a machine that is full they are late for it.
	lastWord = 500 * time.Millisecond

	// lingerTime and lingerSize bound what a refused client may still send.
	lingerTime = 2 * time.Second
	lingerSize = 256 << 20 // bytes
)

// Read reads what the client sent, as far as it is sound: a head comes whole, and
// nothing from behind a breach. The error is the breach then.
func (c *connection) Read(b []byte) (int, error) {
	if c.after != nil { // fasthttp has written what answers them: it reads behind that
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
		if c.timed {
			c.readAt = time.Since(c.from.clock.base)
		}
		ready, rest := c.take(b[:n], err)
		if len(c.wire.plain) > 0 && c.from.plain != nil {
			done, failed := c.from.plain(c, b, n)
			if failed != nil {
				c.failed = failed
				return 0, failed
			}
			if done {
				n = 0
				continue
			}
		}
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

// more adds to the n bytes that b holds: what was held, which may be enough, or else
// what comes.
func (c *connection) more(b []byte, n int) (int, error) {
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
func (c *connection) hold(b []byte) {
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
func (c *connection) take(b []byte, err error) (ready, rest int) {
	c.wire.single = c.from.single() // as it is now: a reload may have come while nothing else did
	ready, rest, c.over = c.wire.take(b)
	inside := c.wire.inside(b[rest:])
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

// afterWrite has f called once the answer that is being made is written, or cannot be.
func (c *connection) afterWrite(f func(written time.Time)) { c.after = f }

// release calls what waits for the answer to be written: whoever reads again, or ends, has
// written it.
func (c *connection) release() {
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

// plainRequest is the target of the plain request that was read last, and whether its
// answer may depend on Accept.
func (c *connection) plainRequest() (target []byte, accepts bool) {
	return c.wire.plain, c.wire.accepts
}

// noteReads has it noted when the connection is read, or not. The first time is that of the
// call: the request was read a tenth of a microsecond ago.
func (c *connection) noteReads(on bool) {
	if on && !c.timed {
		c.readAt = time.Since(c.from.clock.base)
	}
	c.timed = on
}

// lastRead is when the connection was read last, since the base of its clock, and how long
// ago that is.
func (c *connection) lastRead() (at, ago time.Duration) {
	return c.readAt, time.Since(c.from.clock.base) - c.readAt
}

// timeOf is the time that lastRead returned.
func (c *connection) timeOf(at time.Duration) time.Time { return c.from.clock.base.Add(at) }

// date is the time as the header Date has it, to the second.
func (c *connection) date() []byte { return *c.from.clock.date.Load() }

// hasSpoken reports whether anything was read from the connection, other than empty lines.
func (c *connection) hasSpoken() bool { return c.spoke.Load() }

// refuse notes that its client is refused while it may still be sending.
func (c *connection) refuse() { c.unread.Store(true) }

// isInBody reports whether a body was read last.
func (c *connection) isInBody() bool { return c.at.kind == inBody }

// cause is what ended reading: what Read returned, which fasthttp does not always
// pass on, or else err.
func (c *connection) cause(err error) error {
	switch {
	case c.told:
		return c.over
	case c.failed != nil:
		return c.failed
	}
	return err
}

// serve serves the connection to its end with serve, which it calls again when the
// connection is needed after it was parked.
func (c *connection) serve(serve func(net.Conn) error) error {
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

// leave has the connection leave HTTP after the answer that is being made, for talk.
func (c *connection) leave(talk func()) {
	c.talk = talk
	c.answered.Store(true) // the request was served, whatever becomes of the connection
	c.upgraded.Store(true)
}

// isUnanswered reports whether the connection was cut off in a request that had no answer.
func (c *connection) isUnanswered() bool {
	return c.spoke.Load() && !c.idle.Load() && !c.unread.Load() && !c.answered.Load()
}

// Write writes b as long as the client takes any of it, and enough.
func (c *connection) Write(b []byte) (int, error) {
	if c.spoils != "" {
		return 0, c.strike(b)
	}
	written := 0
	begun := c.from.clock.now()
	for now := begun; ; now = time.Now() {
		if c.writeExpires.Sub(now) < writeTimeout+clockTick {
			c.writeExpires = now.Add(writeTimeout + 10*renewal)
			_ = c.Conn.SetWriteDeadline(c.writeExpires) // writing fails too
		}
		n, err := c.Conn.Write(b[written:])
		written += n
		if c.after != nil {
			c.written = time.Now()
		}
		if n == 0 || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) > longest(written)+clockTick {
			return written, err
		}
	}
}

// Close closes the connection and forgets it. When the client was refused, sends
// beyond its last request, or learns only now that the connection ends, it may still be
// sending, and closing at once would make its system throw the answer away: what it
// sends is read first, for a while. One that is parked, or has left HTTP, stays open.
func (c *connection) Close() error {
	if c.parked || c.upgraded.Load() {
		return nil
	}
	c.release() // what is discarded may take long
	ended := c.from.isEnding() && c.spoke.Load() && !c.rested
	if c.unread.Load() || c.behind || ended || c.struck {
		c.discard()
	}
	return c.closeNow()
}

func (c *connection) closeNow() error {
	c.from.forget(c)
	c.pausing.end()
	if err := c.Conn.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil // the end of the server was first
}

// discard ends what the client is sent and reads what it sends, until it ends too.
func (c *connection) discard() {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || c.Conn.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, c.Conn, lingerSize) // closing follows whatever happens
}
