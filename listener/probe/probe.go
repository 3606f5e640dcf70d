// Package probe measures how late a server is at what it does. It has a goroutine wait for
// a time, as requests wait for their bytes, and measures how long after it the goroutine
// runs: a beat. More seldom it connects to the listening socket and sends a byte, which
// comes back through the backlog, the accept loop, the poller and the scheduler, as a
// request goes. It knows no protocol.
//
// A beat or a byte is due whether or not those before it are over. So a stall of the
// process delays all that were due during the stall, as it delays the requests of an
// open-loop load generator.
package probe

import (
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"mockserver/internal/histogram"
)

// pace is how often something is due.
type pace struct{ beats, bytes time.Duration }

var (
	// serving is the pace while there are requests. A stall of 20 ms meets two beats.
	serving = pace{10 * time.Millisecond, 250 * time.Millisecond}
	// idle is the pace without them: each time it is woken, a process that sleeps needs about
	// 100 µs of a CPU.
	idle = pace{200 * time.Millisecond, time.Second}
)

// attentive is for how long the pace is that of serving after the last request.
const attentive = 2 * time.Second

// Probe measures one server, from Start to Stop.
type Probe struct {
	to      *net.TCPAddr // nil if it cannot be connected to
	started atomic.Bool
	ended   sync.WaitGroup
	asking  chan struct{} // a byte is due

	mu       sync.Mutex         // guards what follows
	cancel   context.CancelFunc // nil before Start
	stopped  bool
	requests uint64    // as Served was told
	busy     time.Time // when there were requests for the last time
	late     histogram.Histogram
	due      []time.Time // when the bytes were due that are not back, the first one first
	failed   uint64
	problem  error
	ports    map[int]struct{}
	accepted map[net.Conn]struct{} // the server's ends of the connections
}

// Figures are what a probe has measured since it was started.
type Figures struct {
	Late    histogram.Snapshot // how late beats were, and how long after they were due bytes were back
	Waiting histogram.Snapshot // how late the bytes are that are due and not back
	Failed  uint64             // connections that could not be made, or that broke
	Problem error              // of the last of those; nil for none
}

// New returns a probe of the server that listens at an address. It sends no bytes if that
// is no TCP address, or on Windows.
func New(listening net.Addr) *Probe {
	p := &Probe{asking: make(chan struct{}, 1), ports: map[int]struct{}{}, accepted: map[net.Conn]struct{}{}}
	if tcp, ok := listening.(*net.TCPAddr); ok && canBind {
		to := *tcp
		if to.IP.IsUnspecified() {
			to.IP = net.IPv4(127, 0, 0, 1) // a socket that listens at [::] accepts it too
		}
		p.to = &to
	}
	return p
}

// Start begins to measure in the background, the first time, unless Stop was called.
func (p *Probe) Start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped || p.cancel != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.started.Store(true)
	p.ended.Go(func() { p.beat(ctx) })
	if p.to != nil {
		p.ended.Go(func() { p.ask(ctx) })
	}
}

// Stop ends the probe and its connections, and returns when they have ended. A nil probe
// ignores it.
func (p *Probe) Stop() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.stopped = true
	p.due = nil // they are not waited for
	if p.cancel != nil {
		p.cancel()
	}
	for conn := range p.accepted {
		_ = conn.Close() // its goroutine ends with it
	}
	p.mu.Unlock()
	p.ended.Wait()
}

// Served tells the probe how many requests there were so far, and how many are being
// served: without any it measures more seldom.
func (p *Probe) Served(requests uint64, inFlight int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if requests != p.requests || inFlight > 0 {
		p.requests, p.busy = requests, time.Now()
	}
}

// Figures returns what was measured so far.
func (p *Probe) Figures() Figures {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := Figures{Failed: p.failed, Problem: p.problem}
	p.late.Read(&f.Late)
	var waiting histogram.Histogram
	for _, due := range p.due {
		waiting.Add(time.Since(due))
	}
	waiting.Read(&f.Waiting)
	return f
}

// beat counts how late this goroutine runs after each beat, and says when a byte is due.
func (p *Probe) beat(ctx context.Context) {
	wait := newClock(ctx)
	slot := time.Now()
	nextByte := slot
	for {
		at := p.pace()
		// Somewhere in its slot, lest it be in step with what disturbs the server.
		due := slot.Add(rand.N(at.beats))
		if !wait(due) {
			return
		}
		slot = slot.Add(at.beats)
		now := time.Now()
		p.mu.Lock()
		p.late.Add(now.Sub(due))
		if p.to != nil && !now.Before(nextByte) {
			p.due = append(p.due, due)
			nextByte = nextByte.Add(at.bytes)
			select {
			case p.asking <- struct{}{}:
			default: // it is asking still
			}
		}
		p.mu.Unlock()
	}
}

// pace returns how often something is due at present.
func (p *Probe) pace() pace {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.busy) < attentive {
		return serving
	}
	return idle
}
