package admin

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"mockserver/listener/record"
)

const (
	// sampleEvery is how often figures are read.
	sampleEvery = time.Second
	// lookEvery is how often is looked whether the process runs at all: what stops it
	// between two samples would else go unseen.
	lookEvery = 50 * time.Millisecond
	// windowSeconds is how far the verdict looks back: enough requests for a percentile,
	// and few enough for the verdict to change while one looks.
	windowSeconds = 10
	// calmSeconds is how long nothing has to be wrong until the log says so: a figure at
	// its threshold is not logged once a second.
	calmSeconds = 5
	// samplesKept are those of the last hour: about 900 bytes each, so 3 MB.
	samplesKept = 3600
	// busiestKept are of how many samples the busiest endpoints are kept, and how many of
	// those: at most 1 MB.
	busiestKept = 300
	busiestMost = 20
)

// sampler reads the figures once a second, for as long as the admin address is open, and
// judges them. Requests never wait for it: it reads what they count.
type sampler struct {
	read       func() reading // a seam for tests
	thresholds Thresholds
	log        *slog.Logger
	cancel     context.CancelFunc
	ended      chan struct{}

	taking sync.Mutex // held from before a reading until it is taken: the next one has more of everything

	mu      sync.Mutex // guards what follows
	last    reading    // the newest
	marks   []mark     // of the window, the oldest first; the newest is of last
	samples ring[Sample]
	busiest ring[busy]
	window  Sample
	verdict Verdict
	runs    *runs
	stalled time.Duration // the longest since the last reading
	warned  time.Time     // when the log said that the timing is not trusted; zero when it said the contrary
}

// mark is a reading in the window, without what only differences by endpoint need, and
// how late it was, in milliseconds.
type mark struct {
	reading reading
	stall   float64
}

// busy is the busiest endpoints of one sample.
type busy struct {
	Time      time.Time     `json:"time" doc:"of the end of the second"`
	Endpoints []busyAccount `json:"endpoints" doc:"the 20 with the most requests"`
}

// busyAccount is one endpoint in one sample. Times are in milliseconds.
type busyAccount struct {
	ID       string  `json:"id" doc:"of the endpoint; empty for what no endpoint answered"`
	Endpoint string  `json:"endpoint" doc:"method and path"`
	Rate     float64 `json:"rate" doc:"requests a second"`
	Errors   uint64  `json:"errors" doc:"answers of 500 and above"`
	OwnP50   float64 `json:"own_p50" doc:"median of the server's own time"`
	OwnP99   float64 `json:"own_p99" doc:"99th percentile of it"`
}

// ring keeps the last ones of what is put into it.
type ring[T any] struct {
	all  []T
	next int // where the next goes once there are most
	most int
}

func (r *ring[T]) put(value T) {
	if len(r.all) < r.most {
		r.all = append(r.all, value)
		return
	}
	r.all[r.next] = value
	r.next = (r.next + 1) % r.most
}

// latest are the last ones, at most so many, the oldest first. It is never nil, which
// JSON would have as null.
func (r *ring[T]) latest(most int) []T {
	all := make([]T, 0, len(r.all))
	all = append(append(all, r.all[r.next:]...), r.all[:r.next]...)
	return all[len(all)-min(max(most, 0), len(all)):]
}

// newSampler reads the first time; Run does from then on.
func newSampler(read func() reading, thresholds Thresholds, log *slog.Logger) *sampler {
	s := &sampler{
		read: read, thresholds: thresholds, log: log, ended: make(chan struct{}),
		samples: ring[Sample]{most: samplesKept}, busiest: ring[busy]{most: busiestKept}, runs: newRuns(),
	}
	s.last = read()
	s.marks = []mark{s.last.mark(0)}
	s.verdict = Verdict{Trusted: true, Idle: true, Since: s.last.time.UTC(), Reasons: []Reason{}, Unknown: []string{}}
	s.window = Sample{Time: s.last.time.UTC()}
	return s
}

// start samples in the background until stop.
func (s *sampler) start() {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go func() {
		defer close(s.ended)
		ticker := time.NewTicker(lookEvery)
		defer ticker.Stop()
		seen := time.Now()
		next := seen.Add(sampleEvery)
		for {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
			now := time.Now()
			s.looked(now.Sub(seen) - lookEvery)
			seen = now
			if now.Before(next) {
				continue
			}
			for !next.After(now) {
				next = next.Add(sampleEvery)
			}
			s.readOne()
			seen = time.Now()
		}
	}()
}

// looked tells by how much later than it should the process was seen to run.
func (s *sampler) looked(late time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stalled = max(s.stalled, late)
}

// stop ends sampling, and the run that is under way with it.
func (s *sampler) stop() {
	s.cancel()
	<-s.ended
}

func (r *reading) mark(stall float64) mark {
	m := mark{reading: *r, stall: stall}
	m.reading.counts.Endpoints = nil
	return m
}

// readOne reads, and takes it.
func (s *sampler) readOne() {
	s.taking.Lock()
	defer s.taking.Unlock()
	s.take(s.read())
}

// take adds a reading: the sample that ends with it, and the verdict on the window.
func (s *sampler) take(r reading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sample := between(&s.last, &r)
	sample.Stall, s.stalled = inMS(s.stalled), 0
	s.busiest.put(busiestBetween(&s.last.counts, &r.counts, sample))
	s.samples.put(sample)
	s.marks = append(s.marks, r.mark(sample.Stall))
	// By time, and not by number: a run that ends has a mark of its own.
	for len(s.marks) > 2 && r.time.Sub(s.marks[1].reading.time) > windowSeconds*sampleEvery-sampleEvery/2 {
		s.marks = slices.Delete(s.marks, 0, 1)
	}
	s.last = r
	s.look()
	s.runs.sampled(sample, s.verdict)
}

