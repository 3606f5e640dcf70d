package listener

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/dispatcher"
	"mockserver/internal/wording"
	"mockserver/listener/serve/webhook"
	"mockserver/matcher"
	"mockserver/renderer"
)

// webhookLines is the maximum number of log lines about failed webhooks per second.
const webhookLines = 10

// answerHooks compiles the webhooks of an answer. Webhook templates may refer to the response.
func (c *compiler) answerHooks(all []item.Webhook, name string, scope *renderer.Scope) ([]webhook.Hook, syntax.Problems) {
	within := *scope
	within.Response = true
	return c.hooks(all, name, &within)
}

// moved compiles the webhooks of rows that change by themselves.
func (c *compiler) moved(all []item.Webhook, name string, scope *renderer.Scope) (func(*matcher.Request, time.Time), syntax.Problems) {
	hooks, problems := c.hooks(all, name, scope)
	for i := range hooks {
		if all[i].Delay == 0 { // they are sent when the row changes, unless a delay is declared
			hooks[i].AtOnce()
		}
	}
	return func(r *matcher.Request, at time.Time) { c.send(hooks, r, at) }, problems
}

// hooks compiles webhooks. If Options.NoWebhooks is set, it only checks them, so that no request
// triggers them.
func (c *compiler) hooks(all []item.Webhook, name string, scope *renderer.Scope) ([]webhook.Hook, syntax.Problems) {
	hooks, problems := webhook.Compile(all, name, scope)
	if c.noWebhooks {
		return nil, problems
	}
	return hooks, problems
}

// notify schedules the webhooks of an answer whose conditions are true, unless the request itself
// results from too long a chain of webhooks. Their content is rendered now, from the request and
// the reply; their delay starts when the response has been written.
func (s *Server) notify(a *answer, c *call) {
	if len(a.hooks) == 0 {
		return
	}
	r := &c.Request
	r.Answer = &c.reply
	depth := webhook.Depth(r)
	if depth >= webhook.MaxDepth {
		if suppressed, ok := s.webhookLimiter.Pass(time.Now()); ok {
			s.log.Warn("no webhook: too many webhooks led to this request", "endpoint", a.name, "depth", depth, "suppressed", suppressed)
		}
		return
	}
	s.rendered(a.hooks, r, depth, func(h *webhook.Hook, d dispatcher.Delivery) {
		if !s.accepts(h, &d) {
			return
		}
		if c.peer == nobody { // nothing reports when the response is written
			s.webhooks.Start(d, time.Now())
			return
		}
		f := s.followingOf(c.peer)
		f.deliveries = append(f.deliveries, d)
		c.peer.AfterWrite(f.start)
	})
	if coded := c.reply.Coded; coded != nil && coded.Err != nil {
		if suppressed, ok := s.webhookLimiter.Pass(time.Now()); ok {
			s.log.Warn("no response.body: it cannot be decoded", "endpoint", a.name, "error", coded.Err.Error(), "suppressed", suppressed)
		}
	}
}

// notifyMoved schedules the webhooks of a row that has changed by itself at the given time. It does
// not wait for the webhook store, because requests that read the set wait for the caller.
func (s *Server) notifyMoved(hooks []webhook.Hook, r *matcher.Request, at time.Time) {
	r.MaxText = s.opts.MaxResponse
	s.rendered(hooks, r, 0, func(h *webhook.Hook, d dispatcher.Delivery) {
		start := func() {
			if s.accepts(h, &d) {
				s.webhooks.Start(d, at)
			}
		}
		if s.opts.WebhookStore == "" || !s.storing.Do(start) {
			start()
		}
	})
}

// accepts offers a webhook to the dispatcher, and reports whether the dispatcher accepts it. A
// refusal is logged.
func (s *Server) accepts(h *webhook.Hook, d *dispatcher.Delivery) bool {
	err := s.webhooks.Accept(d)
	if err != nil {
		s.tellRefused(h, err)
	}
	return err == nil
}

