package load

import (
	"errors"
	"strconv"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// tally counts the results of the part of a load that one thread or connection sends.
type tally struct {
	requests, bytes uint64
	missed, late    uint64
	errors          map[string]uint64
	latency         *hdrhistogram.Histogram
}

const (
	shortestLatency = int64(time.Microsecond)
	longestLatency  = int64(time.Minute)
	latencyDigits   = 3
	// errorKinds bounds the kinds of error that are kept: each length of a body can be one of
	// its own.
	errorKinds = 64
	otherError = "other errors"
)

func newTally() tally {
	return tally{
		errors:  map[string]uint64{},
		latency: hdrhistogram.New(shortestLatency, longestLatency, latencyDigits),
	}
}

// answered counts an expected answer. A latency over a minute counts as a minute.
func (t *tally) answered(latency int64) {
	t.requests++
	_ = t.latency.RecordValue(min(max(latency, 0), longestLatency)) // in range
}

func (t *tally) fail(kind string) { count(t.errors, kind, 1) }

func count(errors map[string]uint64, kind string, n uint64) {
	if _, known := errors[kind]; !known && len(errors) >= errorKinds {
		kind = otherError
	}
	errors[kind] += n
}

func (t *tally) merge(from *tally) {
	t.requests += from.requests
	t.bytes += from.bytes
	t.missed += from.missed
	t.late += from.late
	for kind, n := range from.errors {
		count(t.errors, kind, n)
	}
	t.latency.Merge(from.latency) // of the same bounds: nothing is dropped
}

// outcome makes the outcome of a tally.
func (t *tally) outcome() *Outcome {
	return &Outcome{
		Requests: t.requests, Bytes: t.bytes, Errors: t.errors,
		Latency: t.latency, Missed: t.missed, Late: t.late,
	}
}

// Kinds of error that both generators count.
const (
	noAnswer      = "no answer"
	resetByServer = "reset by the server"
)

// reason is the text of an error without calls and addresses, which would make many kinds of
// one.
func reason(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}

// unlike says how an answer differs from the expected one; "" if it does not.
func (w Want) unlike(status int, length int64) string {
	switch {
	case w.Status == 0 && status >= 400, w.Status != 0 && status != w.Status:
		return "status " + strconv.Itoa(status)
	case w.Length >= 0 && length != int64(w.Length):
		return "body of " + strconv.FormatInt(length, 10) + " bytes instead of " + strconv.Itoa(w.Length)
	}
	return ""
}
