package alarm

import (
	"errors"
	"testing"
	"time"
)

func TestAlarm_GoesOffOnceAndNotTooEarly(t *testing.T) {
	for name, a := range map[string]*Alarm{"as a system has it": New(), "of the runtime": Plain()} {
		for _, after := range []time.Duration{-time.Second, 0, time.Microsecond, 3 * time.Millisecond} {
			begun := time.Now()
			a.Set(time.Hour)
			a.Set(after)
			if !a.Wait() {
				t.Fatalf("%s: it is closed", name)
			}
			if took := time.Since(begun); took < after {
				t.Errorf("%s: set to %v it went off after %v", name, after, took)
			}
		}
		ended := make(chan bool)
		go func() { ended <- a.Wait() }()
		select {
		case <-ended:
			t.Fatalf("%s: it went off again", name)
		case <-time.After(10 * time.Millisecond): // the alarm is not set, so nothing can wake it
		}
		for range 2 {
			a.Close()
			a.Set(0)
		}
		if <-ended || a.Wait() {
			t.Errorf("%s: it goes off while it is closed", name)
		}
	}
}

// broken is a timer that cannot be used.
type broken struct{ closed int }

func (*broken) Set(time.Duration) {}
func (*broken) Wait() error       { return errors.New("it cannot be read") }
func (b *broken) Close() error    { b.closed++; return nil }

func TestAlarm_NeedsNoTimerOfTheSystem(t *testing.T) {
	timer := &broken{}
	a := newAlarm(timer)
	a.Set(time.Hour)
	if !a.Wait() { // what waits for it sets it again
		t.Fatal("it is closed")
	}
	begun := time.Now()
	a.Set(3 * time.Millisecond)
	if !a.Wait() || time.Since(begun) < 3*time.Millisecond {
		t.Errorf("it went off after %v", time.Since(begun))
	}
	a.Close()
	if a.Wait() || timer.closed != 1 {
		t.Errorf("the timer was closed %d times", timer.closed)
	}
}