// look judges the window anew.
func (s *sampler) look() {
	s.window = between(&s.marks[0].reading, &s.last)
	for _, m := range s.marks[1:] {
		s.window.Stall = max(s.window.Stall, m.stall)
	}
	before := s.verdict
	s.verdict = judge(&s.window, s.thresholds).after(before, s.window.Time)
	s.tell()
}

// tell logs when the verdict changes: at once when something is wrong, and when nothing
// has been for a while.
func (s *sampler) tell() {
	v, now := &s.verdict, s.window.Time
	switch {
	case !v.Trusted && s.warned.IsZero():
		s.warned = now
		var attrs []any
		for _, r := range v.Reasons {
			attrs = append(attrs, r.Code, r.Text)
		}
		s.log.Warn("the timing cannot be trusted", attrs...)
	case v.Trusted && !s.warned.IsZero() && now.Sub(v.Since) >= calmSeconds*time.Second:
		s.log.Info("the timing can be trusted", "after", v.Since.Sub(s.warned).Round(time.Millisecond))
		s.warned = time.Time{}
	}
}

// now adds a reading that a run begins or ends with. One that begins has the window
// begin with it too: what was before says nothing of the run.
func (s *sampler) now(begins bool) *reading {
	s.readOne()
	s.mu.Lock()
	defer s.mu.Unlock()
	if begins {
		s.marks = []mark{s.last.mark(0)}
	}
	r := s.last
	return &r
}

// current is the verdict on the last seconds, and what it looked at.
func (s *sampler) current() (Verdict, Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.verdict, s.window
}

// latest are the last samples, at most so many and those after a time, and the busiest
// endpoints in them.
func (s *sampler) latest(most int, after time.Time) ([]Sample, []busy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	samples := slices.DeleteFunc(s.samples.latest(most), func(one Sample) bool { return !one.Time.After(after) })
	endpoints := slices.DeleteFunc(s.busiest.latest(most), func(one busy) bool { return !one.Time.After(after) })
	return samples, endpoints
}

// busiestBetween are the endpoints with the most requests between two counts.
func busiestBetween(before, after *record.Counts, sample Sample) busy {
	b := busy{Time: sample.Time, Endpoints: []busyAccount{}}
	for _, c := range busiestOf(before, after, busiestMost) {
		own := spreadOf(c.Service)
		one := busyAccount{ID: c.ID, Endpoint: c.Endpoint, Errors: errorsOf(&c), OwnP50: own.P50, OwnP99: own.P99}
		if sample.Seconds > 0 {
			one.Rate = float64(c.Requests) / sample.Seconds
		}
		b.Endpoints = append(b.Endpoints, one)
	}
	return b
}

// busiestOf is what was counted between two counts of those endpoints that had the most
// requests, the busiest first; 0 is all that had any.
func busiestOf(before, after *record.Counts, most int) []record.EndpointCounts {
	earlier := earlierIn(before)
	type pair struct {
		a, b *record.EndpointCounts
		n    uint64
	}
	var pairs []pair
	for i := range after.Endpoints {
		b := &after.Endpoints[i]
		a := earlier(i, b.ID)
		if a == nil || !a.Since.Equal(b.Since) {
			a = &record.EndpointCounts{} // it is new, or was away meanwhile
		}
		if n := b.Requests - a.Requests; n > 0 {
			pairs = append(pairs, pair{a, b, n})
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(b.n, a.n) })
	if most > 0 {
		pairs = pairs[:min(len(pairs), most)]
	}
	all := make([]record.EndpointCounts, len(pairs))
	for i, p := range pairs {
		all[i] = countedSince(p.a, p.b)
	}
	return all
}

// earlierIn finds endpoints in an earlier reading: where they stand now, or after a
// reload by their ID.
func earlierIn(before *record.Counts) func(i int, id string) *record.EndpointCounts {
	var known map[string]*record.EndpointCounts
	return func(i int, id string) *record.EndpointCounts {
		if i < len(before.Endpoints) && before.Endpoints[i].ID == id {
			return &before.Endpoints[i]
		}
		if known == nil {
			known = make(map[string]*record.EndpointCounts, len(before.Endpoints))
			for i := range before.Endpoints {
				known[before.Endpoints[i].ID] = &before.Endpoints[i]
			}
		}
		return known[id]
	}
}

// countedSince is what was counted of an endpoint after an earlier reading.
func countedSince(a, b *record.EndpointCounts) record.EndpointCounts {
	c := *b
	c.Requests, c.In, c.Out = b.Requests-a.Requests, b.In-a.In, b.Out-a.Out
	c.Broken = b.Broken - a.Broken
	c.Limited, c.Refused, c.Received, c.Sent = b.Limited-a.Limited, b.Refused-a.Refused, b.Received-a.Received, b.Sent-a.Sent
	c.Statuses, c.Faults = countsSince(a.Statuses, b.Statuses), countsSince(a.Faults, b.Faults)
	c.Service, c.Injected, c.InjectionError = b.Service.Since(a.Service), b.Injected.Since(a.Injected), b.InjectionError.Since(a.InjectionError)
	return c
}

// countsSince are the counts that rose, and by how much.
func countsSince[K comparable](a, b map[K]uint64) map[K]uint64 {
	rose := map[K]uint64{}
	for key, n := range b {
		if n > a[key] {
			rose[key] = n - a[key]
		}
	}
	return rose
}
