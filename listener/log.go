package listener

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"mockserver/listener/record"
	"mockserver/listener/reply"
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

// tellServerError logs and reports a 5xx answer of the server itself, at most one
// of a kind a minute. A kind is the endpoint and the code.
func (s *Server) tellServerError(f reply.Failure, a *answer, err error) {
	if f.Status < 500 || !s.serverErrors.pass(f.Code+" "+a.name, time.Now()) {
		return
	}
	s.log.LogAttrs(context.Background(), slog.LevelError, "server error",
		slog.String("code", f.Code), slog.String("endpoint", a.name), slog.String("error", err.Error()))
	declared := ""
	if a.source != nil {
		declared = a.source.Declared()
	}
	s.reports.Failed(f.Code, a.name, declared, err)
}

// tellPanic logs and reports a panic with its stack, at most one with the same
// message a minute; during says in the log what was done, and more of what. It is to
// be called while the stack is still that of the panic; endpoint is "" before
// it is known.
func (s *Server) tellPanic(during string, endpoint string, p any, message string, more ...slog.Attr) {
	if !s.serverErrors.pass(reply.InternalError.Code+" "+message, time.Now()) {
		return
	}
	s.log.LogAttrs(context.Background(), slog.LevelError, during,
		append(more, slog.String("error", message), slog.String("stack", string(debug.Stack())))...)
	s.reports.Panicked(reply.InternalError.Code, endpoint, p)
}

// logAccess logs one request, whatever it was answered, and what more there is to
// say of it. Of a request whose headers were not understood, nothing is known. One that
// was not answered, because its client left, has the status that nginx logs then.
func (s *Server) logAccess(c *call, more slog.Attr) {
	method, uri := "-", "-"
	if len(c.In.Method) > 0 {
		method, uri = string(c.In.Method), string(c.In.Target)
	}
	status, bytes := c.reply.Status, len(c.reply.Body)
	if c.peer.hasLeft() {
		status, bytes = record.StatusLeft, 0
	}
	attrs := []slog.Attr{
		slog.String("method", method),
		slog.String("uri", uri),
		slog.Int("status", status),
		slog.Int("bytes", bytes),
		slog.String("remote", c.In.Remote.String()),
		more,
	}
	if c.fault != nil {
		attrs = append(attrs, slog.String("fault", c.fault.kind))
	}
	s.log.LogAttrs(context.Background(), slog.LevelInfo, "request", attrs...)
}
