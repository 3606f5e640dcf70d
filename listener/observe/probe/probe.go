// Package probe measures how late a server is. In a beat, a goroutine waits until a set time, as
// requests wait for their bytes, and the probe measures how long after that time the goroutine
// runs. Less often, in an echo, the probe connects to the listening socket and sends a byte, which
// comes back through the backlog, the accept loop, the poller and the scheduler, as a request does.
// The probe knows no protocol.
//
// A beat or an echo is due whether or not the earlier ones are over. So a stall of the process
// delays all beats and echoes that are due during the stall, just as it delays the requests of an
// open-loop load generator.
package probe

import (
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"mockserver/internal/alarm"
	"mockserver/internal/histogram"
)

// pace is the interval between beats and between echoes.
type pace struct{ beats, echoes time.Duration }

// A sleeping process needs about 100 µs of CPU time each time it is woken; a process with many
// requests is awake anyway.
var (
	// full is the pace at fullRate requests a second or more, waitingRate of which wait: a stall of a
	// few milliseconds a second delays those that arrive in it and those whose wait ends in it, and is
	// certain to cover some beats in three seconds.
	full = pace{5 * time.Millisecond, 500 * time.Millisecond}
	// busy is the pace at busyRate requests a second or more. A stall of 20 ms covers one or two
	// beats.
	busy = pace{15 * time.Millisecond, 500 * time.Millisecond}
	// light is the pace at lower rates.
	light = pace{20 * time.Millisecond, 500 * time.Millisecond}
	// idle is the pace without requests.
	idle = pace{200 * time.Millisecond, time.Second}
)

const (
	fullRate    = 1000
	waitingRate = 100
	busyRate    = 100
	// attentive is how long the pace stays unchanged after the rate of requests has dropped.
	attentive = 2 * time.Second
)

// Probe measures one server, between Start and Stop.
type Probe struct {
	to      *net.TCPAddr // nil if the probe cannot connect to the server
	started atomic.Bool
	ended   sync.WaitGroup
	asking  chan struct{} // an echo is due

	mu        sync.Mutex         // guards the fields below
	cancel    context.CancelFunc // nil before Start
	stopped   bool
	served    uint64      // number of requests, as passed to Served
	waited    uint64      // number of requests that waited, as passed to Served
	updated   time.Time   // when Served was last called
	serving   time.Time   // when there last were requests
	many      time.Time   // when there last were busyRate requests a second
	most      time.Time   // when there last were fullRate requests a second, and waitingRate that waited
	figures   [2]figures  // measured without requests, and with requests
	next      time.Time   // when the beat that has not run yet is due; zero before the first
	due       []time.Time // when the echoes that are not back yet were due, the earliest first
	connected bool        // a connection was made: the server can be reached
	failed    uint64
	problem   error
	ports     map[int]struct{}
	accepted  map[net.Conn]struct{} // the server's ends of the connections
}

// figures holds the delays that were measured.
type figures struct{ beats, echoes histogram.Histogram }

// Figures contains the measurements of a probe since it was started.
type Figures struct {
	// Serving is what was measured while there were requests, and Idle is what was measured
	// otherwise.
	Serving, Idle Lateness
	Waiting       histogram.Snapshot // how late the echoes are that are due but not back yet
	Overdue       time.Duration      // how late the beat is that has not run yet
	Failed        uint64             // connections that could not be made, or that broke
	// Problem is the error of the last failed connection; nil if none. No echo counts as late if
	// no connection was ever made, or if a connection failed for lack of a resource on the probe's
	// side.
	Problem error
}

// Lateness is how late beats were, and how long after their due time echoes came back.
type Lateness struct{ Beats, Echoes histogram.Snapshot }

// Since returns what has been measured since an earlier reading.
func (l Lateness) Since(earlier Lateness) Lateness {
	return Lateness{l.Beats.Since(earlier.Beats), l.Echoes.Since(earlier.Echoes)}
}

