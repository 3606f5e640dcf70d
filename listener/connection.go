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

	"mockserver/dispatcher"
)

// connections is a listener that knows the connections it accepted, and what each
// is at, so that stopping can close those that wait for a request, and at the end
// of the grace period the rest.
type connections struct {
	net.Listener
	log      *slog.Logger
	refusals *pace // of log lines about connections that cannot be accepted
	// start has the delay of a webhook begin.
	start func(d dispatcher.Delivery, written time.Time)

	closing sync.Once
	closed  error
	ended   chan struct{} // closed with the listener

	mu   sync.Mutex // guards what follows
	open map[*connection]struct{}
	cut  bool // closeAll was called
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

// adopt knows a connection from now on. One that was accepted while closeAll closed
// the others is closed as they are.
func (c *connections) adopt(inner net.Conn) *connection {
	accepted := &connection{Conn: inner, from: c}
	c.mu.Lock()
	c.open[accepted] = struct{}{}
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

// Close closes the listener, the first time, and returns how that went each time.
func (c *connections) Close() error {
	c.closing.Do(func() {
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

// hurry closes the connections that wait for another request, and gives those that
// nothing was read from yet a moment more: what they sent may be on its way.
// Without it they would hold the end up for as long as headers may take. The
// listener is closed already, so that a connection that waits from now on sees it.
func (c *connections) hurry() {
	for _, conn := range c.all() {
		switch {
		case conn.idle.CompareAndSwap(true, false):
			_ = conn.closeNow() // nobody expects an answer
		case !conn.spoke.Load():
			_ = conn.Conn.SetReadDeadline(time.Now().Add(lastMoment)) // reading fails too
		}
	}
}

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

func (c *connections) forget(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, conn)
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
	// it back may go on: the connection with a request, or the end of the server with
	// closing it.
	idle atomic.Bool
	// answered tells that serving it has ended with an answer to its last request.
	answered atomic.Bool

	// The goroutine that serves the connection alone has these.
	waiting      bool // for the next request, which may have been read already
	rested       bool // it was idle since it waits
	readingBody  bool
	readRenewed  time.Time // when the read deadline was asked for, or renewed
	readExpires  time.Time // the read deadline that is asked for
	readInForce  time.Time // the one that the connection has
	writeExpires time.Time // the write deadline
	bodyBegun    time.Time // when the time of the body began
	bodyRead     int       // bytes of it
	wire         wire
	held         []byte // what is not to be read yet of what came: see take
	over         error  // ends reading: a breach, or io.EOF behind the last request
	told         bool   // over was returned
	behind       bool   // something came behind the last request
	failed       error  // of the connection: reading ended with it
	cutOff       bool   // it did so inside a request
	// after are the webhooks whose delay begins once the response is written, which
	// was at written, or is not yet.
	after   []dispatcher.Delivery
	written time.Time
}

// Bounds of what a peer may take, beside those of fasthttp in server.go.
const (
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
// headers that drip in have to end in time. The error ends the connection.
func (c *connection) SetReadDeadline(t time.Time) error {
	c.readRenewed = time.Now()
	left := t.Sub(c.readRenewed)
	c.waiting = left > bodyTimeout
	c.readingBody = headerTimeout < left && !c.waiting
	c.readExpires = t
	c.bodyBegun, c.bodyRead = c.readRenewed, 0
	if c.rested {
		c.rested = false
		if !c.idle.CompareAndSwap(true, false) {
			return net.ErrClosed
		}
	}
	return nil
}

// rest makes the connection idle. fasthttp sends its answers before it reads for
// another request, but not while it has one that was pipelined: that one is served.
// The error tells that the server has ended.
func (c *connection) rest() error {
	c.rested = true
	c.idle.Store(true)
	if !c.from.isEnding() {
		return nil
	}
	c.idle.Store(false) // its last answer did not say that it is closed
	return net.ErrClosed
}

// enforce gives the connection the deadline that is asked for, before it is read
// from: most are replaced by the next without a read between, and waiting for the
// next request may end a little early.
func (c *connection) enforce() error {
	early := c.readExpires.Sub(c.readInForce)
	if early != 0 && !(c.waiting && 0 < early && early < idleRenewal) {
		c.readInForce = c.readExpires
		if err := c.Conn.SetReadDeadline(c.readExpires); err != nil {
			return err
		}
	}
	if !c.from.isEnding() {
		return nil
	}
	// The deadline in force may be that of hurry by now, or have replaced it.
	expires := c.readExpires
	if !c.spoke.Load() {
		expires = time.Now().Add(lastMoment)
	}
	return c.Conn.SetReadDeadline(expires)
}

// Read reads what the client sent, as far as it is sound: a head comes whole, and
// nothing from behind a breach. The error is the breach then.
func (c *connection) Read(b []byte) (int, error) {
	if len(c.after) > 0 && !c.written.IsZero() { // else what answers them is not written yet
		c.release()
	}
	if c.over != nil {
		c.told = true
		return 0, c.over
	}
	n := copy(b, c.held)
	if c.held = c.held[n:]; len(c.held) == 0 {
		c.held = nil
	}
	for more := n == 0; ; more = true { // what was held may be enough
		var err error
		if more {
			var got int
			got, err = c.receive(b[n:], c.wire.inside(b[:n]))
			n += got
		}
		ready, rest := c.take(b[:n], err)
		switch {
		case c.over != nil && ready > 0:
			return ready, nil
		case c.over != nil:
			c.told = true
			return 0, c.over
		case ready > 0 && rest < n:
			c.held = append([]byte(nil), b[rest:n]...)
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

// take has wire take what came, and keeps what ends reading: what wire says, or an
// end that comes inside a request. An error of reading is given.
func (c *connection) take(b []byte, err error) (ready, rest int) {
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

// release has the delays of webhooks begin: whoever reads again, or ends, has
// written its response.
func (c *connection) release() {
	if c.written.IsZero() {
		c.written = time.Now()
	}
	for i := range c.after {
		c.from.start(c.after[i], c.written)
	}
	clear(c.after)
	c.after, c.written = c.after[:0], time.Time{}
}

// receive reads once. A head that has begun while the connection waited for it has
// the time of one from then on.
func (c *connection) receive(b []byte, begun bool) (int, error) {
	var err error
	switch {
	case c.waiting && begun:
		err = c.SetReadDeadline(time.Now().Add(headerTimeout))
	case c.waiting:
		err = c.rest()
	}
	if err == nil {
		err = c.enforce()
	}
	if err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(b)
	if err != nil {
		c.failed = err
	}
	if n > 0 && c.readingBody {
		c.bodyRead += n
		if now := time.Now(); now.Sub(c.readRenewed) >= renewal {
			c.readRenewed, c.readExpires = now, now.Add(bodyTimeout)
			if last := c.bodyBegun.Add(longest(c.bodyRead)); last.Before(c.readExpires) {
				c.readExpires = last
			}
		}
	}
	return n, err
}

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

// longest is how long n bytes may take to get through.
func longest(n int) time.Duration { return slowTime + time.Duration(n/slowRate)*time.Second }

// lateness says how a body was too slow.
func (c *connection) lateness() string {
	if most := longest(c.bodyRead); time.Since(c.bodyBegun) >= most {
		return "the request body was not whole after " + most.String()
	}
	return "no more of the request body came for " + bodyTimeout.String()
}

// Write writes b as long as the client takes any of it, and enough.
func (c *connection) Write(b []byte) (int, error) {
	written := 0
	begun := time.Now()
	for now := begun; ; now = time.Now() {
		if c.writeExpires.Sub(now) < writeTimeout {
			c.writeExpires = now.Add(writeTimeout + 10*renewal)
			_ = c.Conn.SetWriteDeadline(c.writeExpires) // writing fails too
		}
		n, err := c.Conn.Write(b[written:])
		written += n
		if len(c.after) > 0 {
			c.written = time.Now()
		}
		if n == 0 || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) > longest(written) {
			return written, err
		}
	}
}

// Close closes the connection and forgets it. When the client was refused, sends
// beyond its last request, or learns only now that the server ends, it may still be
// sending, and closing at once would make its system throw the answer away: what it
// sends is read first, for a while.
func (c *connection) Close() error {
	ended := c.from.isEnding() && c.spoke.Load() && !c.idle.Load()
	if c.unread.Load() || c.behind || ended {
		c.discard()
	}
	return c.closeNow()
}

func (c *connection) closeNow() error {
	c.from.forget(c)
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
