package load

import (
	"errors"
	"slices"
	"strconv"
	"syscall"
	"time"

	"mockserver/internal/histogram"
)

const (
	// errorKinds bounds the kinds of error that are kept: every wrong length of a body is a
	// different kind.
	errorKinds = 64
	otherError = "other errors"
)

// Outcome is the result of a load.
type Outcome struct {
	Requests uint64            // answered as expected, while counting
	Elapsed  time.Duration     // how long requests were counted
	Errors   map[string]uint64 // what went wrong, and how often: "status 500", "closed by the server"
	// Latency contains latencies: with a rate from the time a request was due, otherwise from the
	// time it was sent.
	Latency histogram.Histogram
	Missed  uint64  // due with a rate, but not sent before the end
	Late    uint64  // sent more than a millisecond after they were due
	Busy    float64 // share of its processors' time that the generator used or lost to others, 0 to 1
}

// Usage contains the resources that a process has used.
type Usage struct {
	CPU      time.Duration // user and system, of all its threads since it started
	Resident uint64        // bytes of memory now
}

func newOutcome() *Outcome { return &Outcome{Errors: map[string]uint64{}} }

// served counts an expected answer, with its latency in nanoseconds.
func (o *Outcome) served(latency int64) {
	o.Requests++
	o.Latency.Add(time.Duration(latency))
}

// fail counts n errors of one kind.
func (o *Outcome) fail(kind string, n uint64) {
	if _, known := o.Errors[kind]; !known && len(o.Errors) >= errorKinds {
		kind = otherError
	}
	o.Errors[kind] += n
}

// add adds the counts of one part of a load.
func (o *Outcome) add(part *Outcome) {
	o.Requests += part.Requests
	o.Missed += part.Missed
	o.Late += part.Late
	for kind, n := range part.Errors {
		o.fail(kind, n)
	}
	o.Latency.Merge(&part.Latency)
}

// reason returns the text of an error without calls and addresses, which would split one kind into
// many.
func reason(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	return err.Error()
}

// unlike describes how an answer differs from the expected one; "" if it does not.
func (w Want) unlike(status int, length int64) string {
	switch {
	case w.Status == 0 && status >= 400, w.Status != 0 && status != w.Status && !slices.Contains(w.Also, status):
		return "status " + strconv.Itoa(status)
	case w.Length >= 0 && length != int64(w.Length):
		return "body of " + strconv.FormatInt(length, 10) + " bytes instead of " + strconv.Itoa(w.Length)
	}
	return ""
}
