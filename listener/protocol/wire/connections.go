package wire

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"mockserver/internal/loglimit"
	"mockserver/internal/pacer"
	"mockserver/internal/sockio"
)

// Connections is a listener that knows the connections it accepted and the state of each, so that a
// shutdown can close those that wait for a request, and the rest at the end of the grace period.
type Connections struct {
	net.Listener
	log      *slog.Logger
	refusals *loglimit.Limiter // of log lines about connections that cannot be accepted
	// Owned reports whether an accepted connection belongs to another part of the program, which
	// closes it. If Owned is nil, no connection does.
	Owned   func(net.Conn) bool
	Handler Handler // answers the requests
	MaxBody int     // maximum size of a request body, in bytes
	General bool    // plain requests are served like all others
	// HTTP2 serves a connection whose client began with the preface of HTTP/2; read contains the
	// preface and the bytes after it. If HTTP2 is nil, such a client is refused.
	HTTP2 func(c *Connection, read []byte)
	// MaxAge is how long a connection is used, give or take a tenth; 0 means no limit.
	MaxAge time.Duration
	// Handshake performs the handshake of a client that begins one, and sets the TLS field of the
	// connection. If Handshake is nil, TLS is not supported. If OnlyTLS is true, requests in clear
	// text are refused.
	Handshake func(c *Connection, socket net.Conn) (*tls.Conn, error)
	OnlyTLS   bool

	timed bool // the times of reads are noted: see TimeReads

	failures    atomic.Uint64 // number of failures to accept
	handshaking atomic.Int64  // nanoseconds, see HandshakeTime
	// Resume makes a goroutine call Serve for a connection that was parked. It must not block. If it
	// is nil, connections wait in their goroutines.
	Resume func(*Connection)
	// Share calls Serve for a connection that is shared. If it is nil, none is.
	Share func(*Connection)

	descriptors descriptors
	scarce      bool // the last failure was that only reserved descriptors were left

	closing sync.Once
	closed  error
	ended   chan struct{} // closed with the listener
	// patience is how long a connection may wait for another request once the listener is closed;
	// it does not change after that.
	patience time.Duration
	hurrying sync.Mutex // held while ExpireIdle or parkIdle sets deadlines

	clock clock
	lot   lot
	// Pacer keeps what waits, and wakes the runtime when pauses end; nil in tests without one.
	Pacer *pacer.Pacer

	mu   sync.Mutex    // guards the fields below
	open []*Connection // each has its index
	cut  bool          // closeAll was called
	last uint32        // the shard of the last accepted connection
}

// New returns a Connections that accepts from l. The log may be nil if nothing is accepted.
func New(l net.Listener, log *slog.Logger) *Connections {
	c := &Connections{
		Listener: l, log: log, refusals: loglimit.New(1, loglimit.LogSuppressed(log, "cannot accept a connection")),
		descriptors: reserveDescriptors(), ended: make(chan struct{}),
	}
	c.openLot()
	return c
}

// Stop stops what continues waiting requests, and what wakes parked connections. All connections are
// closed, or have a goroutine.
func (c *Connections) Stop() {
	c.Pacer.Close()
	c.lot.Close()
}

// TimeReads makes connections note when they are read, as time since base. It is called before the
// first connection is accepted.
func (c *Connections) TimeReads(base time.Time) { c.timed, c.clock.base = true, base }

// Failures returns how often a connection could not be accepted.
func (c *Connections) Failures() uint64 { return c.failures.Load() }

// Flush logs how many lines about connections that cannot be accepted were suppressed.
func (c *Connections) Flush() { c.refusals.Flush() }

// Accept waits this long after temporary errors: at first, and at most.
const (
	firstPause   = 5 * time.Millisecond
	longestPause = time.Second
)

