package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"mockserver/internal/clienttls"
)

// ErrClosed is returned by Get after Close.
var ErrClosed = errors.New("the client is closed")

// Pool contains the connections to all targets: the idle ones, which are reused, and those in use,
// so that Close can abort their requests. It may be used from any goroutine.
//
// The client of fasthttp also has a pool, but that pool does not notice before writing that a
// target has closed a connection, and it cannot end its goroutines.
type Pool struct {
	// TLS configures the connections to https targets for which Get is given no files. It may be
	// changed only before the first Get.
	TLS *tls.Config

	limit int // maximum number of open connections

	mu      sync.Mutex // guards the fields below
	open    map[*Conn]struct{}
	idle    map[place][]*Conn // the connection put back last is at the end
	dialing int               // connections being dialed
	ctx     context.Context   // used for dialing; canceled by Close
	cancel  context.CancelFunc
	sweep   *time.Timer
	sweeps  bool // the timer is running
}

// Conn is one connection. The caller that got it from Pool.Get has exclusive use of it until Put or
// Drop.
type Conn struct {
	net.Conn
	plain  net.Conn // Conn, or the connection below its TLS
	probe  *probe   // probes plain
	place  place
	failed bool      // a read returned an error or the end of the stream
	since  time.Time // idle since then
	asking *asking   // nil before the first Ask
}

// place identifies the connections that are interchangeable: their target and the files of their
// TLS configuration.
type place struct {
	target string
	over   clienttls.Files
}

// Kept reports whether the connection was idle before, in which case its target may just have
// closed it.
func (c *Conn) Kept() bool { return !c.since.IsZero() }

// Read records a failure, so that the connection is not reused.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		c.failed = true
	}
	return n, err
}

// NewPool returns a pool of at most limit open connections. There must never be more goroutines
// than that between Get and Put or Drop.
func NewPool(limit int) *Pool {
	p := &Pool{
		limit: limit,
		TLS:   &tls.Config{ClientSessionCache: tls.NewLRUClientSessionCache(0)}, // 0 leaves the size to crypto/tls
		idle:  map[place][]*Conn{},
		open:  map[*Conn]struct{}{},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.sweep = time.AfterFunc(time.Hour, func() { p.closeOld(idleTime) })
	p.sweep.Stop()
	return p
}

// Get returns a connection to a target for exclusive use, with its deadline set: the one put back
// last that is still open, or a new one. The target has the format of Location.AppendTarget; over
// names the TLS files for https targets.
func (p *Pool) Get(target string, over clienttls.Files, deadline time.Time) (*Conn, error) {
	to := place{target, over}
	for {
		c := p.pop(to)
		if c == nil {
			return p.Dial(target, over, deadline)
		}
		if c.ready(deadline) {
			return c, nil
		}
		p.Drop(c)
	}
}

// ready sets the deadline, and reports whether an idle connection is still open.
func (c *Conn) ready(deadline time.Time) bool {
	// The deadline must be set first: the probe reads, which fails after the old deadline.
	return c.SetDeadline(deadline) == nil && c.probe.alive()
}

// Take is like Get for callers of Ask: an idle connection for which Asks returns true is neither
// checked nor given a deadline.
func (p *Pool) Take(target string, over clienttls.Files, deadline time.Time) (*Conn, error) {
	c := p.pop(place{target, over})
	switch {
	case c == nil:
		return p.Dial(target, over, deadline)
	case c.Asks() || c.ready(deadline):
		return c, nil
	}
	p.Drop(c)
	return p.Get(target, over, deadline)
}

// pop removes and returns the connection to a place that was put back last; nil if there is none.
func (p *Pool) pop(to place) *Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	conns := p.idle[to]
	if len(conns) == 0 {
		return nil
	}
	last := len(conns) - 1
	p.idle[to] = conns[:last] // Put reuses the capacity
	return conns[last]
}

// oldest returns the connection that has been idle longest, which is the first one of its target;
// nil if there is none. It checks every target, which is cheap compared with dialing a connection.
func (p *Pool) oldest() (oldest *Conn) {
	for _, conns := range p.idle {
		if len(conns) > 0 && (oldest == nil || conns[0].since.Before(oldest.since)) {
			oldest = conns[0]
		}
	}
	return oldest
}

