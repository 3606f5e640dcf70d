package listener

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"mockserver/dispatcher"
)

// openWebhooks starts the queue. If Options.NoWebhooks is set, stored webhooks are not sent either.
func (s *Server) openWebhooks() error {
	opts := dispatcher.Options{MaxPending: s.opts.MaxPendingWebhooks, Logger: s.log, Failed: s.calls.LogFailed}
	if !s.opts.NoWebhooks {
		opts.Store = s.opts.WebhookStore
	}
	if strings.Contains(opts.Store, "://") {
		return errors.New("the webhook store is a URL; expected the name of a directory")
	}
	var err error
	s.calls.Webhooks, err = dispatcher.Open(opts)
	return err
}

// closeWebhooks sends the webhooks that fall due before ctx ends, and logs the totals.
func (s *Server) closeWebhooks(ctx context.Context) error {
	if s.calls.Webhooks == nil { // it was never started
		return nil
	}
	stats, err := s.calls.Webhooks.Close(ctx)
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
func (s *Server) Webhooks() dispatcher.Stats { return s.calls.Webhooks.Stats() }

// CountWebhooks begins a tally of the webhooks that requests trigger from now on.
func (s *Server) CountWebhooks() *dispatcher.Counters { return s.calls.Webhooks.Begin() }
