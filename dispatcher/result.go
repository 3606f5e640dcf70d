package dispatcher

import (
	"fmt"
	"strings"
	"time"
)

// result is the result of an attempt.
type result struct {
	entry   uint32
	webhook *Webhook
	attempt int
	status  int // of the response; 0 if there is none
	// retryAfter is the wait that the target requested before a retry; 0 if it requested none.
	retryAfter time.Duration
	err        error // why there is no response
	// brokenOff is set if the attempt failed after the end of the queue had closed the connections.
	brokenOff bool
}

func (r *result) delivered() bool { return r.err == nil && r.status < 400 }

// unsent reports whether nothing was written because the store did not allow it.
func (r *result) unsent() bool { return r.err == errNotNow || r.err == errElsewhere }

// reason returns why an attempt failed, as a text of limited length.
func (r *result) reason() string {
	if r.err == nil {
		return fmt.Sprintf("status %d", r.status)
	}
	text := r.err.Error()
	return strings.ToValidUTF8(text[:min(len(text), maxReason)], "")
}

// again reports whether another attempt follows.
func (r *result) again() bool {
	return !r.delivered() && r.attempt < r.webhook.Retry.Attempts && (r.err != nil || r.status == 429 || r.status >= 500)
}

// maxReason is the maximum length of the reason that is kept for a failed attempt, in bytes.
const maxReason = 200
