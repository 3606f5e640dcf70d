// Package fleet makes the admin addresses of several replicas act as one: it knows the replicas and
// whether they serve the same specification, changes the specification of all of them, and begins
// and ends runs on all of them, merging their reports exactly. There is no leader: the replica that
// receives a request coordinates it, and asks all replicas over HTTP, including itself.
package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Fleet is a fleet as seen by one of its replicas, or by the command run.
type Fleet struct {
	// Instance identifies this process among the replicas.
	Instance string

	opts    Options
	members Members
	client  *client

	mu      sync.Mutex // guards the fields below
	known   []string   // addresses
	looked  time.Time
	problem string // the reason why the last look-up failed; "" if it did not
	runs    []*Run // the oldest first
}

const (
	// lookEvery is how often the members are looked up.
	lookEvery = 5 * time.Second
	// runsKept is the maximum number of runs that a coordinator keeps, unless more are under way.
	runsKept = 20
)

// New returns a fleet. The error says what is wrong with Options.
func New(opts Options) (*Fleet, error) {
	members, err := ParseMembers(opts.Members)
	if err != nil {
		return nil, err
	}
	if opts.Token == "" && !members.isLoopback() {
		return nil, errors.New("the replicas need a token, the same for all, since they are not all on loopback addresses; set --admin-token")
	}
	asking, err := newClient(&opts, members.name)
	if err != nil {
		return nil, err
	}
	return &Fleet{Instance: rand.Text(), opts: opts, members: members, client: asking}, nil
}

// addresses returns the addresses of the members. A name is looked up again after a while; if that
// fails, the addresses known so far are returned.
func (f *Fleet) addresses(ctx context.Context) []string {
	f.mu.Lock()
	known, due := f.known, time.Since(f.looked) >= lookEvery || f.known == nil
	f.mu.Unlock()
	if !due {
		return known
	}
	ctx, cancel := context.WithTimeout(ctx, briefly)
	defer cancel()
	found, err := f.members.look(ctx)
	if err == nil && f.opts.Found {
		found = f.through(ctx, append(slices.Clone(known), found...), found)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.problem = ""; err != nil {
		f.problem = err.Error()
		return f.known
	}
	f.known, f.looked = found, time.Now()
	return found
}

// forget makes the next request look up the members again.
func (f *Fleet) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looked = time.Time{}
}

// through returns the members known to the first address that answers. If no server at the
// addresses knows a fleet, it returns alone.
func (f *Fleet) through(ctx context.Context, addresses, alone []string) []string {
	for _, address := range addresses {
		var s Overview
		reply := f.client.ask(ctx, address, Question{Method: http.MethodGet, Path: "/__admin/fleet", Within: briefly})
		if reply.into(&s) != nil {
			continue
		}
		return s.Addresses()
	}
	return alone
}

// Look asks all replicas for their state, and determines whether they agree.
func (f *Fleet) Look(ctx context.Context) Overview {
	s := Overview{Why: []string{}, Expected: f.opts.Expect, Replicas: []Member{}}
	instances := map[string]bool{}
	for _, r := range f.Ask(ctx, f.addresses(ctx), Question{Method: http.MethodGet, Path: "/__admin/fleet/replica", Within: briefly}) {
		m := Member{Address: r.Address}
		if err := r.into(&m.Replica); err != nil {
			m.Silent, m.Replica = err.Error(), Replica{Reasons: []string{}}
		}
		if m.Silent == "" && instances[m.Instance] {
			continue // the replica has several addresses
		}
		instances[m.Instance] = true
		m.Self = m.Instance == f.Instance
		s.Replicas = append(s.Replicas, m)
	}
	s.agree()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.problem != "" {
		s.Agreed, s.Why = false, append(s.Why, f.problem)
	}
	return s
}

// Watch calls due at the interval at which the members are looked up, until ctx is done.
func (f *Fleet) Watch(ctx context.Context, due func(context.Context)) { every(ctx, lookEvery, due) }

// every calls do at an interval, until ctx is done.
func every(ctx context.Context, interval time.Duration, do func(context.Context)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			do(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// atOnce calls do for all items at the same time, and waits for them.
func atOnce[T any](items []T, do func(i int, item T)) {
	var all sync.WaitGroup
	for i, item := range items {
		all.Go(func() { do(i, item) })
	}
	all.Wait()
}

// Close stops all work in the background, and closes the connections to the replicas.
func (f *Fleet) Close() {
	f.mu.Lock()
	all := slices.Clone(f.runs)
	f.mu.Unlock()
	for _, run := range all {
		run.leave()
	}
	f.client.http.CloseIdleConnections()
}

// Ask sends a request to all given addresses at the same time, and returns their answers in the
// same order.
func (f *Fleet) Ask(ctx context.Context, addresses []string, q Question) []Reply {
	replies := make([]Reply, len(addresses))
	atOnce(addresses, func(i int, address string) { replies[i] = f.client.ask(ctx, address, q) })
	return replies
}
