// Package load generates load over HTTP/1.1, at a constant rate or in a closed loop, and
// measures how it is answered:
//
//	plan := load.Plan{Address: "127.0.0.1:8080", Requests: …, Wants: …, Connections: 64, Duration: time.Second}
//	outcome, err := plan.Run(ctx)
//
// It needs Linux. It also divides the CPUs between the generator and a server, and reads which
// resources a process has used.
package load

import "time"

// Plan determines what is sent to a server, and how.
type Plan struct {
	Address     string        // host:port, of IPv4
	Requests    [][]byte      // whole requests, sent in turn on each connection; at least one
	Wants       []Want        // the expected answer to each of them; of the same length as Requests
	Connections int           // at least one
	Warmup      time.Duration // sent before anything is counted
	Duration    time.Duration // the time that is counted, above 0
	Rate        float64       // requests a second in total; 0 waits for each answer instead
	// Counting is called when the warm-up is over, and again when counting ends, by the goroutine
	// of Run, so that it can read what the server has used. It may be nil. It is not called if the
	// load stops before anything is counted.
	Counting func(begun bool)

	CPUs     []int         // for the generator only, a thread for each; nil: all CPUs of the process
	patience time.Duration // how long to wait for outstanding answers at the end; 0 is 5 s
}

// Want describes an expected answer.
type Want struct {
	Status int   // 0 accepts any status below 400
	Length int   // of the body in bytes, 0 for HEAD; -1 accepts any
	Also   []int // further statuses
	// Items is how many items of equal length a streamed answer has, the first one Gap after the request and
	// each of the others Gap after the one before; 0 for no stream. Each item counts as a request, whose latency
	// is how much later it came.
	Items int
	Gap   time.Duration
}