// New returns a probe of the server that listens at an address. The probe sends no bytes if the
// address is not a TCP address, or on Windows.
func New(listening net.Addr) *Probe {
	p := &Probe{updated: time.Now(), asking: make(chan struct{}, 1), ports: map[int]struct{}{}, accepted: map[net.Conn]struct{}{}}
	if tcp, ok := listening.(*net.TCPAddr); ok && canBind {
		to := *tcp
		if to.IP.IsUnspecified() {
			to.IP = net.IPv4(127, 0, 0, 1) // a socket that listens on [::] also accepts IPv4 connections
		}
		p.to = &to
	}
	return p
}

// Start begins to measure in the background on the first call, unless Stop was called before.
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

// Stop stops the probe, closes its connections, and returns when that is done. Calling it on a nil
// probe does nothing.
func (p *Probe) Stop() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.stopped = true
	p.due = nil // nothing waits for the echoes any more
	if p.cancel != nil {
		p.cancel()
	}
	for conn := range p.accepted {
		_ = conn.Close() // then its goroutine ends
	}
	p.mu.Unlock()
	p.ended.Wait()
}

// Served tells the probe the number of requests and messages so far, how many requests had a latency or
// waited for an upstream, and how many are being served: with few or none, the probe measures less often.
func (p *Probe) Served(requests, waited uint64, inFlight int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if away := now.Sub(p.updated); away > attentive { // the process was stopped; requests may have waited
		p.serving, p.many, p.most = p.serving.Add(away), p.many.Add(away), p.most.Add(away)
	}
	stuck := len(p.due) > 1 && p.updated.Sub(p.serving) < attentive // requests may wait to be accepted
	if requests != p.served || inFlight > 0 || stuck {
		p.serving = now
	}
	seconds := now.Sub(p.updated).Seconds()
	rate := float64(requests-p.served) / seconds
	if rate >= busyRate {
		p.many = now
	}
	if rate >= fullRate && float64(waited-p.waited) >= waitingRate*seconds {
		p.most = now
	}
	p.served, p.waited, p.updated = requests, waited, now
}

// Figures returns what has been measured so far.
func (p *Probe) Figures() Figures {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := Figures{Failed: p.failed, Problem: p.problem}
	for i, into := range []*Lateness{&f.Idle, &f.Serving} {
		p.figures[i].beats.Read(&into.Beats)
		p.figures[i].echoes.Read(&into.Echoes)
	}
	var waiting histogram.Histogram
	for _, due := range p.due {
		waiting.Add(time.Since(due))
	}
	waiting.Read(&f.Waiting)
	if !p.next.IsZero() {
		f.Overdue = max(time.Since(p.next), 0)
	}
	return f
}

// beat measures how late this goroutine runs after each beat, and signals when an echo is due.
func (p *Probe) beat(ctx context.Context) {
	clock := alarm.New() // it wakes the poller as a request does
	context.AfterFunc(ctx, clock.Close)
	slot := time.Now()
	echo := slot
	for {
		at := p.pace()
		// The beat is at a random time in the first half of its slot, so that it is not in step
		// with anything that disturbs the server.
		due := slot.Add(rand.N(at.beats / 2))
		p.mu.Lock()
		p.next = due
		p.mu.Unlock()
		for left := time.Until(due); left > 0; left = time.Until(due) {
			if clock.Set(left); !clock.Wait() {
				return
			}
		}
		slot = slot.Add(at.beats)
		now := time.Now()
		p.mu.Lock()
		p.current().beats.Add(now.Sub(due))
		if p.to != nil && !now.Before(echo) {
			if len(p.due) < mostDue {
				p.due = append(p.due, due)
			}
			echo = echo.Add(at.echoes)
			select {
			case p.asking <- struct{}{}:
			default: // the last echo is still in progress
			}
		}
		p.mu.Unlock()
	}
}

// pace returns the current pace. It depends on the time of the last call to Served, not on the
// current time: if the process has been stopped since, as many beats are due in that time as
// without the stop.
func (p *Probe) pace() pace {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.updated.Sub(p.most) < attentive:
		return full
	case p.updated.Sub(p.many) < attentive:
		return busy
	case p.updated.Sub(p.serving) < attentive:
		return light
	}
	return idle
}

// current returns the figures that are being measured now. The caller must hold the lock.
func (p *Probe) current() *figures {
	if p.updated.Sub(p.serving) < attentive {
		return &p.figures[1]
	}
	return &p.figures[0]
}
