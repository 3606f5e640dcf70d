// Package load generates load over HTTP/1.1, at a constant rate or in a closed loop, and
// measures how it is answered:
//
//	plan := load.Plan{Address: "127.0.0.1:8080", Requests: …, Wants: …, Connections: 64, Duration: time.Second}
//	outcome, err := plan.Run(ctx)
//
// It also divides the CPUs between the generator and a server, and reads which resources a process
// has used.
package load

import (
	"bytes"
	"cmp"
	"context"
	"net"
	"sync"
	"time"
)

// Plan determines what is sent to a server, and how.
type Plan struct {
	Address     string        // host:port
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
	portable bool          // send by goroutines, as on systems without epoll
}

// Want describes an expected answer.
type Want struct {
	Status int   // 0 accepts any status below 400
	Length int   // of the body in bytes, 0 for HEAD; -1 accepts any
	Also   []int // further statuses
}

const (
	connectTime     = 5 * time.Second // for all connections before the load begins
	defaultPatience = 5 * time.Second
	// restTime delays the reopening of a failed connection, so that a server that refuses or closes
	// connections does not take up all the time of the generator.
	restTime = 10 * time.Millisecond
	lateTime = time.Millisecond
	// connecting bounds the number of connections that are opened at once: the system drops those
	// above a listener's backlog, and tries them again a second later.
	connecting = 128
)

// Run sends a load until its time is over or ctx ends. It is not an error if ctx ends: the outcome
// then covers the time until then. The error says why no connection could be made.
func (l *Plan) Run(ctx context.Context) (*Outcome, error) {
	c := newSchedule(l.Rate)
	var generators []*thread
	address, err := net.ResolveTCPAddr("tcp", l.Address) // IPv4, if a name has both
	if err == nil {
		generators, err = l.generators(address, c)
	}
	if err == nil {
		err = connectAll(ctx, generators)
	}
	if err == nil {
		return l.send(ctx, c, generators), nil
	}
	for _, g := range generators {
		g.close()
	}
	if ctx.Err() != nil {
		return newOutcome(), nil
	}
	return nil, err
}

// connectAll opens the connections of all generators. It fails if any generator has no connection
// at all.
func connectAll(ctx context.Context, generators []*thread) error {
	failed := make([]error, len(generators))
	var all sync.WaitGroup
	for i, g := range generators {
		all.Go(func() { failed[i] = g.connect(ctx) })
	}
	all.Wait()
	return cmp.Or(cmp.Or(failed...), ctx.Err())
}

// send runs the generators through the schedule and adds up their counts.
func (l *Plan) send(ctx context.Context, c *schedule, generators []*thread) *Outcome {
	c.start(l.Warmup, l.Duration)
	var all sync.WaitGroup
	for _, g := range generators {
		all.Go(g.send)
	}
	wake := func() {
		for _, g := range generators {
			g.sockets.wake()
		}
	}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		c.giveUp()
		wake()
	})
	count := func(begun bool) {
		if l.Counting != nil {
			l.Counting(begun)
		}
	}
	o := newOutcome()
	if sleep(ctx, l.Warmup) {
		count(true)
		c.beginCounting()
		before, _ := usedBy(generators)
		from := c.now()
		if !sleep(ctx, time.Duration(c.begin.Load())+l.Duration-time.Duration(c.now())) {
			c.giveUp() // before elapsed is read
		}
		c.endCounting()
		after, processors := usedBy(generators)
		o.Busy = share(after-before, time.Duration(c.now()-from), processors)
		count(false)
		o.Elapsed = time.Duration(max(c.end.Load()-c.begin.Load(), 0))
		wake()
	}
	all.Wait()
	if !stop() {
		<-stopped // wake is still running, and needs the generators open
	}
	for _, g := range generators {
		g.close()
		o.add(g.result)
	}
	return o
}

// isHead reports whether a request's answer never has a body.
func isHead(request []byte) bool { return bytes.HasPrefix(request, []byte("HEAD ")) }

// sleep waits, and reports whether ctx has not ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

func usedBy(generators []*thread) (cpu time.Duration, processors int) {
	for _, g := range generators {
		c, n := g.used()
		cpu += c
		processors += n
	}
	return cpu, processors
}

// share returns cpu as a share of the time of a number of processors.
func share(cpu, elapsed time.Duration, processors int) float64 {
	if elapsed <= 0 || processors < 1 {
		return 0
	}
	return min(max(float64(cpu)/float64(elapsed)/float64(processors), 0), 1)
}