// Accept waits for the next connection that does not belong to another part of the program. It
// retries after temporary errors, such as running out of descriptors.
func (c *Connections) Accept() (net.Conn, error) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		var err error
		if !c.isEnding() { // otherwise the listener reports that it is closed
			err = c.descriptors.left()
		}
		var inner net.Conn
		if err == nil {
			inner, err = c.Listener.Accept()
		}
		switch {
		case err == nil && c.Owned != nil && c.Owned(inner):
			pause = firstPause / 2
			continue
		case err == nil:
			c.scarce = false
			c.descriptors.took(inner)
			return c.Adopt(inner), nil
		case !passes(err):
			return nil, err
		}
		if c.counts(err) {
			c.failures.Add(1)
		}
		if suppressed, ok := c.refusals.Pass(time.Now()); ok {
			c.log.Warn("cannot accept a connection", "error", err.Error(), "suppressed", suppressed)
		}
		select {
		case <-time.After(pause):
		case <-c.ended: // the next Accept returns the error
		}
	}
}

// Adopt registers a connection. One that was accepted while CloseAll closed the others is closed
// too.
func (c *Connections) Adopt(inner net.Conn) *Connection {
	accepted := unused.Get().(*Connection)
	accepted.Conn, accepted.from = inner, c
	accepted.readExpires = time.Now().Add(headerTimeout)
	accepted.stay.open(accepted)
	accepted.place.open(inner)
	c.mu.Lock()
	accepted.index = len(c.open)
	c.open = append(c.open, accepted)
	c.last++
	accepted.shard = c.last
	if c.clock.timer == nil {
		c.clock.start(c.tick)
	}
	if c.MaxAge > 0 {
		accepted.expires = c.clock.exactly() + time.Duration(float64(c.MaxAge)*(0.9+0.2*rand.Float64()))
	}
	late := c.cut
	c.mu.Unlock()
	if late {
		_ = accepted.CloseNow() // it is closed either way
	}
	return accepted
}

// counts reports whether err counts as a failure to accept a waiting connection, which means that
// some resource has run out. While only reserved descriptors are left, only the first failure
// counts, because perhaps no connection is waiting.
func (c *Connections) counts(err error) bool {
	scarce := errors.Is(err, errReserved)
	first := !scarce || !c.scarce
	c.scarce = scarce
	return first && slices.ContainsFunc([]syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM},
		func(e syscall.Errno) bool { return errors.Is(sockio.Portable(err), e) })
}

// passes reports whether accepting may succeed again after err: some resource has run out, the
// client went away, a firewall forbade the connection, or the connection already has a network
// error, which accept returns (accept(2), "Error handling").
func passes(err error) bool {
	err = sockio.Portable(err)
	return slices.ContainsFunc([]syscall.Errno{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.EPERM,
		syscall.ENETDOWN, syscall.EPROTO, syscall.ENOPROTOOPT, syscall.EHOSTDOWN, syscall.EHOSTUNREACH,
		syscall.EOPNOTSUPP, syscall.ENETUNREACH, syscall.ETIMEDOUT,
	}, func(e syscall.Errno) bool { return errors.Is(err, e) })
}

// Close calls End with no patience.
func (c *Connections) Close() error { return c.End(0) }

// End closes the listener and sets the patience on the first call. Every call returns the result of
// the first one.
func (c *Connections) End(patience time.Duration) error {
	c.closing.Do(func() {
		c.patience = patience
		c.closed = c.Listener.Close()
		close(c.ended)
	})
	return c.closed
}

// isEnding reports whether the listener was closed.
func (c *Connections) isEnding() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// ExpireIdle lets the connections that wait for a request wait only a little longer: a request may be on
// its way, and its response says that the connection is closing. Without ExpireIdle these connections
// would delay the shutdown by the idle timeout, or by the timeout for headers. The listener is
// already closed, so a connection that starts to wait from now on sees that. The reads of
// connections that have left HTTP/1.1 are interrupted at once.
func (c *Connections) ExpireIdle() {
	c.hurrying.Lock()
	defer c.hurrying.Unlock()
	c.lot.End()
	now := time.Now()
	for _, conn := range c.all() { // if setting a deadline fails, reading fails too
		wait := c.patience
		if !conn.spoke.Load() {
			wait = c.moment()
		}
		switch state := conn.idle.Load(); {
		case state == isParked && conn.upgraded.Load():
			c.lot.hurry(conn, 0)
		case state == isParked:
			c.lot.hurry(conn, wait)
		case state == isDelayed:
		case conn.upgraded.Load():
			_ = conn.Conn.SetReadDeadline(now) // wakes the connection
		case conn.takeIdle() || !conn.spoke.Load():
			_ = conn.Conn.SetReadDeadline(now.Add(wait))
		}
	}
	c.lot.Expire()
	time.AfterFunc(c.patience, c.lot.Expire) // not before the times that were set above
	time.AfterFunc(c.moment(), c.lot.Expire)
}

