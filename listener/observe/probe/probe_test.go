//go:build unix

package probe

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mockserver/internal/harness/volume"
)

// accepting accepts connections until the test ends. Connections that are not the probe's are
// handed to other.
func accepting(t *testing.T, p *Probe, l net.Listener, seen func(net.Conn), other chan<- net.Conn) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if seen != nil {
				seen(conn)
			}
			switch {
			case p.Owns(conn):
			case other != nil:
				other <- conn
			default:
				_ = conn.Close() // the probe has been stopped
			}
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
}

func listen(t *testing.T, network, address string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Skip(err)
	}
	return l
}

// until waits until the figures are as expected.
func until(t *testing.T, p *Probe, what string, holds func(Figures) bool) Figures {
	t.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(time.Minute); ; {
		f := p.Figures()
		if holds(f) {
			return f
		}
		if now := <-ticker.C; now.After(deadline) {
			t.Fatalf("condition never met: %s; got %d beats, %d back, %d waiting, %d failed (%v)", what, f.Serving.Beats.Count, f.Serving.Echoes.Count, f.Waiting.Count, f.Failed, f.Problem)
		}
	}
}

// started starts a probe of a server with many requests, so that the probe measures often.
func started(p *Probe) {
	p.many = time.Now().Add(time.Hour)
	p.serving = p.many
	p.Start()
}

func TestProbe_BytesComeBackWhateverTheAddress(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	addresses := []struct{ network, address string }{{"tcp", "127.0.0.1:0"}, {"tcp", ":0"}, {"tcp4", "0.0.0.0:0"}, {"tcp6", "[::1]:0"}}
	if !volume.Full() {
		addresses = addresses[1:2]
	}
	for _, at := range addresses {
		t.Run(at.network+" "+at.address, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			l := listen(t, at.network, at.address)
			p := New(l.Addr())
			var accepted atomic.Int32
			accepting(t, p, l, func(net.Conn) { accepted.Add(1) }, nil)
			started(p)
			f := until(t, p, "three bytes are back", func(f Figures) bool {
				return accepted.Load() > 3 && f.Serving.Echoes.Count >= 3 && f.Waiting.Count == 0
			})
			p.Stop()
			_ = l.Close()
			if f.Failed > 0 || len(p.ports)+len(p.accepted) > 0 {
				t.Errorf("%d failed (%v), %d ports and %d connections are left", f.Failed, f.Problem, len(p.ports), len(p.accepted))
			}
		})
	}
}

func TestProbe_OwnsNothingElse(t *testing.T) {
	l := listen(t, "tcp", "127.0.0.1:0")
	p := New(l.Addr())
	others := make(chan net.Conn, 1)
	accepting(t, p, l, nil, others)
	started(p)
	defer p.Stop()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	other := <-others
	defer other.Close()
	if other.RemoteAddr().String() != conn.LocalAddr().String() {
		t.Errorf("%v is not recognized as the probe's, want %v", other.RemoteAddr(), conn.LocalAddr())
	}
}

// Bytes that are due while no connection is accepted already count as late, and stay late once
// connections are accepted, each by the time since it was due.
func TestProbe_BytesAreLateFromWhenTheyWereDue(t *testing.T) {
	l := listen(t, "tcp", "127.0.0.1:0")
	p := New(l.Addr())
	started(p)
	defer p.Stop()
	f := until(t, p, "3 are waiting", func(f Figures) bool { return f.Waiting.Count >= 3 })
	least := 2*busy.echoes - busy.beats // an echo is due with a beat
	if f.Waiting.Max < least || f.Waiting.Quantile(0) > busy.echoes {
		t.Errorf("waiting from %v to %v; want 0 to 485 ms", f.Waiting.Quantile(0), f.Waiting.Max)
	}
	accepting(t, p, l, nil, nil)
	f = until(t, p, "they are back", func(f Figures) bool { return f.Waiting.Count == 0 })
	if f.Serving.Echoes.Max < least || f.Failed > 0 {
		t.Errorf("late by at most %v, %d failed; want at least 485 ms, and 0", f.Serving.Echoes.Max, f.Failed)
	}
}

