package listener

import (
	"log/slog"
	"sync"
	"time"
)

// pace lets a few log lines of a kind through per second and counts the rest, so that a
// load test full of errors does not drown in its own log. How many were suppressed is
// said by the next line, or, when none comes within a second, by one of its own. The zero
// value is not ready; see newPace.
type pace struct {
	perSecond int
	tell      func(suppressed int) // logs that line; nil logs none

	telling sync.Mutex // held while tell is called; it is taken before mu

	mu         sync.Mutex // guards what follows
	second     int64
	passed     int
	suppressed int
	timer      *time.Timer // of that line; nil while nothing is suppressed
}

func newPace(perSecond int, tell func(suppressed int)) *pace {
	return &pace{perSecond: perSecond, tell: tell}
}

// tellSuppressed logs how many lines with a message were suppressed.
func tellSuppressed(log *slog.Logger, message string) func(suppressed int) {
	return func(suppressed int) {
		log.Warn("log lines suppressed", "line", message, "suppressed", suppressed)
	}
}

// flush says how many lines were suppressed, if nothing has said it yet. When it returns,
// that is said.
func (p *pace) flush() {
	p.telling.Lock()
	defer p.telling.Unlock()
	p.mu.Lock()
	suppressed := p.reset()
	p.mu.Unlock()
	if suppressed > 0 && p.tell != nil {
		p.tell(suppressed)
	}
}

// reset returns how many lines were suppressed, for who says it. The lock is held.
func (p *pace) reset() (suppressed int) {
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	suppressed, p.suppressed = p.suppressed, 0
	return suppressed
}

// pass tells whether one more line may be written at now, and how many were
// suppressed since the last one that was.
func (p *pace) pass(now time.Time) (suppressed int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if second := now.Unix(); second != p.second {
		p.second, p.passed = second, 0
	}
	if p.passed >= p.perSecond {
		if p.suppressed++; p.timer == nil && p.tell != nil {
			p.timer = time.AfterFunc(time.Second, p.flush)
		}
		return 0, false
	}
	p.passed++
	return p.reset(), true
}

// onceAMinute lets one log line of a kind through per minute.
type onceAMinute struct {
	mu   sync.Mutex // guards last
	last map[string]time.Time
}

// maxKinds bounds the memory of onceAMinute, whatever kinds requests bring up.
const maxKinds = 1000

func newOnceAMinute() *onceAMinute {
	return &onceAMinute{last: map[string]time.Time{}}
}

// pass tells whether a line of that kind may be written at now.
func (o *onceAMinute) pass(kind string, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if at, ok := o.last[kind]; ok && now.Sub(at) < time.Minute {
		return false
	}
	if len(o.last) >= maxKinds {
		clear(o.last)
	}
	o.last[kind] = now
	return true
}
