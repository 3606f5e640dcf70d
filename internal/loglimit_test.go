package internal_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mockserver/internal/loglimit"
)

func TestLimiter_LetsTenASecondThrough(t *testing.T) {
	p := loglimit.New(10, nil)
	now := time.Unix(1000, 0)
	passed := 0
	for range 50 {
		if _, ok := p.Pass(now); ok {
			passed++
		}
	}
	if passed != 10 {
		t.Errorf("%d passed in one second, want 10", passed)
	}
	suppressed, ok := p.Pass(now.Add(time.Second))
	if !ok || suppressed != 40 {
		t.Errorf("in the next second: passed %v with %d suppressed, want true with 40", ok, suppressed)
	}
	if suppressed, _ = p.Pass(now.Add(time.Second)); suppressed != 0 {
		t.Errorf("the suppressed lines were counted again: %d", suppressed)
	}
}

// The number of suppressed lines is logged once: by the next line, or after a second, or at the
// end.
func TestLimiter_SaysWhatItSuppressed(t *testing.T) {
	for _, c := range []struct {
		name  string
		then  func(p *loglimit.Limiter) (by int) // number of suppressed lines that a line states
		lines []int                              // numbers in separate lines
	}{
		{"nothing comes", func(*loglimit.Limiter) int { <-time.After(time.Second); return 0 }, []int{40}},
		{"nothing comes for long", func(*loglimit.Limiter) int { <-time.After(time.Hour); return 0 }, []int{40}},
		{"a line comes", func(p *loglimit.Limiter) int {
			<-time.After(999 * time.Millisecond)
			n, _ := p.Pass(time.Unix(1001, 0))
			<-time.After(time.Hour)
			return n
		}, nil},
		{"it ends", func(p *loglimit.Limiter) int { p.Flush(); p.Flush(); return 0 }, []int{40}},
		{"it goes on", func(p *loglimit.Limiter) int {
			<-time.After(1500 * time.Millisecond)
			p.Pass(time.Unix(1000, 1))
			<-time.After(1500 * time.Millisecond)
			return 0
		}, []int{40, 1}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex // guards lines
			var lines []int
			p := loglimit.New(10, func(suppressed int) {
				mu.Lock()
				defer mu.Unlock()
				lines = append(lines, suppressed)
			})
			for range 50 {
				p.Pass(time.Unix(1000, 0))
			}
			by := c.then(p)
			synctest.Wait()
			if !slices.Equal(lines, c.lines) || by != 40 && c.lines == nil || by != 0 && c.lines != nil {
				t.Errorf("%s: got the lines %v, and %d by another, want %v", c.name, lines, by, c.lines)
			}
		})
	}
}

// When a server shuts down, another goroutine may be writing the line. Flush waits for it, so that
// nothing is logged after Shutdown.
func TestLimiter_FlushWaitsForALineThatIsUnderWay(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	said := false
	p := loglimit.New(1, func(int) {
		close(begun)
		<-goOn
		said = true
	})
	for range 2 {
		p.Pass(time.Unix(1000, 0))
	}
	go p.Flush() // as the timer does
	<-begun
	go close(goOn)
	if p.Flush(); !said {
		t.Error("it returned before the line was written")
	}
}

func TestOncePerMinute(t *testing.T) {
	o := loglimit.NewOncePerMinute()
	now := time.Unix(1000, 0)
	for _, c := range []struct {
		kind  string
		after time.Duration
		want  bool
	}{
		{"a", 0, true}, {"a", time.Second, false}, {"b", time.Second, true}, {"a", 59 * time.Second, false},
		{"a", time.Minute, true}, {"a", 61 * time.Second, false},
	} {
		if got := o.Pass(c.kind, now.Add(c.after)); got != c.want {
			t.Errorf("%s after %v: got %v, want %v", c.kind, c.after, got, c.want)
		}
	}
	for i := range 1001 { // the most kinds that are remembered, and one
		o.Pass(fmt.Sprint(i), now)
	}
	if !o.Pass("0", now) {
		t.Error("more than 1000 kinds are remembered")
	}
}