// While no processor is available, the beat in each slot is late.
func TestProbe_BeatsAreLateWhenNothingRuns(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	p := New(&net.UnixAddr{Name: "x", Net: "unix"}) // a probe that sends no bytes
	started(p)
	defer p.Stop()
	begun := time.Now()
	for time.Since(begun) < time.Second { // the loop is preempted now and then
		runtime.KeepAlive(p)
	}
	until(t, p, "some beats are late", func(f Figures) bool { return f.Serving.Beats.Count > 10 && f.Serving.Beats.Max > busy.beats/2 })
}

// A beat that is due and has not run counts as late now.
func TestProbe_ABeatThatHasNotRunIsOverdue(t *testing.T) {
	p := New(&net.UnixAddr{Name: "x", Net: "unix"})
	if f := p.Figures(); f.Overdue != 0 {
		t.Errorf("overdue by %v before the first beat", f.Overdue)
	}
	if p.next = time.Now().Add(-time.Second); p.Figures().Overdue < time.Second {
		t.Errorf("overdue by %v, want a second", p.Figures().Overdue)
	}
	p.next = time.Time{}
	started(p)
	defer p.Stop()
	until(t, p, "a beat is due later", func(f Figures) bool { return f.Serving.Beats.Count > 0 && f.Overdue == 0 })
}

// Without requests there are few beats, so that a process that has nothing to do sleeps.
func TestProbe_IsSeldomWithoutRequests(t *testing.T) {
	p := New(&net.UnixAddr{Name: "x", Net: "unix"})
	if at := p.pace(); at != idle {
		t.Errorf("pace %v before any request, want %v", at, idle)
	}
	for _, c := range []struct {
		requests, waited uint64
		inFlight         int64
		pace             pace
	}{
		{0, 0, 0, idle}, {5, 0, 0, light}, {5, 0, 0, idle}, {5, 0, 1, light}, {99, 0, 0, light}, {200, 0, 0, busy},
		{9000, 0, 0, busy}, {18_000, 90, 0, busy}, {27_000, 300, 0, full}, {27_200, 500, 0, busy},
	} {
		p.serving, p.many, p.most, p.updated = time.Time{}, time.Time{}, time.Time{}, time.Now().Add(-time.Second)
		p.Served(c.requests, c.waited, c.inFlight)
		if at, serves := p.pace(), p.current() == &p.figures[1]; at != c.pace || serves == (c.pace == idle) {
			t.Errorf("%d requests, %d waited, %d in flight: pace %v, serving %v; want %v", c.requests, c.waited, c.inFlight, at, serves, c.pace)
		}
	}
}

// A process that was stopped under load does not count as idle because of the stop, however long
// the stop took.
func TestProbe_AStoppedProcessIsNotIdle(t *testing.T) {
	p := New(&net.UnixAddr{Name: "x", Net: "unix"})
	p.Served(500, 300, 3)
	p.serving, p.many, p.most, p.updated = p.serving.Add(-time.Hour), p.updated.Add(-time.Hour), p.updated.Add(-time.Hour), p.updated.Add(-time.Hour)
	for range 2 { // before Served is called again, and afterwards
		if at, serves := p.pace(), p.current() == &p.figures[1]; at != full || !serves {
			t.Errorf("pace %v, serving %v; want %v", at, serves, full)
		}
		p.Served(500, 300, 0)
	}
}

// While connections wait to be accepted, no request is served, but the process is not idle: the echoes
// that are late then are those of a server with requests.
func TestProbe_AServerThatAcceptsNothingIsNotIdle(t *testing.T) {
	p := New(&net.UnixAddr{Name: "x", Net: "unix"})
	p.Served(500, 300, 0)
	p.due = []time.Time{time.Now(), time.Now()}
	for range 5 {
		p.updated, p.serving = p.updated.Add(-time.Second), p.serving.Add(-time.Second)
		p.Served(500, 300, 0)
	}
	if p.current() != &p.figures[1] {
		t.Error("it counts as idle, with echoes that are late")
	}
	p.due = nil
	for range 5 {
		p.updated, p.serving = p.updated.Add(-time.Second), p.serving.Add(-time.Second)
		p.Served(500, 300, 0)
	}
	if p.current() == &p.figures[1] {
		t.Error("it does not count as idle")
	}
}

