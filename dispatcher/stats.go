package dispatcher

import (
	"time"

	"mockserver/internal/histogram"
)

// Stats counts the deliveries of a queue.
type Stats struct {
	Pending  int64 // accepted and not finished, including Due and InFlight
	Due      int64 // waiting for a worker, for the first attempt or another
	InFlight int64 // being sent

	Delivered int64 // delivered with a response status below 400
	Retried   int64 // failed attempts that were to be followed by another
	Dead      int64 // failed permanently
	Cancelled int64 // removed by Cancel
	Refused   int64 // not accepted: too many were pending, the queue was closed, or the store refused them
	Abandoned int64 // left only in memory when the queue was closed
	Kept      int64 // left in the store when the queue was closed, or because another process sends them
	Lost      int64 // minimum number of records that could not be read from the store
	Restored  int64 // taken over from an earlier run or another process, through the store
	Unstored  int64 // accepted although the store refused them, because of Options.Fallback

	// Lag is how late first attempts were sent: the time from when they were due until there was a
	// connection to write the request to. If the target could not be reached, the time until the
	// attempt began counts.
	Lag histogram.Snapshot
	// Oldest is the longest time that a delivery or retry that is due has been waiting for a
	// worker; 0 if none is waiting.
	Oldest time.Duration
}
