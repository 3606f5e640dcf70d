package traffic

import (
	"testing"

	"mockserver/config"
)

// nobody is a client that is not woken.
type nobody struct{}

func (nobody) Wait() bool { return true }
func (nobody) Wake()      {}

// Who gets a place at the moment of leaving passes it on.
func TestCapacity_IsPassedOnByWhoLeavesWithIt(t *testing.T) {
	p := newCapacity(&config.Capacity{Concurrent: 1, Queue: 2})
	_, had := p.arrive(nobody{})
	first, _ := p.arrive(nobody{})
	second, _ := p.arrive(nobody{})
	p.Leave() // first has the place
	over, served := p.look(first, true)
	if !had || !over || served || !second.served || p.serving != 1 || p.waiting != 0 {
		t.Errorf("got over %v, served %v, the next has it: %v; %d are served and %d wait", over, served, second.served, p.serving, p.waiting)
	}
	if p.Leave(); p.serving != 0 {
		t.Errorf("%d are served at the end", p.serving)
	}
}
