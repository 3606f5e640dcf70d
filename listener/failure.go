package listener

import (
	"errors"
	"strings"

	"mockserver/fetcher"
	"mockserver/listener/reply"
)

// ofBody is the failure that an external body's error answers with.
func ofBody(err error) reply.Failure {
	var e *fetcher.Error
	if !errors.As(err, &e) {
		return reply.InternalError
	}
	switch e.Kind {
	case fetcher.NotFound:
		return reply.BodyNotFound
	case fetcher.Upstream:
		return reply.UpstreamFailed
	case fetcher.Timeout:
		return reply.UpstreamTimeout
	}
	return reply.BodyUnavailable
}

// maxMessage bounds the messages of others, in bytes: some hold what the client sent.
const maxMessage = 200

func bounded(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + "…"
}