// A server that cannot be reached from its own process is not reported as late: its lateness is
// unknown.
func TestProbe_WhatNeverConnectedIsNotLate(t *testing.T) {
	l := listen(t, "tcp", "127.0.0.1:0")
	p := New(l.Addr())
	_ = l.Close() // nothing listens
	started(p)
	f := until(t, p, "three have failed", func(f Figures) bool { return f.Failed >= 3 })
	p.Stop()
	if f.Problem == nil || f.Serving.Echoes.Count > 0 || f.Waiting.Count > 1 {
		t.Errorf("problem %v, %d late, %d waiting; want a refused connection and 0 late", f.Problem, f.Serving.Echoes.Count, f.Waiting.Count)
	}
}

// A server that was reached before does not count as late if a resource is missing on the client's
// side.
func TestProbe_WhatItLacksItselfMakesNothingLate(t *testing.T) {
	for _, c := range []struct {
		err   error
		late  uint64
		still int
	}{
		{syscall.EADDRNOTAVAIL, 0, 0}, {fmt.Errorf("dial: %w", os.NewSyscallError("bind", syscall.EADDRINUSE)), 0, 0},
		{syscall.ECONNRESET, 0, 2}, {os.ErrDeadlineExceeded, 0, 2}, {nil, 2, 0},
	} {
		p := New(&net.UnixAddr{Name: "x", Net: "unix"})
		p.serving, p.connected = time.Now(), true
		p.due = []time.Time{time.Now(), time.Now()}
		p.back(c.err, time.Now())
		if f := p.Figures(); f.Serving.Echoes.Count != c.late || len(p.due) != c.still {
			t.Errorf("%v: %d late, %d waited for; want %d, %d", c.err, f.Serving.Echoes.Count, len(p.due), c.late, c.still)
		}
	}
}

func TestProbe_SaysWhyItFails(t *testing.T) {
	l := listen(t, "tcp", "127.0.0.1:0")
	p := New(l.Addr())
	others := make(chan net.Conn)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			others <- conn
		}
	}()
	p.connected = true // it was reached before
	started(p)
	defer p.Stop()
	_ = (<-others).Close() // a connection that is not recognized as the probe's
	_ = l.Close()
	f := until(t, p, "the connection broke, and the bytes that are due are late", func(f Figures) bool { return f.Failed >= 1 && f.Waiting.Count > 1 })
	if f.Problem == nil {
		t.Error("no problem, want a closed connection")
	}
}

// Bytes that never come back take a bounded amount of memory, and are late for as long as the probe
// waited for them.
func TestProbe_KeepsAHundredBytes(t *testing.T) {
	l := listen(t, "tcp", "127.0.0.1:0")
	p := New(l.Addr())
	_ = l.Close() // nothing listens
	p.connected = true
	for range mostDue {
		p.due = append(p.due, time.Now().Add(-time.Hour))
	}
	started(p)
	defer p.Stop()
	f := until(t, p, "it gave them up", func(f Figures) bool { return f.Waiting.Count <= 1 && f.Failed > 0 })
	if f.Serving.Echoes.Max < time.Hour || f.Serving.Echoes.Count < mostDue {
		t.Errorf("%d late by at most %v, want %d and an hour", f.Serving.Echoes.Count, f.Serving.Echoes.Max, mostDue)
	}
}

// Stop does not wait for a byte that is never sent back.
func TestProbe_StopsWhileAByteIsWaitedFor(t *testing.T) {
	l := listen(t, "tcp", "127.0.0.1:0") // nothing accepts
	defer l.Close()
	p := New(l.Addr())
	started(p)
	until(t, p, "a byte is waited for", func(f Figures) bool { return f.Waiting.Count > 1 })
	p.Stop()
	if f := p.Figures(); f.Failed > 0 {
		t.Errorf("%d failed (%v), want 0: the probe was stopped before it gave up", f.Failed, f.Problem)
	}
}