// closeFirst closes the first idle connection to a place, which is the one that was put back first.
func (p *Pool) closeFirst(to place) {
	conns := p.idle[to]
	_ = conns[0].plain.Close() // the connection is no longer needed
	delete(p.open, conns[0])
	p.idle[to] = slices.Delete(conns, 0, 1)
	p.forget(to)
}

// forget removes a place without idle connections.
func (p *Pool) forget(to place) {
	if len(p.idle[to]) == 0 {
		delete(p.idle, to)
	}
}

// Dial returns a new connection to a target, as Get does. At the limit an idle connection is closed
// to make room for it.
func (p *Pool) Dial(target string, over clienttls.Files, deadline time.Time) (*Conn, error) {
	to := place{target, over}
	scheme, address, _ := strings.Cut(target, "://")
	ctx, cancel := context.WithDeadline(p.ctx, deadline)
	defer cancel()
	p.reserve()
	var dialer net.Dialer
	plain, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		p.mu.Lock()
		p.dialing--
		p.mu.Unlock()
		return nil, err
	}
	c := &Conn{Conn: plain, plain: plain, place: to, probe: newProbe(plain)}
	if err := p.enter(c); err != nil {
		return nil, err
	}
	if err := c.SetDeadline(deadline); err != nil {
		p.Drop(c)
		return nil, err
	}
	if scheme == "https" {
		if c.Conn, err = p.secure(plain, address, to.over); err != nil {
			p.Drop(c)
			return nil, fmt.Errorf("TLS: %w", err)
		}
	}
	return c, nil
}

// secure begins TLS on a connection. Declared files are read again for each connection, so they may
// change, and no session of one client certificate is resumed with another.
func (p *Pool) secure(plain net.Conn, address string, over clienttls.Files) (net.Conn, error) {
	config := p.TLS.Clone()
	if over != (clienttls.Files{}) {
		var err error
		if config, err = over.Config(); err != nil {
			return nil, err
		}
	}
	config.ServerName, _, _ = net.SplitHostPort(address) // dialing it succeeded
	conn := tls.Client(plain, config)
	return conn, conn.Handshake()
}

// reserve registers a connection that is about to be dialed. At the limit it closes the connection
// that has been idle longest. There is an idle one: every connection in use belongs to another
// goroutine, and there are fewer of those than the limit.
func (p *Pool) reserve() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dialing++
	if len(p.open)+p.dialing > p.limit {
		if surplus := p.oldest(); surplus != nil {
			p.closeFirst(surplus.place)
		}
	}
}

// enter adds a connection that was registered by reserve to the open connections, which Close
// closes. After Close, enter closes the connection and returns ErrClosed.
func (p *Pool) enter(c *Conn) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dialing--
	if p.Closed() {
		_ = c.plain.Close() // it was never used
		return ErrClosed
	}
	p.open[c] = struct{}{}
	return nil
}

// Drop closes a connection that is in use.
func (p *Pool) Drop(c *Conn) {
	_ = c.plain.Close() // before another connection may take its place; the error does not matter
	p.mu.Lock()
	delete(p.open, c)
	p.mu.Unlock()
}

// Put returns a connection to the pool for reuse.
func (p *Pool) Put(c *Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Closed() { // Close has closed the connection
		return
	}
	c.since = time.Now()
	p.idle[c.place] = append(p.idle[c.place], c)
	if !p.sweeps {
		p.sweeps = true
		p.sweep.Reset(idleTime)
	}
}

// CloseIdle closes the idle connections.
func (p *Pool) CloseIdle() { p.closeOld(0) }

// closeOld closes the connections that have been idle for an age.
func (p *Pool) closeOld(age time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for to := range p.idle {
		for len(p.idle[to]) > 0 && time.Since(p.idle[to][0].since) >= age {
			p.closeFirst(to)
		}
		p.forget(to)
	}
	oldest := p.oldest()
	if p.sweeps = oldest != nil && !p.Closed(); p.sweeps {
		p.sweep.Reset(idleTime - time.Since(oldest.since))
	}
}

// Close closes all connections and aborts dialing. Requests in flight fail.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cancel()
	p.sweep.Stop()
	for c := range p.open {
		_ = c.plain.Close() // its user gets the error
	}
	clear(p.idle)
	clear(p.open)
}

// Closed reports whether Close was called.
func (p *Pool) Closed() bool { return p.ctx.Err() != nil }
