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
)

// connections is a listener that knows the connections it accepted, so that
// stopping can close those that fasthttp leaves: the ones that have not sent
// anything yet, which it takes for busy during their first five seconds, and
// those whose request outlasts the grace period.
type connections struct {
	net.Listener
	log      *slog.Logger
	refusals *pace // of log lines about connections that cannot be accepted

	closing sync.Once
	closed  error
	ended   chan struct{} // closed with the listener

	mu   sync.Mutex // guards open
	open map[*connection]struct{}
}

func newConnections(l net.Listener, log *slog.Logger) *connections {
	return &connections{
		Listener: l, log: log, refusals: newPace(1),
		ended: make(chan struct{}), open: map[*connection]struct{}{},
	}
}

// How long accepting waits after an error that passes: the first time, and at most.
const (
	firstPause   = 5 * time.Millisecond
	longestPause = time.Second
)

// Accept waits for the next connection. It outlasts errors that pass, such as no
// descriptor being free, which fasthttp would end serving for.
func (c *connections) Accept() (net.Conn, error) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		inner, err := c.Listener.Accept()
		switch {
		case err == nil:
			return c.adopt(inner), nil
		case !passes(err):
			return nil, err
		}
		if suppressed, ok := c.refusals.pass(time.Now()); ok {
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

func (c *connections) adopt(inner net.Conn) *connection {
	accepted := &connection{Conn: inner, from: c}
	c.mu.Lock()
	c.open[accepted] = struct{}{}
	c.mu.Unlock()
	select {
	case <-c.ended: // after hurrySilent looked, perhaps
		accepted.hurried.Store(true)
	default:
	}
	return accepted
}

// passes tells whether accepting may succeed again after err: something has run
// out, or the client went away.
func passes(err error) bool {
	return slices.ContainsFunc([]syscall.Errno{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED,
	}, func(e syscall.Errno) bool { return errors.Is(err, e) })
}

// Close closes the listener, the first time: fasthttp closes it again, or not at
// all when its Serve has not begun.
func (c *connections) Close() error {
	c.closing.Do(func() {
		c.closed = c.Listener.Close()
		close(c.ended)
	})
	return c.closed
}

// hurrySilent gives the connections that nothing was read from yet a moment more:
// what they sent may be on its way. Without it they would hold the end up for as
// long as headers may take.
func (c *connections) hurrySilent() {
	for _, conn := range c.all() {
		if !conn.spoke.Load() {
			conn.hurried.Store(true)
			_ = conn.Conn.SetReadDeadline(time.Now().Add(lastMoment)) // reading fails too
		}
	}
}

// closeAll closes every connection.
func (c *connections) closeAll() {
	for _, conn := range c.all() {
		_ = conn.closeNow() // it is gone either way
	}
}

// all is every connection that is open.
func (c *connections) all() []*connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.open))
}

func (c *connections) forget(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, conn)
}

// connection is one accepted connection. Its time-outs for bodies and answers are
// for a peer that stands still: they begin anew whenever a byte gets through.
type connection struct {
	net.Conn
	from   *connections
	spoke  atomic.Bool // something was read from it
	unread atomic.Bool // it was refused while it may still be sending
	// hurried tells that the server is stopping and nothing was read from it so far.
	hurried atomic.Bool

	// The goroutine that serves the connection alone has these.
	waiting      bool // for the next request
	readingBody  bool
	readRenewed  time.Time // when the read deadline was asked for, or renewed
	readExpires  time.Time // the read deadline that is asked for
	readInForce  time.Time // the one that the connection has
	writeExpires time.Time // the write deadline
}

// Bounds of what a peer may take, beside those of fasthttp in server.go.
const (
	// bodyTimeout is how long a body may stand still.
	bodyTimeout = 30 * time.Second
	// writeTimeout is how long an answer may stand still.
	writeTimeout = 30 * time.Second
	// renewal is how far a deadline may be off, so that it is not set anew for each
	// byte or small answer, and idleRenewal that of waiting for the next request.
	renewal     = time.Second
	idleRenewal = time.Minute

	// lastMoment is how long a silent connection may still speak when the server stops.
	lastMoment = 100 * time.Millisecond

	// lingerTime and lingerSize bound what a refused client may still send.
	lingerTime = 2 * time.Second
	lingerSize = 256 << 20 // bytes
)

// SetReadDeadline asks for when reading ends. fasthttp calls it once for each part
// of a request, and that part tells itself by its time-out: waiting for the next
// request lasts longer than a body, the headers shorter. Only a body's is renewed:
// headers that drip in have to end in time.
func (c *connection) SetReadDeadline(t time.Time) error {
	c.readRenewed = time.Now()
	left := t.Sub(c.readRenewed)
	c.waiting = left > bodyTimeout
	c.readingBody = headerTimeout < left && !c.waiting
	c.readExpires = t
	return nil
}

// enforce gives the connection the deadline that is asked for, before it is read
// from: most are replaced by the next without a read between, and waiting for the
// next request may end a little early.
func (c *connection) enforce() error {
	if c.hurried.Load() {
		if !c.spoke.Load() {
			return c.Conn.SetReadDeadline(time.Now().Add(lastMoment))
		}
		c.hurried.Store(false)
		c.readInForce = time.Time{} // whatever it is, it is not that of this request
	}
	early := c.readExpires.Sub(c.readInForce)
	if early == 0 || c.waiting && 0 < early && early < idleRenewal {
		return nil
	}
	c.readInForce = c.readExpires
	return c.Conn.SetReadDeadline(c.readExpires)
}

// Read reads what the client sent.
func (c *connection) Read(b []byte) (int, error) {
	if err := c.enforce(); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(b)
	if n > 0 && !c.spoke.Load() {
		c.spoke.Store(true)
	}
	if n > 0 && c.readingBody {
		if now := time.Now(); now.Sub(c.readRenewed) >= renewal {
			c.readRenewed, c.readExpires = now, now.Add(bodyTimeout)
		}
	}
	return n, err
}

// Write writes b as long as the client takes any of it.
func (c *connection) Write(b []byte) (int, error) {
	written := 0
	for {
		if now := time.Now(); c.writeExpires.Sub(now) < writeTimeout {
			c.writeExpires = now.Add(writeTimeout + 10*renewal)
			_ = c.Conn.SetWriteDeadline(c.writeExpires) // writing fails too
		}
		n, err := c.Conn.Write(b[written:])
		written += n
		if n == 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return written, err
		}
	}
}

// Close closes the connection and forgets it. When the client was refused it may
// still be sending, and closing at once would make its system throw the answer
// away: what it sends is read first, for a while.
func (c *connection) Close() error {
	if c.unread.Load() {
		c.discard()
	}
	return c.closeNow()
}

func (c *connection) closeNow() error {
	c.from.forget(c)
	return c.Conn.Close()
}

// discard ends what the client is sent and reads what it sends, until it ends too.
func (c *connection) discard() {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || c.Conn.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, c.Conn, lingerSize) // closing follows whatever happens
}
