package webhook

import (
	"log/slog"

	"mockserver/dispatcher"
	"mockserver/dispatcher/outbox"
	"mockserver/dispatcher/stream"
	"mockserver/internal/natsclient"
)

// Store returns a function that opens the store with a name: a directory, or the URL of NATS
// servers. fallback reports whether webhooks that the store refuses are kept in memory.
func Store(name string) (open func(*slog.Logger) (dispatcher.Store, error), fallback bool, err error) {
	if !natsclient.IsURL(name) {
		return func(log *slog.Logger) (dispatcher.Store, error) {
			box, pending, err := outbox.Open(name, log)
			if len(pending) > 0 {
				log.Info("webhooks are still pending from an earlier start", "pending", len(pending), "store", name)
			}
			return box, err
		}, false, nil
	}
	at, err := stream.Parse(name)
	return func(log *slog.Logger) (dispatcher.Store, error) { return stream.Open(at, log) }, at.Fallback, err
}
