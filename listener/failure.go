package listener

import (
	"errors"
	"strings"

	"mockserver/fetcher"
	"mockserver/listener/reply"
)

// ofBody returns the failure to send for the error of an external body.
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

// maxMessage limits messages from elsewhere, in bytes, because some contain what the client sent.
const maxMessage = 200

func bounded(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + "…"
}
