package wire

import (
	"sync"
	"time"

	"mockserver/internal/timerfd"
)

// alarm ends pauses when they are due. The runtime waits for its timers in whole milliseconds, so
// on an idle machine a deadline passes up to one millisecond late. An exact system timer wakes the
// runtime, which then finds the deadlines that have passed. So the alarm only needs to know when to
// wake the runtime, not which pauses end then; a pause that has already ended for another reason
// costs one needless wake-up.
//
// Its goroutine runs from the first pause until the alarm is closed. A nil alarm does nothing.
type alarm struct {
	mu    sync.Mutex     // guards the fields below
	timer *timerfd.Timer // nil before the first pause
	over  bool           // the alarm is closed, or no timer is available
	base  time.Time
	times []int64 // when to wake, as time since base: a heap with the earliest on top
	ended sync.WaitGroup
}

// alarmTick is the unit that times are rounded up to: one wake-up serves all times within it.
const alarmTick = 50 * time.Microsecond

func newAlarm() *alarm { return &alarm{base: time.Now()} }

// at makes the alarm go off at the given time.
func (a *alarm) at(t time.Time) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer == nil && !a.over {
		a.start()
	}
	if a.over {
		return
	}
	due := int64(t.Sub(a.base)/alarmTick+1) * int64(alarmTick)
	if a.push(due); a.times[0] == due {
		a.arm()
	}
}

// start creates the timer. Without one, pauses end when the runtime notices their deadlines.
func (a *alarm) start() {
	timer, err := timerfd.New()
	if err != nil {
		a.over = true
		return
	}
	a.timer = timer
	a.ended.Go(a.ring)
}

// ring wakes the runtime whenever one of the times has come.
func (a *alarm) ring() {
	for {
		if err := a.timer.Wait(); err != nil { // the timer is closed, or it cannot be read
			a.mu.Lock()
			if !a.over {
				a.over, a.times = true, nil
			}
			a.mu.Unlock()
			return
		}
		a.mu.Lock()
		for now := int64(time.Since(a.base)); len(a.times) > 0 && a.times[0] <= now; {
			a.pop()
		}
		if len(a.times) > 0 && !a.over {
			a.arm()
		}
		a.mu.Unlock()
	}
}

// arm sets the timer to the earliest time. If that has already passed, the timer fires at once.
func (a *alarm) arm() {
	a.timer.Set(time.Duration(a.times[0]) - time.Since(a.base))
}

// push adds a time, unless it is already the earliest.
func (a *alarm) push(due int64) {
	if len(a.times) > 0 && a.times[0] == due {
		return
	}
	a.times = append(a.times, due)
	for i := len(a.times) - 1; i > 0; {
		above := (i - 1) / 2
		if a.times[above] <= a.times[i] {
			return
		}
		a.times[above], a.times[i] = a.times[i], a.times[above]
		i = above
	}
}

// pop removes the earliest time.
func (a *alarm) pop() {
	last := len(a.times) - 1
	a.times[0] = a.times[last]
	a.times = a.times[:last]
	for i := 0; ; {
		least := i
		for below := 2*i + 1; below <= 2*i+2 && below < last; below++ {
			if a.times[below] < a.times[least] {
				least = below
			}
		}
		if least == i {
			return
		}
		a.times[i], a.times[least] = a.times[least], a.times[i]
		i = least
	}
}

// close stops the alarm, and returns when it has stopped.
func (a *alarm) close() {
	if a == nil {
		return
	}
	a.mu.Lock()
	a.over = true
	if a.timer != nil {
		_ = a.timer.Close() // closing the timer also ends the goroutine
	}
	a.mu.Unlock()
	a.ended.Wait()
}
