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
)

// ErrClosed is the error of Get after Close.
var ErrClosed = errors.New("the client is closed")

// Pool holds the connections to all targets: the idle ones, to be used again, and those
// in use, so that Close ends whatever waits for them. It may be used from any goroutine.
//
// The client of fasthttp has a pool too, but that one does not notice before writing
// that a target has closed a connection, and cannot end its goroutines.
type Pool struct {
	// TLS configures the connections to https targets. It may be changed before the first Get.
	TLS *tls.Config

	limit int // of open connections

	mu      sync.Mutex // guards what follows
	open    map[*Conn]struct{}
	idle    map[string][]*Conn // by target, the connection put back last at the end
	dialing int                // connections being dialed
	ctx     context.Context    // of dialing; ends with Close
	cancel  context.CancelFunc
	sweep   *time.Timer
	sweeps  bool // the timer runs
	closed  bool
}

// Conn is one connection. Whoever got it from Pool.Get uses it alone, until Put or Drop.
type Conn struct {
	net.Conn
	plain  net.Conn // Conn, or the connection below its TLS
	probe  *probe   // of plain
	target string
	failed bool      // a read met the end or an error
	since  time.Time // idle since then
}

// Read notes a failure, so that the connection is not used again.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		c.failed = true
	}
	return n, err
}

// NewPool makes a pool of at most limit open connections. There must never be more
// goroutines between Get and Put or Drop than that.
func NewPool(limit int) *Pool {
	p := &Pool{
		limit: limit,
		TLS:   &tls.Config{ClientSessionCache: tls.NewLRUClientSessionCache(0)}, // 0 leaves the size to crypto/tls
		idle:  map[string][]*Conn{},
		open:  map[*Conn]struct{}{},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.sweep = time.AfterFunc(time.Hour, p.closeOld)
	p.sweep.Stop()
	return p
}

// Get returns a connection to a target that nobody else uses, with its deadline set:
// the one put back last that is still open, or a new one. The target is a text of
// Location.AppendTarget.
func (p *Pool) Get(target string, deadline time.Time) (*Conn, error) {
	for {
		c := p.pop(target)
		if c == nil {
			return p.dial(target, deadline)
		}
		// In this order: the probe reads, which fails after the old deadline.
		if c.SetDeadline(deadline) == nil && c.probe.alive() {
			return c, nil
		}
		p.Drop(c)
	}
}

// pop takes the connection to a target that was put back last; nil for none.
func (p *Pool) pop(target string) *Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	conns := p.idle[target]
	if len(conns) == 0 {
		return nil
	}
	last := len(conns) - 1
	p.idle[target] = conns[:last] // its room is used again by Put
	return conns[last]
}

// oldest is the connection that has been idle for longest, the first of its target; nil for
// none. It looks at each target, which is cheap compared with dialing another one.
func (p *Pool) oldest() (oldest *Conn) {
	for _, conns := range p.idle {
		if len(conns) > 0 && (oldest == nil || conns[0].since.Before(oldest.since)) {
			oldest = conns[0]
		}
	}
	return oldest
}

// closeFirst closes the idle connection of a target that was put back first.
func (p *Pool) closeFirst(target string) {
	conns := p.idle[target]
	_ = conns[0].plain.Close() // nothing depends on it any more
	delete(p.open, conns[0])
	p.idle[target] = slices.Delete(conns, 0, 1)
	p.forget(target)
}

// forget removes a target without idle connections.
func (p *Pool) forget(target string) {
	if len(p.idle[target]) == 0 {
		delete(p.idle, target)
	}
}

// dial opens a connection. At the limit an idle one makes room for it.
func (p *Pool) dial(target string, deadline time.Time) (*Conn, error) {
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
	c := &Conn{Conn: plain, plain: plain, target: target, probe: newProbe(plain)}
	if err := p.enter(c); err != nil {
		return nil, err
	}
	if err := c.SetDeadline(deadline); err != nil {
		p.Drop(c)
		return nil, err
	}
	if scheme == "https" {
		name, _, _ := net.SplitHostPort(address) // dialing it succeeded
		config := p.TLS.Clone()
		config.ServerName = name
		over := tls.Client(plain, config)
		if err := over.Handshake(); err != nil {
			p.Drop(c)
			return nil, fmt.Errorf("TLS: %w", err)
		}
		c.Conn = over
	}
	return c, nil
}

// reserve announces a connection that is about to be dialed. At the limit it closes the
// connection that has been idle for longest. There is one: each of the others is in use
// by another goroutine, of which there are fewer than the limit.
func (p *Pool) reserve() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dialing++
	if len(p.open)+p.dialing > p.limit {
		if surplus := p.oldest(); surplus != nil {
			p.closeFirst(surplus.target)
		}
	}
}

// enter adds a connection that was announced to those that Close closes.
func (p *Pool) enter(c *Conn) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dialing--
	if p.closed {
		_ = c.plain.Close() // it was never used
		return ErrClosed
	}
	p.open[c] = struct{}{}
	return nil
}

// Drop closes a connection that is in use.
func (p *Pool) Drop(c *Conn) {
	_ = c.plain.Close() // before another may take its place; nothing depends on the error
	p.mu.Lock()
	delete(p.open, c)
	p.mu.Unlock()
}

// Put gives a connection back, to be used again.
func (p *Pool) Put(c *Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed { // which closed the connection too
		return
	}
	c.since = time.Now()
	p.idle[c.target] = append(p.idle[c.target], c)
	if !p.sweeps {
		p.sweeps = true
		p.sweep.Reset(idleTime)
	}
}

// closeOld closes the connections that have been idle for idleTime.
func (p *Pool) closeOld() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for target := range p.idle {
		for len(p.idle[target]) > 0 && time.Since(p.idle[target][0].since) >= idleTime {
			p.closeFirst(target)
		}
		p.forget(target)
	}
	oldest := p.oldest()
	if p.sweeps = oldest != nil && !p.closed; p.sweeps {
		p.sweep.Reset(idleTime - time.Since(oldest.since))
	}
}

// Close closes every connection and breaks off what is being dialed. Requests that are
// on their way fail.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.cancel()
	p.sweep.Stop()
	for c := range p.open {
		_ = c.plain.Close() // whoever uses it gets the error
	}
	clear(p.idle)
	clear(p.open)
}

// Closed reports whether Close was called.
func (p *Pool) Closed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}
