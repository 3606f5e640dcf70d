package load

import (
	"net"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mockserver/internal/harness/volume"
)

// Connections and rate are divided among threads without a remainder.
func TestLoadThreads(t *testing.T) {
	volume.Only(t)
	present := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, present) })
	s := serveScript(t, replying(map[string]string{"/": okResponse}))
	for _, connections := range []int{1, 2, 3, 7} {
		l := simple(s.address)
		l.Connections = connections
		l.CPUs = slices.Repeat(allowed(t)[:1], 3) // three threads, on any CPU
		l.Rate, l.Duration = 777, 500*time.Millisecond
		before := s.accepted.Load()
		o := mustRun(t, l)
		if o.Requests+o.Missed != 389 || o.Requests == 0 || len(o.Errors) != 0 { // 388.5
			t.Errorf("%d connections: %d answered, %d missed, errors %v; want 389", connections, o.Requests, o.Missed, o.Errors)
		}
		if n := s.accepted.Load() - before; n != int64(connections) {
			t.Errorf("%d connections were opened instead of %d", n, connections)
		}
	}
}

// A rate is also kept without epoll_pwait2, as before Linux 5.11.
func TestLoadCoarse(t *testing.T) {
	s := serveScript(t, replying(map[string]string{"/": okResponse}))
	for _, rate := range []float64{0, 1000} {
		l := simple(s.address)
		l.Rate = rate
		address, err := net.ResolveTCPAddr("tcp", s.address)
		if err != nil {
			t.Fatal(err)
		}
		c := newSchedule(l.Rate)
		generators, err := l.generators(address, c)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range generators {
			g.epoll.coarse = true
		}
		if err := connectAll(t.Context(), generators); err != nil {
			t.Fatal(err)
		}
		o := l.send(t.Context(), c, generators)
		if rate > 0 && o.Requests+o.Missed != 100 || o.Requests == 0 || len(o.Errors) != 0 {
			t.Errorf("rate %g: %d answered, %d missed, errors %v", rate, o.Requests, o.Missed, o.Errors)
		}
	}
}

// Spinning while waiting does not count as use: a thread that sends little is not busy, even if it
// spins all the time.
func TestLoadSpinIsNotBusy(t *testing.T) {
	s := serveScript(t, replying(map[string]string{"/": okResponse}))
	l := simple(s.address)
	l.Connections, l.Rate, l.Duration = 1, 500, 300*time.Millisecond // a rate that a busy machine keeps up with
	address, err := net.ResolveTCPAddr("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	c := newSchedule(l.Rate)
	generators, err := l.generators(address, c)
	if err != nil {
		t.Fatal(err)
	}
	own := generators[0]
	own.spin = true
	if err := connectAll(t.Context(), generators); err != nil {
		t.Fatal(err)
	}
	o := l.send(t.Context(), c, generators)
	used := own.used()
	if spun := time.Duration(own.spun.Load()); spun == 0 || used <= 0 {
		t.Errorf("spun %s, used %s besides, busy %g", spun, used, o.Busy)
	}
}
