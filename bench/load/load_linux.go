package load

import (
	"cmp"
	"context"
	"net"
	"sync"
	"time"
)

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
	address, err := net.ResolveTCPAddr("tcp4", l.Address)
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
			g.epoll.wake()
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
		before := usedBy(generators)
		from := c.now()
		if !sleep(ctx, time.Duration(c.begin.Load())+l.Duration-time.Duration(c.now())) {
			c.giveUp() // before elapsed is read
		}
		c.endCounting()
		o.Busy = share(usedBy(generators)-before, time.Duration(c.now()-from), len(generators))
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

func usedBy(generators []*thread) (cpu time.Duration) {
	for _, g := range generators {
		cpu += g.used()
	}
	return cpu
}

// share returns cpu as a share of the time of a number of processors.
func share(cpu, elapsed time.Duration, processors int) float64 {
	if elapsed <= 0 || processors < 1 {
		return 0
	}
	return min(max(float64(cpu)/float64(elapsed)/float64(processors), 0), 1)
}
