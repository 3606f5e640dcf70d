package pacer

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"mockserver/internal/alarm"
)

// caller is a Waiter that notes when it was called.
type caller struct {
	Entry
	lane   uint32
	due    time.Duration // since the beginning
	calls  int
	called time.Duration
	note   func(*caller)
}

func (c *caller) Due() Flusher { c.note(c); return nil }

// virtual returns a pacer for a bubble of synctest, and the time since it was made.
func virtual(shards int) (p *Pacer, elapsed func() time.Duration) {
	p = newPacer(shards, alarm.Plain)
	return p, func() time.Duration { return time.Since(p.base) }
}

// compare adds and cancels entries at random, in a pacer and in a list, and compares which of them are
// called, and when.
func compare(t *testing.T, seed uint64) {
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(seed, 1))
		p, elapsed := virtual(1 + r.IntN(3))
		defer p.Close()
		var mu sync.Mutex
		var called []*caller
		note := func(c *caller) {
			mu.Lock()
			defer mu.Unlock()
			c.calls, c.called = c.calls+1, elapsed()
			called = append(called, c)
		}
		spans := []time.Duration{tick, time.Millisecond, time.Second, time.Hour, 1000 * time.Hour}
		var list []*caller
		for range 300 {
			switch r.IntN(7) {
			case 0:
				<-time.After(time.Duration(r.Int64N(int64(spans[r.IntN(4)])))) // of the bubble
				synctest.Wait()
			case 1:
				if len(list) > 0 {
					c := list[r.IntN(len(list))]
					if got, want := Cancel(&c.Entry), c.calls == 0; got != want {
						t.Fatalf("canceling returns %v, want %v: called %d times", got, want, c.calls)
					}
					list = slices.DeleteFunc(list, func(other *caller) bool { return other == c && c.calls == 0 })
				}
			case 2: // it waits for another time
				if len(list) > 0 {
					c := list[r.IntN(len(list))]
					if c.calls == 0 {
						c.due = elapsed() + time.Duration(r.Int64N(int64(spans[r.IntN(len(spans))])))/2 - tick
						p.Add(&c.Entry, c, p.base.Add(c.due), c.lane)
					}
				}
			default:
				c := &caller{lane: r.Uint32(), due: elapsed() + time.Duration(r.Int64N(int64(spans[r.IntN(len(spans))])))/2 - tick, note: note}
				list = append(list, c)
				p.Add(&c.Entry, c, p.base.Add(c.due), c.lane)
				if r.IntN(20) == 0 {
					p.Wake(p.base.Add(c.due))
				}
			}
			synctest.Wait()
		}
		<-time.After(2000 * time.Hour) // of the bubble
		synctest.Wait()
		slices.SortStableFunc(list, func(a, b *caller) int { return cmp.Compare(a.due, b.due) })
		for i, c := range list {
			// An entry is up to a tick late, and may have been due a tick before it was added.
			if late := c.called - c.due; c.calls != 1 || late < 0 || late > 2*tick {
				t.Fatalf("entry %d, due %v, was called %d times, at %v", i, c.due, c.calls, c.called)
			}
		}
		if len(called) != len(list) {
			t.Fatalf("%d were called, want %d", len(called), len(list))
		}
	})
}

func TestPacer_DoesAsASortedList(t *testing.T) {
	for seed := range uint64(100) {
		compare(t, seed)
	}
}

func FuzzPacer(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { compare(t, seed) })
}

// Each entry is either called or canceled, whoever comes first, and its place is used again.
func TestPacer_CalledOrCanceled(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	p := newPacer(2, alarm.New)
	defer p.Close()
	const many = 2000
	var all sync.WaitGroup
	var mu sync.Mutex
	calls := map[*caller]int{}
	for lane := range uint32(4) {
		all.Go(func() {
			for i := range many {
				var done sync.WaitGroup
				done.Add(1)
				c := &caller{note: func(c *caller) {
					mu.Lock()
					calls[c]++
					mu.Unlock()
					done.Done()
				}}
				p.Add(&c.Entry, c, time.Now().Add(time.Duration(i%3)*tick), lane)
				if Cancel(&c.Entry) {
					c.note(c)
				}
				done.Wait()
				if Cancel(&c.Entry) {
					t.Error("an entry that was called or canceled is canceled again")
				}
			}
		})
	}
	all.Wait()
	for _, n := range calls {
		if n != 1 {
			t.Fatalf("an entry ended %d times", n)
		}
	}
	if len(calls) != 4*many {
		t.Errorf("%d entries ended, want %d", len(calls), 4*many)
	}
	for i := range p.shards {
		if used := p.shards[i].used; used > 8 {
			t.Errorf("there were %d places for at most 4 entries", used)
		}
	}
}

// An entry of a closed pacer can still be canceled.
func TestPacer_Closed(t *testing.T) {
	p := newPacer(1, alarm.New)
	first, second := &caller{}, &caller{}
	p.Add(&first.Entry, first, time.Now().Add(time.Hour), 0)
	for range 2 { // as a server may be
		p.Close()
	}
	p.Add(&second.Entry, second, time.Now(), 0)
	if !Cancel(&first.Entry) || !Cancel(&second.Entry) || Cancel(&second.Entry) || Cancel(&Entry{}) {
		t.Error("entries cannot be canceled, or can be canceled twice")
	}
	var none *Pacer
	none.Wake(time.Now())
	none.Close()
}

func TestPacer_AllocatesNothing(t *testing.T) {
	p := newPacer(1, alarm.New)
	defer p.Close()
	called := make(chan bool, 1)
	c := &caller{note: func(*caller) { called <- true }}
	wait := func() {
		p.Add(&c.Entry, c, time.Now().Add(time.Hour), 0)
		Cancel(&c.Entry)
		p.Add(&c.Entry, c, time.Now(), 0)
		<-called
	}
	wait()
	if n := testing.AllocsPerRun(1000, wait); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// flushed is what callers have made.
type flushed struct {
	made    int
	flushes chan int // how much each flush found
}

func (f *flushed) Flush() {
	made := f.made
	f.made = 0
	f.flushes <- made
}

type maker struct {
	Entry
	*flushed
}

func (m *maker) Due() Flusher {
	if m.made++; m.made > 1 {
		return nil // the first one has said so
	}
	return m.flushed
}

// What is due at the same time is flushed together, and not much later.
func TestPacer_Flushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := virtual(1)
		defer p.Close()
		f := &flushed{flushes: make(chan int, 10)}
		due := time.Now().Add(time.Second)
		for range 2 * atOnce {
			m := &maker{flushed: f}
			p.Add(&m.Entry, m, due, 0)
		}
		for range 2 {
			if n := <-f.flushes; n != atOnce {
				t.Errorf("a flush is for %d, want %d", n, atOnce)
			}
		}
		if len(f.flushes) > 0 || f.made > 0 {
			t.Errorf("there are %d more flushes", len(f.flushes))
		}
	})
}
