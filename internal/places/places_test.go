package places

import (
	"slices"
	"testing"
	"time"
)

// nobody is a client that is never woken.
type nobody struct{}

func (nobody) Wait() bool { return true }
func (nobody) Wake()      {}

// A request that gets a place just as its client leaves passes the place on.
func TestPlaces_IsPassedOnByWhoLeavesWithIt(t *testing.T) {
	p := New(1, 2)
	now := time.Now()
	_, _, had := p.arrive(nobody{}, now)
	_, first, _ := p.arrive(nobody{}, now)
	_, second, _ := p.arrive(nobody{}, now)
	p.Leave(now) // the first waiter has the place
	over, err := p.look(first, true, time.Time{})
	if had != nil || !over || err != ErrLeft || !second.served || p.serving != 1 || p.waiting != 0 {
		t.Errorf("handed over %v, error %v, the next request has the place: %v; %d are served and %d wait", over, err, second.served, p.serving, p.waiting)
	}
	if p.Leave(now); p.serving != 0 {
		t.Errorf("%d are served at the end", p.serving)
	}
}

// A place counts from when it was due to be free, but not from before the request arrived.
func TestPlaces_IsHadFromWhenItWasDue(t *testing.T) {
	base := time.Now()
	at := func(ms int) time.Time { return base.Add(time.Duration(ms) * time.Millisecond) }
	p := New(1, 2)
	if since, _, _ := p.arrive(nobody{}, at(0)); since != at(0) {
		t.Errorf("a free place counts from %v, want the arrival of the request", since.Sub(base))
	}
	_, waits, _ := p.arrive(nobody{}, at(1))
	p.Leave(at(10)) // this is late: it is now 12
	if p.look(waits, false, time.Time{}); waits.at != at(10) {
		t.Errorf("a place that was waited for counts from %v, want 10 ms", waits.at.Sub(base))
	}
	p.Leave(at(20))
	if since, _, _ := p.arrive(nobody{}, at(19)); since != at(20) {
		t.Errorf("a place that was freed in between counts from %v, want 20 ms", since.Sub(base))
	}
	p.Leave(at(30))
	if since, _, _ := p.arrive(nobody{}, at(40)); since != at(40) {
		t.Errorf("a place that was free counts from %v, want 40 ms", since.Sub(base))
	}
}

// Of several places, a request gets the one that has been free for longest.
func TestPlaces_HasAPlaceThatWasFreeAllTheTime(t *testing.T) {
	base := time.Now()
	at := func(ms int) time.Time { return base.Add(time.Duration(ms) * time.Millisecond) }
	for _, places := range []int{3, 100} {
		p := New(places, 2)
		came := func(ms int) time.Duration {
			since, _, err := p.arrive(nobody{}, at(ms))
			if err != nil {
				t.Fatal("no place is free")
			}
			return since.Sub(base) / time.Millisecond
		}
		for range places {
			came(0)
		}
		for i := range places {
			p.Leave(at(10 + i))
		}
		var got []time.Duration
		for range 3 {
			got = append(got, came(5)) // the request has been in transit since then
		}
		want := []time.Duration{10, 11, 12}
		if places > freedKept { // the times of only freedKept places are recorded
			want = []time.Duration{5, 5, 5}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d places: counted from %v, want %v", places, got, want)
		}
	}
	p := New(2, 0)
	p.arrive(nobody{}, at(0))
	p.Leave(at(10))
	if since, _, _ := p.arrive(nobody{}, at(5)); since != at(5) {
		t.Errorf("it counts from %v, want 5 ms: the other place was never taken", since.Sub(base))
	}
}
