//go:build !race

package wire

import (
	"math"
	"net"
	"testing"
	"time"

	"mockserver/internal/pacer"
)

// A wait allocates only the error that package net returns when the deadline ends it.
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
	from.Pacer = pacer.New()
	defer from.Pacer.Close()
	c := from.Adopt(inner)
	defer c.CloseNow()
	wrong := 0
	got := allocations(100, func() {
		if c.pause(time.Now().Add(100*time.Microsecond)) != pauseDue {
			wrong++
		}
	})
	if got > 1 || wrong > 0 {
		t.Errorf("got %v allocations, want at most 1, and %d pauses ended differently", got, wrong)
	}
}

// allocations returns how many allocations a run of f makes, by the best of five times as many runs: the
// clocks of connections of other tests go on for a second, and allocate too.
func allocations(runs int, f func()) float64 {
	got := math.Inf(1)
	for range 5 {
		got = min(got, testing.AllocsPerRun(runs, f))
	}
	return got
}
