package e2e_test

import (
	"net"
	"sync"
	"testing"
)

// Link connects programs with a server. It can be cut, and it can be frozen: a frozen link stays
// open, but no data passes.
type Link struct {
	listener net.Listener
	thawed   *sync.Cond // of mu

	mu     sync.Mutex // guards the fields below
	cut    bool
	frozen bool
	conns  []net.Conn
}

// NewLink opens a link to a server, until the end of the test.
func NewLink(t *testing.T, to string) *Link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Link{listener: listener}
	l.thawed = sync.NewCond(&l.mu)
	t.Cleanup(func() { _ = listener.Close(); l.Cut() })
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			l.connect(in, to)
		}
	}()
	return l
}

// Address returns the address that programs connect to.
func (l *Link) Address() string { return l.listener.Addr().String() }

func (l *Link) connect(in net.Conn, to string) {
	out, err := net.Dial("tcp", to)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil || l.cut {
		_ = in.Close()
		if out != nil {
			_ = out.Close()
		}
		return
	}
	l.conns = append(l.conns, in, out)
	go l.copy(in, out)
	go l.copy(out, in)
}

func (l *Link) copy(to, from net.Conn) {
	defer from.Close()
	defer to.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		l.mu.Lock()
		for l.frozen && !l.cut {
			l.thawed.Wait()
		}
		l.mu.Unlock()
		if _, err = to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// Cut closes all connections, including new ones until Mend is called.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	l.thawed.Broadcast()
	for _, c := range l.conns {
		_ = c.Close()
	}
	l.conns = nil
}

// Restore lets connections through again.
func (l *Link) Restore() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = false
}

// Freeze holds all data back until thaw is called. thaw may be called twice.
func (l *Link) Freeze() (thaw func()) {
	l.freeze(true)
	return func() { l.freeze(false) }
}

func (l *Link) freeze(frozen bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frozen = frozen
	l.thawed.Broadcast()
}
