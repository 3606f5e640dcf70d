// Package probe measures what a client meets at a listening socket. It connects to it from
// the same process, sends a byte every few milliseconds, and measures how long after it
// was due each byte is back: through the backlog, the accept loop, the scheduler, the
// poller and the socket, as a request goes. It knows no protocol.
//
// A byte is due whether or not those before it are back. So a stall of the process delays
// every byte that was due during the stall, as it delays the requests of an open-loop load
// generator.
package probe

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"mockserver/internal/histogram"
)

const (
	// Every is how often a byte is due. A stall of 20 ms meets two.
	Every = 10 * time.Millisecond
	// bytesEach is how many bytes are due on a connection. Then another one has to be
	// accepted.
	bytesEach = 25
	// patience bounds the wait for a connection, and for the bytes on it. After it another
	// connection is tried, and the bytes are still due.
	patience = 5 * time.Second
	// mostAtOnce bounds the bytes that are sent at once after a stall. Those of a longer
	// stall are counted without being sent.
	mostAtOnce = 1000
)

// Probe measures one socket, from Start to Stop.
type Probe struct {
	to      *net.TCPAddr
	started atomic.Bool
	ended   sync.WaitGroup

	mu      sync.Mutex         // guards what follows
	cancel  context.CancelFunc // nil before Start
	stopped bool
	ports   map[int]struct{}
	serving map[net.Conn]struct{} // the server's ends of the connections
	late    histogram.Histogram
	due     time.Time // when the first byte that is not back was due; zero for none
	failed  uint64
	problem error
}

// Figures are what a probe has measured since it was started.
type Figures struct {
	Late    histogram.Snapshot // how long after they were due bytes were back
	Waiting histogram.Snapshot // how late the bytes are that are due and not back
	Failed  uint64             // connections that could not be made, or that broke
	Problem error              // of the last of those; nil for none
}

// New returns a probe of a listening socket; nil if the probe cannot connect to it: if it
// is not a TCP socket, or on Windows. A nil probe does nothing.
func New(listening net.Addr) *Probe {
	tcp, ok := listening.(*net.TCPAddr)
	if !ok || !canBind {
		return nil
	}
	to := *tcp
	if to.IP.IsUnspecified() {
		to.IP = net.IPv4(127, 0, 0, 1) // a socket that listens at [::] accepts it too
	}
	return &Probe{to: &to, ports: map[int]struct{}{}, serving: map[net.Conn]struct{}{}}
}

// Start begins to send bytes in the background, the first time, unless Stop was called.
func (p *Probe) Start() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped || p.cancel != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.started.Store(true)
	p.ended.Go(func() { p.run(ctx) })
}

// Stop ends the probe and its connections, and returns when they have ended.
func (p *Probe) Stop() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.stopped = true
	if p.cancel != nil {
		p.cancel()
	}
	for conn := range p.serving {
		_ = conn.Close() // its goroutine ends with it
	}
	p.mu.Unlock()
	p.ended.Wait()
}

// Figures returns what was measured so far.
func (p *Probe) Figures() Figures {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := Figures{Failed: p.failed, Problem: p.problem}
	p.late.Read(&f.Late)
	if !p.due.IsZero() {
		var waiting histogram.Histogram
		for late := time.Since(p.due); late > 0; late -= Every {
			waiting.Add(late)
		}
		waiting.Read(&f.Waiting)
	}
	return f
}

// Owns reports whether an accepted connection is the probe's. The probe serves it then,
// and closes it.
func (p *Probe) Owns(conn net.Conn) bool {
	if p == nil || !p.started.Load() {
		return false
	}
	from, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok || !from.IP.Equal(p.to.IP) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.ports[from.Port]; !ok || p.stopped {
		return false
	}
	p.serving[conn] = struct{}{}
	p.ended.Go(func() { p.echo(conn, from.Port) })
	return true
}

// echo sends back what arrives, until the connection ends.
func (p *Probe) echo(conn net.Conn, port int) {
	defer func() {
		_ = conn.Close() // the other end has closed it, or Stop
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.ports, port)
		delete(p.serving, conn)
	}()
	var buffer [64]byte
	for {
		n, err := conn.Read(buffer[:])
		if err != nil {
			return
		}
		if _, err := conn.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// run sends the bytes that are due, each time the clock wakes it.
func (p *Probe) run(ctx context.Context) {
	next := time.Now().Add(Every)
	wait := newClock(ctx, Every)
	var conn *connection
	for wait() {
		late := time.Since(next)
		if late < 0 {
			continue
		}
		due := int(late/Every) + 1
		if lost := due - mostAtOnce; lost > 0 {
			next = p.count(next, lost)
			due = mostAtOnce
		}
		p.expect(next)
		var err error
		if conn, err = p.exchange(ctx, conn, due); err == nil {
			next = p.count(next, due)
		} else if ctx.Err() == nil {
			p.fail(err)
		}
	}
	conn.close()
}

// expect notes when the first byte was due that is not back.
func (p *Probe) expect(due time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.due = due
}

// count counts so many bytes as back, the first of which was due at a time. It returns
// when the next one is due.
func (p *Probe) count(due time.Time, n int) time.Time {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for range n {
		p.late.Add(now.Sub(due))
		due = due.Add(Every)
	}
	p.due = time.Time{}
	return due
}

func (p *Probe) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed++
	p.problem = err
}

// connection is the client's end of a connection.
type connection struct {
	net.Conn
	left int // bytes that are to be sent on it
}

// exchange sends so many bytes and returns when they are back. It returns the connection
// to send the next ones on; nil for a new one.
func (p *Probe) exchange(ctx context.Context, c *connection, n int) (*connection, error) {
	if c == nil {
		var err error
		if c, err = p.dial(ctx); err != nil {
			return nil, err
		}
	}
	var bytes [mostAtOnce]byte
	_, err := c.Write(bytes[:n])
	if err == nil {
		_, err = io.ReadFull(c, bytes[:n])
	}
	if c.left -= n; err != nil || c.left <= 0 {
		c.close()
		c = nil
	}
	return c, err
}

// dial connects from a port that Owns knows.
func (p *Probe) dial(ctx context.Context) (*connection, error) {
	port := 0
	dialer := net.Dialer{Timeout: patience, KeepAlive: -1, Control: p.control(&port)}
	conn, err := dialer.DialContext(ctx, "tcp", p.to.String())
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.ports, port)
		return nil, err
	}
	_ = conn.(*net.TCPConn).SetLinger(0) // leaves no port in TIME_WAIT
	_ = conn.SetDeadline(time.Now().Add(patience + bytesEach*Every))
	return &connection{conn, bytesEach}, nil
}

func (c *connection) close() {
	if c != nil {
		_ = c.Close() // whatever it says, it is over
	}
}
