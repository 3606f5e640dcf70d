package wire

import (
	"math"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// wake ends a pause, that which comes next too, and no other.
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
				t.Errorf("a pause %s ended with %d after %v, want that it is woken after 1s", name, end, time.Since(begun))
			}
			c.Wake()
			c.Wake()
			if end := c.pause(time.Now().Add(time.Second)); end != pauseWoken || time.Since(begun) != time.Second {
				t.Errorf("the next pause %s ended with %d after %v, want that it was woken before", name, end, time.Since(begun))
			}
			if end := c.pause(time.Now().Add(time.Second)); end != pauseDue || time.Since(begun) != 2*time.Second {
				t.Errorf("the pause behind it, one %s, ended with %d after %v, want that it is due after 2s", name, end, time.Since(begun))
			}
			if end := c.pause(begun); end != pauseDue {
				t.Errorf("a pause %s that is due ended with %d", name, end)
			}
		})
	}
}

// A wait allocates what package net makes of the deadline that ends it: an error.
func TestAllocations_OfPauses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	inner, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	from := New(nil, nil)
	from.alarm = newAlarm()
	defer from.alarm.close()
	c := from.Adopt(inner)
	defer c.CloseNow()
	wrong, got := 0, math.Inf(1)
	for range 5 { // what else the process does may add to one of them
		got = min(got, testing.AllocsPerRun(100, func() {
			if c.pause(time.Now().Add(100*time.Microsecond)) != pauseDue {
				wrong++
			}
		}))
	}
	if got > 1 || wrong > 0 {
		t.Errorf("got %v allocations, want at most 1, and %d pauses that ended otherwise", got, wrong)
	}
}