// rendered renders the webhooks whose conditions are true, and passes them to do. Those that cannot
// be rendered are counted and logged.
func (s *Server) rendered(hooks []webhook.Hook, r *matcher.Request, depth int, do func(*webhook.Hook, dispatcher.Delivery)) {
	for i := range hooks {
		h := &hooks[i]
		if !h.Applies(r) {
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
			s.unsendable.Add(1)
			s.tellFailed(dispatcher.Failure{Webhook: h.Webhook(), Attempt: 1, Final: true, Err: err})
			continue
		}
		do(h, d)
	}
}

// following holds the webhooks of a peer whose delay starts when the response has been
// written.
type following struct {
	deliveries []dispatcher.Delivery
	start      func(written time.Time)
}

func (s *Server) followingOf(p peer) *following {
	f, _ := (*p.Kept()).(*following)
	if f == nil {
		f = &following{}
		f.start = func(written time.Time) {
			for i := range f.deliveries {
				s.webhooks.Start(f.deliveries[i], written)
			}
			clear(f.deliveries)
			f.deliveries = f.deliveries[:0]
		}
		*p.Kept() = f
	}
	return f
}

// tellRefused logs that a webhook was not accepted, at most once a second.
func (s *Server) tellRefused(h *webhook.Hook, err error) {
	if suppressed, ok := s.refusedLimiter.Pass(time.Now()); ok {
		s.log.Error("webhook refused", "webhook", h.Webhook().Name, "error", err.Error(), "suppressed", suppressed)
	}
}

// tellFailed logs a failed attempt to send a webhook, at most webhookLines times a second.
func (s *Server) tellFailed(f dispatcher.Failure) {
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
	s.log.LogAttrs(context.Background(), slog.LevelWarn, "webhook failed", attrs...)
}

// openWebhooks starts the queue. If Options.NoWebhooks is set, stored webhooks are not sent either.
func (s *Server) openWebhooks() error {
	opts := dispatcher.Options{MaxPending: s.opts.MaxPendingWebhooks, Logger: s.log, Failed: s.tellFailed}
	var err error
	if s.opts.WebhookStore != "" && !s.opts.NoWebhooks {
		if opts.Store, opts.Fallback, err = webhook.Store(s.opts.WebhookStore); err != nil {
			return err
		}
	}
	s.webhooks, err = dispatcher.Open(opts)
	return err
}

// closeWebhooks sends the webhooks that fall due before ctx ends, and logs the totals.
func (s *Server) closeWebhooks(ctx context.Context) error {
	if s.webhooks == nil { // it was never started
		return nil
	}
	stats, err := s.webhooks.Close(ctx)
	stats.Dead += s.unsendable.Load()
	if errors.Is(err, dispatcher.ErrClosed) {
		return nil
	}
	if stats.Lag.Count > 0 || stats.Pending+stats.Dead+stats.Refused > 0 {
		level := slog.LevelInfo
		if stats.Abandoned > 0 {
			level = slog.LevelWarn
		}
		s.log.LogAttrs(context.Background(), level, "webhooks",
			slog.Int64("delivered", stats.Delivered), slog.Int64("retried", stats.Retried),
			slog.Int64("dead", stats.Dead), slog.Int64("refused", stats.Refused),
			slog.Int64("abandoned", stats.Abandoned), slog.Int64("kept", stats.Kept),
			slog.Duration("lag_p50", stats.Lag.Quantile(0.5)), slog.Duration("lag_p99", stats.Lag.Quantile(0.99)),
			slog.Duration("lag_max", stats.Lag.Max))
	}
	return err
}

// ended returns a context that has been canceled.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// Webhooks returns the statistics of the webhooks so far.
func (s *Server) Webhooks() dispatcher.Stats {
	stats := s.webhooks.Stats()
	stats.Dead += s.unsendable.Load()
	return stats
}
