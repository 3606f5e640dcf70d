package listener

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// pace lets a few log lines through per second and counts the rest, so that a
// load test full of mistakes does not drown in its own log. The zero value is
// not ready; see newPace.
type pace struct {
	perSecond int

	mu         sync.Mutex // guards what follows
	second     int64
	passed     int
	suppressed int
}

func newPace(perSecond int) *pace { return &pace{perSecond: perSecond} }

// pass tells whether one more line may be written at now, and how many were
// suppressed since the last one that was.
func (p *pace) pass(now time.Time) (suppressed int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if second := now.Unix(); second != p.second {
		p.second, p.passed = second, 0
	}
	if p.passed >= p.perSecond {
		p.suppressed++
		return 0, false
	}
	p.passed++
	suppressed, p.suppressed = p.suppressed, 0
	return suppressed, true
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

// logServerError logs a 5xx answer of the server itself, at most one of a kind a
// minute. A kind is the endpoint and the code.
func (s *Server) logServerError(f failure, endpoint, message string, more ...slog.Attr) {
	if f.status < 500 || !s.serverErrors.pass(f.code+" "+endpoint, time.Now()) {
		return
	}
	attrs := append([]slog.Attr{
		slog.String("code", f.code), slog.String("endpoint", endpoint), slog.String("error", message),
	}, more...)
	s.log.LogAttrs(context.Background(), slog.LevelError, "server error", attrs...)
}
