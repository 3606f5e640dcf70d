//go:build unix

package probe

import (
	"net"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// accepting accepts connections until the test ends. Those that are not the probe's are
// handed to other.
func accepting(t *testing.T, p *Probe, l net.Listener, other chan<- net.Conn) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if !p.Owns(conn) {
				other <- conn
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

func TestProbe_BytesComeBackWhateverTheAddress(t *testing.T) {
	for _, at := range []struct{ network, address string }{
		{"tcp", "127.0.0.1:0"}, {"tcp", ":0"}, {"tcp4", "0.0.0.0:0"}, {"tcp6", "[::1]:0"},
	} {
		t.Run(at.network+" "+at.address, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			l := listen(t, at.network, at.address)
			p := New(l.Addr())
			accepting(t, p, l, nil)
			p.Start()
			f := until(t, p, "bytes over three connections are back", func(f Figures) bool { return f.Late.Count > 2*bytesEach })
			p.Stop()
			_ = l.Close()
			if f.Failed > 0 || len(p.ports)+len(p.serving) > 1 {
				t.Errorf("%d failed (%v), %d ports and %d connections are left", f.Failed, f.Problem, len(p.ports), len(p.serving))
			}
		})
	}
}

func TestProbe_OwnsNothingElse(t *testing.T) {
	l := listen(t, "tcp", "127.0.0.1:0")
	p := New(l.Addr())
	others := make(chan net.Conn, 1)
	accepting(t, p, l, others)
	p.Start()
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
	var none *Probe
	if none.Owns(other) {
		t.Error("no probe owns a connection")
	}
}

// Bytes that are due while nobody accepts are late by now, and late for good when somebody
// does: each by as long as since it was due.
func TestProbe_BytesAreLateFromWhenTheyWereDue(t *testing.T) {
	l := listen(t, "tcp", "127.0.0.1:0")
	p := New(l.Addr())
	p.Start()
	defer p.Stop()
	f := until(t, p, "20 are waiting", func(f Figures) bool { return f.Waiting.Count >= 20 })
	if f.Late.Count > 0 || f.Waiting.Max < 19*Every || f.Waiting.Quantile(0) > Every {
		t.Errorf("%d back, waiting from %v to %v; want none, and 0 to 200 ms", f.Late.Count, f.Waiting.Quantile(0), f.Waiting.Max)
	}
	accepting(t, p, l, nil)
	f = until(t, p, "they are back", func(f Figures) bool { return f.Late.Count >= 20 })
	if f.Late.Max < 19*Every || f.Failed > 0 {
		t.Errorf("late by at most %v, %d failed; want 190 ms at least, and none", f.Late.Max, f.Failed)
	}
}

func TestProbe_SaysWhyItFails(t *testing.T) {
	l := listen(t, "tcp", "127.0.0.1:0")
	p := New(l.Addr())
	_ = l.Close() // nobody is there
	p.Start()
	f := until(t, p, "two have failed", func(f Figures) bool { return f.Failed >= 2 && f.Waiting.Count > 1 })
	p.Stop()
	if f.Problem == nil || f.Late.Count > 0 {
		t.Errorf("problem %v, %d back", f.Problem, f.Late.Count)
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
	p.Start()
	defer p.Stop()
	_ = (<-others).Close() // taken for somebody else's
	_ = l.Close()
	f = until(t, p, "the connection broke", func(f Figures) bool { return f.Failed >= 1 })
	if f.Problem == nil {
		t.Error("no problem, want that of a connection that was closed")
	}
}

func TestNew_OnlyForTCP(t *testing.T) {
	if p := New(&net.UnixAddr{Name: "x", Net: "unix"}); p != nil {
		t.Errorf("got %v for a Unix socket", p)
	}
}
