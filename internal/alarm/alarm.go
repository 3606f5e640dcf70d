// Package alarm wakes a goroutine at a given time. On Linux it does so more precisely than the timers of
// the Go runtime, for which the runtime waits in whole milliseconds.
package alarm

import (
	"math"
	"sync"
	"time"
)

// Alarm wakes one goroutine. It uses a timer of the operating system or, where there is none, or none
// that works, as in some sandboxes, a timer of the runtime.
type Alarm struct {
	timer *time.Timer   // used while there is no system
	ended chan struct{} // closed by Close

	mu     sync.Mutex // guards the fields below
	system system     // nil for none
	closed bool
}

// system is a timer of the operating system. Set and Close are called one at a time.
type system interface {
	Set(after time.Duration)
	Wait() error
	Close() error
}

// New returns an alarm that is not set.
func New() *Alarm { return newAlarm(newSystem()) }

// Plain is New for tests whose time is not that of the system.
func Plain() *Alarm { return newAlarm(nil) }

func newAlarm(s system) *Alarm {
	return &Alarm{timer: time.NewTimer(math.MaxInt64), ended: make(chan struct{}), system: s}
}

// Set makes the alarm go off once after a duration, and not when it was set to go off before. It may be
// called from any goroutine. It has no effect on a closed alarm.
func (a *Alarm) Set(after time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
	case a.system != nil:
		a.system.Set(after)
	default:
		a.timer.Reset(after)
	}
}

// Wait waits until the alarm has gone off since the last wait; seldom, it returns earlier. It reports
// false once the alarm is closed. Only one goroutine may wait.
func (a *Alarm) Wait() bool {
	if s := a.system; s != nil { // only Wait changes it
		if s.Wait() == nil {
			return true
		}
		a.mu.Lock()
		if !a.closed { // the timer of the system does not work
			_ = s.Close() // it is of no use
			a.system = nil
			a.timer.Reset(0) // when it was set to go off is not known
		}
		a.mu.Unlock()
	}
	select {
	case <-a.timer.C:
		return true
	case <-a.ended:
		return false
	}
}

// Close closes the alarm, and ends a wait for it.
func (a *Alarm) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	a.closed = true
	a.timer.Stop()
	if a.system != nil {
		_ = a.system.Close() // nothing is lost
	}
	close(a.ended)
}
