package wire

import (
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"mockserver/internal/pacer"
)

// Wake ends the current pause, or else the next one, but no other.
func TestPause_Wake(t *testing.T) {
	for name, before := range map[string]func(c *Connection){
		"that reads":  func(*Connection) {},
		"that cannot": func(c *Connection) { c.deaf = true },
	} {
		synctest.Test(t, func(t *testing.T) {
			client, inner := net.Pipe()
			defer client.Close()
			c := New(nil, nil).Adopt(inner)
			defer c.CloseNow()
			before(c)
			begun := time.Now()
			time.AfterFunc(time.Second, c.Wake)
			if end := c.pause(time.Time{}); end != pauseWoken || time.Since(begun) != time.Second {
				t.Errorf("a pause %s ended with %d after %v, want it woken after 1s", name, end, time.Since(begun))
			}
			c.Wake()
			c.Wake()
			if end := c.pause(time.Now().Add(time.Second)); end != pauseWoken || time.Since(begun) != time.Second {
				t.Errorf("the next pause %s ended with %d after %v, want it woken before", name, end, time.Since(begun))
			}
			if end := c.pause(time.Now().Add(time.Second)); end != pauseDue || time.Since(begun) != 2*time.Second {
				t.Errorf("the pause after it, %s, ended with %d after %v, want it due after 2s", name, end, time.Since(begun))
			}
			if end := c.pause(begun); end != pauseDue {
				t.Errorf("a pause %s that is due ended with %d", name, end)
			}
		})
	}
}

// The pacer does not store the times of clients that leave during a pause, however many there are:
// it stores only the times of pauses that are nearly over. Its goroutine runs once it has stored one.
func TestPause_KeepsNoTimesOfClientsThatLeft(t *testing.T) {
	l := New(nil, slog.New(slog.DiscardHandler))
	l.Pacer = pacer.New()
	defer l.Pacer.Close()
	before := goleak.IgnoreCurrent()
	for range 100 {
		client, inner := net.Pipe()
		_ = client.Close() // an error would not matter: both ends are in the test
		if end := l.Adopt(inner).pause(time.Now().Add(time.Hour)); end != pauseLeft {
			t.Fatalf("got %d, want pauseLeft", end)
		}
	}
	if err := goleak.Find(before); err != nil {
		t.Errorf("times are kept: %v", err)
	}
}
