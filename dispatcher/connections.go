package dispatcher

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// connections is those to the targets: the idle ones, to be used again, and those
// in use, so that the end of the queue is the end of what waits on them. The client
// of fasthttp keeps its own, but tells neither that one has been closed by the
// target before it is written to, nor ends its goroutines when asked.
type connections struct {
	most int         // that may be open, one for each worker
	tls  *tls.Config // of all targets

	mu       sync.Mutex // guards what follows
	open     map[*connection]struct{}
	idle     map[string]*connection // of each target the one put aside last
	oldest   *connection            // of all that are idle the one that has been for longest
	newest   *connection
	coming   int             // that are being dialled
	dialling context.Context // ends with close
	cancel   context.CancelFunc
	sweep    *time.Timer
	swept    bool // the timer runs
	closed   bool
}

// connection is one connection. It is read by way of Read, so that it knows when
// something has gone wrong with it.
type connection struct {
	net.Conn
	plain  net.Conn // Conn, or what is under its TLS
	pulse  *pulse   // of plain
	target string
	failed bool // reading met the end, or an error

	// While it is idle, its neighbours: those of its target, and those of all.
	since        time.Time
	above, below *connection
	newer, older *connection
}

func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		c.failed = true
	}
	return n, err
}

func newConnections(most int) *connections {
	c := &connections{
		most: most,
		tls:  &tls.Config{ClientSessionCache: tls.NewLRUClientSessionCache(0)}, // of a size that crypto/tls chooses
		idle: map[string]*connection{},
		open: map[*connection]struct{}{},
	}
	c.dialling, c.cancel = context.WithCancel(context.Background())
	c.sweep = time.AfterFunc(time.Hour, c.closeOld)
	c.sweep.Stop()
	return c
}

// get returns a connection to a target that nobody else uses, with its deadline
// set: the one put aside last that is still open, or a new one.
func (c *connections) get(target string, deadline time.Time) (*connection, error) {
	for {
		conn := c.pop(target)
		if conn == nil {
			return c.dial(target, deadline)
		}
		// In this order: what waits for its target to speak may be past its old deadline.
		if conn.SetDeadline(deadline) == nil && conn.pulse.beats() {
			return conn, nil
		}
		c.drop(conn)
	}
}

func (c *connections) pop(target string) *connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	conn := c.idle[target]
	if conn != nil {
		c.unlink(conn)
	}
	return conn
}

// dial opens a connection, for which another makes room where there are as many as
// may be.
func (c *connections) dial(target string, deadline time.Time) (*connection, error) {
	scheme, address, _ := strings.Cut(target, "://")
	ctx, cancel := context.WithDeadline(c.dialling, deadline)
	defer cancel()
	c.reserve()
	var dialer net.Dialer
	plain, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		c.mu.Lock()
		c.coming--
		c.mu.Unlock()
		return nil, err
	}
	conn := &connection{Conn: plain, plain: plain, target: target, pulse: newPulse(plain)}
	if err := c.enter(conn); err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(deadline); err != nil {
		c.drop(conn)
		return nil, err
	}
	if scheme == "https" {
		name, _, _ := net.SplitHostPort(address) // it could be dialled
		config := c.tls.Clone()
		config.ServerName = name
		over := tls.Client(plain, config)
		if err := over.Handshake(); err != nil {
			c.drop(conn)
			return nil, fmt.Errorf("TLS: %w", err)
		}
		conn.Conn = over
	}
	return conn, nil
}

var errBrokenOff = errors.New("broken off: the webhook queue is closed")

// reserve announces a connection that is about to be dialled. When there are as many
// as may be, the one that has been idle for longest is closed; there is one, as each
// of the others has a worker, and the caller is a worker without.
func (c *connections) reserve() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.coming++
	if len(c.open)+c.coming > c.most && c.oldest != nil {
		surplus := c.oldest
		c.unlink(surplus)
		_ = surplus.plain.Close() // it is done with
		delete(c.open, surplus)
	}
}

// enter makes a connection that was announced one of those that close with the queue.
func (c *connections) enter(conn *connection) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.coming--
	if c.closed {
		_ = conn.plain.Close() // it was never used
		return errBrokenOff
	}
	c.open[conn] = struct{}{}
	return nil
}

// drop closes a connection that is in use.
func (c *connections) drop(conn *connection) {
	_ = conn.plain.Close() // it is done with; before another may take its place
	c.mu.Lock()
	delete(c.open, conn)
	c.mu.Unlock()
}

// put gives a connection back to be used again.
func (c *connections) put(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed { // and so is the connection
		return
	}
	conn.since = time.Now()
	c.link(conn)
	if !c.swept {
		c.swept = true
		c.sweep.Reset(idleTime)
	}
}

// link makes a connection idle.
func (c *connections) link(conn *connection) {
	if conn.below = c.idle[conn.target]; conn.below != nil {
		conn.below.above = conn
	}
	c.idle[conn.target] = conn
	if conn.older = c.newest; conn.older != nil {
		conn.older.newer = conn
	} else {
		c.oldest = conn
	}
	c.newest = conn
}

// unlink makes an idle connection one that is in use.
func (c *connections) unlink(conn *connection) {
	switch {
	case conn.above != nil:
		conn.above.below = conn.below
	case conn.below != nil:
		c.idle[conn.target] = conn.below
	default:
		delete(c.idle, conn.target)
	}
	if conn.below != nil {
		conn.below.above = conn.above
	}
	if conn.older != nil {
		conn.older.newer = conn.newer
	} else {
		c.oldest = conn.newer
	}
	if conn.newer != nil {
		conn.newer.older = conn.older
	} else {
		c.newest = conn.older
	}
	conn.above, conn.below, conn.older, conn.newer = nil, nil, nil, nil
}

// closeOld closes the connections that nobody has needed for long.
func (c *connections) closeOld() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := c.oldest; conn != nil && time.Since(conn.since) >= idleTime; conn = c.oldest {
		c.unlink(conn)
		delete(c.open, conn)
		_ = conn.plain.Close() // it is done with
	}
	if c.swept = c.oldest != nil && !c.closed; c.swept {
		c.sweep.Reset(idleTime - time.Since(c.oldest.since))
	}
}

// close closes every connection.
func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.cancel()
	c.sweep.Stop()
	for conn := range c.open {
		_ = conn.plain.Close() // whoever uses it is told
	}
	clear(c.idle)
	clear(c.open)
	c.oldest, c.newest = nil, nil
}

// isClosed tells whether close was called.
func (c *connections) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}
