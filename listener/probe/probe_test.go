//go:build unix

package probe

import (
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// accepting accepts connections until the test ends. Those that are not the probe's are
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
				_ = conn.Close() // the probe was stopped meanwhile
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

// until waits for the figures to be as they should.
func until(t *testing.T, p *Probe, what string, holds func(Figures) bool) Figures {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; runtime.Gosched() {
		f := p.Figures()
		if holds(f) {
			return f
		}
		if time.Now().After(deadline) {
			t.Fatalf("never: %s; got %d back, %d waiting, %d failed (%v)", what, f.Late.Count, f.Waiting.Count, f.Failed, f.Problem)
		}
	}
}

// started starts a probe of a server with requests, so that it measures often.
func started(p *Probe) {
	p.Served(1, 0)
	p.Start()
}

func TestProbe_BytesComeBackWhateverTheAddress(t *testing.T) {
	for _, at := range []struct{ network, address string }{
		{"tcp", "127.0.0.1:0"}, {"tcp", ":0"}, {"tcp4", "0.0.0.0:0"}, {"tcp6", "[::1]:0"},
	} {
		t.Run(at.network+" "+at.address, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			l := listen(t, at.network, at.address)
			p := New(l.Addr())
			var accepted atomic.Int32
			accepting(t, p, l, func(net.Conn) { accepted.Add(1) }, nil)
			started(p)
			f := until(t, p, "three bytes are back", func(f Figures) bool { return accepted.Load() > 3 && f.Waiting.Count == 0 })
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
		t.Errorf("%v is not the probe's, want %v", other.RemoteAddr(), conn.LocalAddr())
	}
}

// Bytes that are due while nobody accepts are late by now, and late for good when somebody
// does: each by as long as since it was due.
func TestProbe_BytesAreLateFromWhenTheyWereDue(t *testing.T) {
	l := listen(t, "tcp", "127.0.0.1:0")
	p := New(l.Addr())
	started(p)
	defer p.Stop()
	f := until(t, p, "3 are waiting", func(f Figures) bool { return f.Waiting.Count >= 3 })
	const least = 2*250*time.Millisecond - 10*time.Millisecond // a byte is due with a beat
	if f.Waiting.Max < least || f.Waiting.Quantile(0) > serving.bytes {
		t.Errorf("waiting from %v to %v; want 0 to 490 ms", f.Waiting.Quantile(0), f.Waiting.Max)
	}
	accepting(t, p, l, nil, nil)
	f = until(t, p, "they are back", func(f Figures) bool { return f.Waiting.Count == 0 })
	if f.Late.Max < least || f.Failed > 0 {
		t.Errorf("late by at most %v, %d failed; want 490 ms at least, and none", f.Late.Max, f.Failed)
	}
}

// A beat for which there is no processor is late, in each slot of the time without one.
func TestProbe_BeatsAreLateWhenNothingRuns(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	p := New(&net.UnixAddr{Name: "x", Net: "unix"}) // sends no bytes
	started(p)
	defer p.Stop()
	begun := time.Now()
	for time.Since(begun) < time.Second { // it is preempted now and then
		runtime.KeepAlive(p)
	}
	until(t, p, "some beats are late", func(f Figures) bool { return f.Late.Count > 10 && f.Late.Max > serving.beats/2 })
}

// Without requests there are few beats: a process that has nothing to do sleeps.
func TestProbe_IsSeldomWithoutRequests(t *testing.T) {
	p := New(&net.UnixAddr{Name: "x", Net: "unix"})
	if at := p.pace(); at != idle {
		t.Errorf("pace %v before any request, want %v", at, idle)
	}
	for _, c := range []struct {
		requests uint64
		inFlight int64
		pace     pace
	}{{0, 0, idle}, {5, 0, serving}, {5, 0, idle}, {5, 1, serving}, {0, 0, serving}} {
		p.busy = time.Time{}
		if p.Served(c.requests, c.inFlight); p.pace() != c.pace {
			t.Errorf("%d requests, %d in flight: pace %v, want %v", c.requests, c.inFlight, p.pace(), c.pace)
		}
	}
}

func TestProbe_SaysWhyItFails(t *testing.T) {
	l := listen(t, "tcp", "127.0.0.1:0")
	p := New(l.Addr())
	_ = l.Close() // nobody is there
	started(p)
	f := until(t, p, "two have failed", func(f Figures) bool { return f.Failed >= 2 && f.Waiting.Count > 1 })
	p.Stop()
	if f.Problem == nil {
		t.Error("no problem, want that of a connection that was refused")
	}

	l = listen(t, "tcp", "127.0.0.1:0")
	p = New(l.Addr())
	others := make(chan net.Conn)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			others <- conn
		}
	}()
	started(p)
	defer p.Stop()
	_ = (<-others).Close() // taken for somebody else's
	_ = l.Close()
	f = until(t, p, "the connection broke", func(f Figures) bool { return f.Failed >= 1 })
	if f.Problem == nil {
		t.Error("no problem, want that of a connection that was closed")
	}
}

// Bytes that never come back take no memory, and are late for as long as they were kept.
func TestProbe_KeepsAHundredBytes(t *testing.T) {
	l := listen(t, "tcp", "127.0.0.1:0")
	p := New(l.Addr())
	_ = l.Close() // nobody is there
	for range 2 * mostDue {
		p.due = append(p.due, time.Now().Add(-time.Hour))
	}
	started(p)
	defer p.Stop()
	f := until(t, p, "it gave some up", func(f Figures) bool { return f.Waiting.Count <= mostDue+1 && f.Failed > 0 })
	if f.Late.Max < time.Hour {
		t.Errorf("late by at most %v, want an hour", f.Late.Max)
	}
}

// Stop does not wait for a byte that nobody sends back.
func TestProbe_StopsWhileAByteIsWaitedFor(t *testing.T) {
	l := listen(t, "tcp", "127.0.0.1:0") // nobody accepts
	defer l.Close()
	p := New(l.Addr())
	started(p)
	until(t, p, "a byte is waited for", func(f Figures) bool { return f.Waiting.Count > 1 })
	p.Stop()
	if f := p.Figures(); f.Failed > 0 {
		t.Errorf("%d failed (%v), want none: it was stopped before its patience was over", f.Failed, f.Problem)
	}
}