// Prompt makes what waits on connections look at once whether it goes on.
func (c *Connections) Prompt() {
	for _, conn := range c.all() {
		conn.prompt()
	}
}

// moment returns for how long a client may still send if it never sent anything, or has just
// received its last response.
func (c *Connections) moment() time.Duration { return max(lastMoment, c.patience) }

// closeTime is how long CloseAll waits for connections to close.
const closeTime = time.Second

// CloseAll closes every connection, including those that are still being accepted, and returns
// those that were open. A connection that answers a request within a read closes after that: CloseAll
// does not wait longer than closeTime for it.
func (c *Connections) CloseAll() []*Connection {
	c.mu.Lock()
	c.cut = true
	c.mu.Unlock()
	all := c.all()
	var closing sync.WaitGroup
	for _, conn := range all {
		if conn.idle.Load() >= isParked { // nothing has to end first, so that many need no goroutines
			_ = conn.CloseNow() // it is closed either way
			continue
		}
		closing.Go(func() { _ = conn.CloseNow() })
	}
	closed := make(chan struct{})
	go func() {
		closing.Wait()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(closeTime):
	}
	return all
}

// all returns every open connection.
func (c *Connections) all() []*Connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.open)
}

// Count returns the number of open connections.
func (c *Connections) Count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}

func (c *Connections) forget(conn *Connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last := len(c.open) - 1; conn.index <= last && c.open[conn.index] == conn {
		c.open[conn.index] = c.open[last]
		c.open[conn.index].index = conn.index
		c.open[last] = nil
		c.open = c.open[:last]
	}
}

// tick sets the clock, until no connection is open.
func (c *Connections) tick() {
	c.mu.Lock()
	some := len(c.open) > 0
	if some {
		c.clock.set()
	} else {
		c.clock.timer = nil
	}
	c.mu.Unlock()
	if some {
		c.parkIdle()
		c.lot.Expire()
		c.logDrops()
	}
}

// parkIdle wakes the connections that have been idle since it was called last, so that they are
// parked; and those that have become idle since, if more than half of the memory limit was live after the
// last collection. It is called each leaveTime. On Linux it also finds those to which something has
// happened that the poller reported together with their last request, and so for nothing: the end of what
// the client sends, or bytes after urgent data. In the set, each event counts.
func (c *Connections) parkIdle() {
	heap := [...]metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/gomemlimit:bytes"}}
	metrics.Read(heap[:])
	short := heap[0].Value.Uint64() > heap[1].Value.Uint64()/2
	c.hurrying.Lock()
	defer c.hurrying.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.open) - 1; i >= 0; i = min(i, len(c.open)) - 1 {
		conn := c.open[i]
		switch state := conn.idle.Load(); {
		case state == isLeaving || state == isIdle && short:
			if !c.isEnding() && conn.takeIdle() { // unless a request has come, or ExpireIdle sets another deadline
				_ = conn.Conn.SetReadDeadline(past) // it fails only if the connection is already closed
			}
		case state == isIdle:
			conn.idle.CompareAndSwap(isIdle, isLeaving)
		}
		if i%1000 == 0 { // others, such as Accept, wait for a part of a millisecond
			c.mu.Unlock()
			c.mu.Lock()
		}
	}
}

// errReserved means that no connection can be accepted because only reserved descriptors are left.
var errReserved = fmt.Errorf("too many open files: the remaining descriptors are reserved for the admin address and webhooks: %w", syscall.EMFILE)
