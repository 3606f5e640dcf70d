// Package loglimit limits how many log lines of a kind are written, and counts the rest.
package loglimit

import (
	"log/slog"
	"sync"
	"time"
)

// Limiter lets a few log lines of a kind through per second and counts the rest, so that a load
// test with many errors does not flood the log. The next line states how many lines were
// suppressed; if there is no line within a second, the number is logged in a separate line. The
// methods may be called from any goroutine. See New.
type Limiter struct {
	perSecond int
	log       func(suppressed int) // logs the separate line; nil logs nothing

	logging sync.Mutex // held while tell is called; locked before mu

	mu         sync.Mutex // guards the fields below
	second     int64
	passed     int
	suppressed int
	timer      *time.Timer // timer of the separate line; nil while nothing is suppressed
}

// New returns a limiter that passes perSecond lines per second. tell logs how many lines were
// suppressed, if no line follows them; nil logs nothing.
func New(perSecond int, log func(suppressed int)) *Limiter {
	return &Limiter{perSecond: perSecond, log: log}
}

// LogSuppressed returns a function that logs how many lines with a message were suppressed.
func LogSuppressed(log *slog.Logger, message string) func(suppressed int) {
	return func(suppressed int) {
		log.Warn("log lines suppressed", "line", message, "suppressed", suppressed)
	}
}

// Flush logs how many lines were suppressed, unless that has already been logged. When it returns,
// the line has been written.
func (p *Limiter) Flush() {
	p.logging.Lock()
	defer p.logging.Unlock()
	p.mu.Lock()
	suppressed := p.reset()
	p.mu.Unlock()
	if suppressed > 0 && p.log != nil {
		p.log(suppressed)
	}
}

// reset returns how many lines were suppressed, and resets the number. The caller holds mu, and
// logs the number.
func (p *Limiter) reset() (suppressed int) {
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	suppressed, p.suppressed = p.suppressed, 0
	return suppressed
}

// Pass reports whether one more line may be written at now, and how many lines were suppressed
// since the last one that was written.
func (p *Limiter) Pass(now time.Time) (suppressed int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if second := now.Unix(); second != p.second {
		p.second, p.passed = second, 0
	}
	if p.passed >= p.perSecond {
		if p.suppressed++; p.timer == nil && p.log != nil {
			p.timer = time.AfterFunc(time.Second, p.Flush)
		}
		return 0, false
	}
	p.passed++
	return p.reset(), true
}

// OncePerMinute passes one log line of each kind per minute.
type OncePerMinute struct {
	mu   sync.Mutex // guards last
	last map[string]time.Time
}

// maxKinds limits the memory of OncePerMinute, no matter how many kinds requests cause.
const maxKinds = 1000

// NewOncePerMinute returns a OncePerMinute that has not passed any lines yet.
func NewOncePerMinute() *OncePerMinute {
	return &OncePerMinute{last: map[string]time.Time{}}
}

// Pass reports whether a line of the given kind may be written at now.
func (o *OncePerMinute) Pass(kind string, now time.Time) bool {
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
