package bench

import (
	"fmt"
	"io"
	"time"

	"mockserver/bench/load"
)

// run is one run of the command.
type run struct {
	opts     Options
	out      io.Writer
	progress io.Writer // a line for each thing that is done
	dir      string    // for files that servers read; removed at the end
	begun    time.Time
	machine  machine

	placed load.Placement

	results []*result
	listed  []unasked // endpoints that were not measured
	notes   []string
}

// unasked is an endpoint that was not measured, and why.
type unasked struct {
	Endpoint string `json:"endpoint"`
	Why      string `json:"why"`
}

// warmup returns how long requests are sent before a round counts.
func warmup(duration time.Duration) time.Duration {
	return min(max(duration/5, 50*time.Millisecond), time.Second)
}

// progressf reports the current activity.
func (r *run) progressf(format string, args ...any) { fmt.Fprintf(r.progress, format+"\n", args...) }
