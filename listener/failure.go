package listener

import (
	"errors"

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
