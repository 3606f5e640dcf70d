package serve

import (
	"context"
	"log/slog"
	"time"

	"mockserver/dispatcher"
	"mockserver/internal/wording"
	"mockserver/listener/compile"
	"mockserver/listener/compile/webhook"
	"mockserver/matcher"
	"mockserver/renderer"
)

// webhookLines is the maximum number of log lines about failed webhooks per second.
const webhookLines = 10

// notify schedules the webhooks of an answer whose conditions are true, unless the request itself
// results from too long a chain of webhooks. Their content is rendered now, from the request and
// the reply; their delay starts when the response has been written. A stream calls notify twice: with
// its first item, and at its end.
func (s *Server) notify(a *compile.Response, c *call) {
	if len(a.Hooks) == 0 {
		return
	}
	if c.Reply.Streamed && c.flow == nil && c.passing.given == nil { // until the upstream's answer has ended
		c.passing.given = a
		return
	}
	r := &c.Request
	r.Response = &c.Reply
	depth := webhook.Depth(r)
	if depth >= webhook.MaxDepth {
		if suppressed, ok := s.webhookLimiter.Pass(time.Now()); ok {
			s.Log.Warn("no webhook: too many webhooks led to this request", "endpoint", a.Name, "depth", depth, "suppressed", suppressed)
		}
		return
	}
	follows := func(h *webhook.Hook) bool { return h.Follows(c.Reply.Status, c.Trace.Instead != "") && c.flow.sends(h) }
	s.rendered(a.Hooks, follows, r, depth, func(h *webhook.Hook, d dispatcher.Delivery) {
		if c.flow != nil && c.flow.sent.End == "" {
			s.start(h, d, time.Now())
			return
		}
		if !s.accepts(h, &d) {
			return
		}
		if c.peer == nobody || c.flow != nil || c.Reply.Streamed { // nothing reports when the response is written
			s.Webhooks.Start(d, time.Now())
			return
		}
		if c.following == nil {
			c.following = s.followings.Get().(*following)
			c.peer.AfterWrite(c.following.start)
		}
		c.following.deliveries = append(c.following.deliveries, d)
	})
	if coded := c.Reply.Coded; coded != nil && coded.Err != nil {
		if suppressed, ok := s.webhookLimiter.Pass(time.Now()); ok {
			s.Log.Warn("no response.body: it cannot be decoded", "endpoint", a.Name, "error", coded.Err.Error(), "suppressed", suppressed)
		}
	}
}

// NotifyMoved schedules the webhooks of a row that has changed by itself at the given time. It does
// not wait for the webhook store, because requests that read the set wait for the caller.
func (s *Server) NotifyMoved(hooks []webhook.Hook, r *matcher.Request, at time.Time) {
	r.MaxText = s.MaxResponse
	s.rendered(hooks, func(*webhook.Hook) bool { return true }, r, 0, func(h *webhook.Hook, d dispatcher.Delivery) {
		s.start(h, d, at)
	})
}

// start starts a webhook at the given time. It does not wait for the webhook store.
func (s *Server) start(h *webhook.Hook, d dispatcher.Delivery, at time.Time) {
	start := func() {
		if s.accepts(h, &d) {
			s.Webhooks.Start(d, at)
		}
	}
	if !s.Stored || !s.Storing.Do(start) {
		start()
	}
}

// accepts offers a webhook to the dispatcher, and reports whether the dispatcher accepts it. A
// refusal is logged.
func (s *Server) accepts(h *webhook.Hook, d *dispatcher.Delivery) bool {
	err := s.Webhooks.Accept(d)
	if err == nil {
		return true
	}
	if suppressed, ok := s.refusedLimiter.Pass(time.Now()); ok { // at most once a second
		s.Log.Error("webhook refused", "webhook", h.Shared.Name, "error", err.Error(), "suppressed", suppressed)
	}
	return false
}

// rendered renders the webhooks that follow and whose conditions are true, and passes them to do. Those that cannot
// be rendered are counted and logged.
func (s *Server) rendered(hooks []webhook.Hook, follows func(*webhook.Hook) bool, r *matcher.Request, depth int, do func(*webhook.Hook, dispatcher.Delivery)) {
	for i := range hooks {
		h := &hooks[i]
		if !follows(h) || !h.Applies(r) {
			continue
		}
		d, err := h.Delivery(r, depth+1)
		switch {
		case r.Stopped == renderer.ErrLeft:
			return
		case r.Stopped != nil:
			_, err = s.unfinished(r.Stopped)
			r.Stopped = nil
		}
		if err != nil {
			s.Webhooks.Unsendable(h.Shared, err)
			s.LogFailed(dispatcher.Failure{Webhook: h.Shared, Attempt: 1, Final: true, Err: err})
			continue
		}
		do(h, d)
	}
}

// following holds the webhooks of a request whose delay starts when the response has been written.
type following struct {
	deliveries []dispatcher.Delivery
	start      func(written time.Time)
}

// newFollowing returns a following that starts its webhooks once, and can be used again.
func (s *Server) newFollowing() any {
	f := &following{}
	f.start = func(written time.Time) {
		for i := range f.deliveries {
			s.Webhooks.Start(f.deliveries[i], written)
		}
		clear(f.deliveries)
		f.deliveries = f.deliveries[:0]
		s.followings.Put(f)
	}
	return f
}

// LogFailed logs a failed attempt to send a webhook, at most webhookLines times a second.
func (s *Server) LogFailed(f dispatcher.Failure) {
	suppressed, ok := s.webhookLimiter.Pass(time.Now())
	if !ok {
		return
	}
	attrs := []slog.Attr{slog.String("webhook", f.Webhook.Name), slog.Int("attempt", f.Attempt), slog.Bool("final", f.Final)}
	if f.Err != nil {
		attrs = append(attrs, slog.String("error", wording.Bounded(f.Err.Error())))
	} else {
		attrs = append(attrs, slog.Int("status", f.Status))
	}
	if suppressed > 0 {
		attrs = append(attrs, slog.Int("suppressed", suppressed))
	}
	s.Log.LogAttrs(context.Background(), slog.LevelWarn, "webhook failed", attrs...)
}
