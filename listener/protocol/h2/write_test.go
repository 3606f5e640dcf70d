package h2

import (
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// told is a Handler that counts the requests it is given, and reports the target of each.
type told struct {
	*answers
	count   atomic.Int64
	targets chan string
}

func (h *told) Answer(s *Stream) Later {
	h.count.Add(1)
	select {
	case h.targets <- string(s.Target):
	default:
	}
	return h.answers.Answer(s)
}

// settled waits until the server has processed everything that was sent so far.
func (c *client) settled() {
	c.Helper()
	_ = c.WritePing(false, [8]byte{'s'})
	for {
		f, err := c.ReadFrame()
		if err != nil {
			c.Fatal(err)
		}
		if p, ok := f.(*http2.PingFrame); ok && p.IsAck() {
			return
		}
	}
}

// Streams that the client has reset are not kept until it has room for bodies.
func TestReset_KeepsNothing(t *testing.T) {
	s := serve(t, &answers{inline: true, large: make([]byte, 2*streamWindow)}, nil)
	c := s.dial(t).begin(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
	for i := range uint32(500) { // the first one uses up the window of the connection
		c.get(2*i+1, "/large")
		if i > 0 {
			_ = c.WriteRSTStream(2*i+1, http2.ErrCodeCancel)
		}
	}
	c.settled()
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		conn.mu.Lock()
		if n := len(conn.ready); n > 1 {
			t.Errorf("%d streams are kept", n)
		}
		conn.mu.Unlock()
	}
}

// The server reads from the client while it sends a large body: here, the client cancels the body.
func TestLargeBody_ClientIsHeard(t *testing.T) {
	h := &told{answers: &answers{inline: true, large: make([]byte, 64<<20)}, targets: make(chan string, 2)}
	s := serve(t, h.answers, func(s *Server) { s.Handler = h })
	c := s.dial(t).begin(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30})
	_ = c.WriteWindowUpdate(0, 1<<30)
	c.get(1, "/large")
	<-h.targets
	_ = c.WriteRSTStream(1, http2.ErrCodeCancel)
	c.get(3, "/")
	select {
	case <-h.targets:
	case <-time.After(10 * time.Second):
		t.Fatal("the second request is not read while the first is answered")
	}
	sent := 0
	for {
		f, err := c.next()
		if err != nil {
			t.Fatal(err)
		}
		if data, ok := f.(*http2.DataFrame); ok && data.StreamID == 3 {
			break
		} else if ok {
			sent += len(data.Data())
		}
	}
	if sent == len(h.large) {
		t.Error("the canceled body was sent completely")
	}
}

// A stream whose response ends with a reset, after a wait for the window, counts as reset by the
// server.
func TestReset_IsRemembered(t *testing.T) {
	s := serve(t, &answers{inline: true, large: []byte("0123456789"), spoil: Truncate}, nil)
	c := s.dial(t).begin(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 2})
	c.get(1, "/large")
	_ = c.WriteWindowUpdate(1, 100)
	if got := c.response(1); got != "200 01234 reset INTERNAL_ERROR" {
		t.Errorf("got %q", got)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		conn.mu.Lock()
		if known, ours := conn.old.find(1); !known || !ours {
			t.Error("the reset had no effect")
		}
		conn.mu.Unlock()
	}
}
