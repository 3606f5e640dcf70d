// Package verdict judges whether the timing of a server can be trusted. Once a second it
// takes a sample of what the server did and of the load of its process and machine.
package verdict

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"mockserver/listener/record"
)

const (
	// Every is the time between two samples.
	Every = time.Second
	// lookEvery is the time between checks that the process runs at all: otherwise a stall
	// between two samples would go unnoticed.
	lookEvery = 50 * time.Millisecond
	// windowSeconds is how far the verdict looks back: far enough for percentiles, and not so
	// far that the verdict lags behind what one sees.
	windowSeconds = 10
	// calmSeconds is how long the timing must be trusted before the log says so, so that a
	// figure near its threshold is not logged every second.
	calmSeconds = 5
	// SamplesKept is the samples of the last hour: about 900 bytes each, 3 MB in all.
	SamplesKept = 3600
	// BusiestKept is for how many samples the busiest endpoints are kept, and busiestMost how
	// many of them: at most 1 MB.
	BusiestKept = 300
	busiestMost = 20
)

// Sampler takes a sample every second and judges the last ones. Requests never wait for it:
// it reads their counters.
type Sampler struct {
	source     Source
	observer   Observer // nil for none
	thresholds Thresholds
	log        *slog.Logger
	cancel     context.CancelFunc
	ended      chan struct{}

	taking sync.Mutex // held from before a reading until it is taken, so that readings are taken in order

	mu      sync.Mutex // guards what follows
	last    Reading    // the newest
	marks   []mark     // of the window, the oldest first; the last one is of last
	samples ring[Sample]
	busiest ring[Busy]
	window  Sample
	verdict Verdict
	stalled time.Duration // the longest stall since the last reading
	warned  time.Time     // when the log said that the timing is not trusted; zero once it said that it is
}

// mark is a reading in the window, without its endpoints, and the longest stall before it,
// in milliseconds.
type mark struct {
	reading Reading
	stall   float64
}

// Busy is the busiest endpoints of one sample.
type Busy struct {
	Time      time.Time     `json:"time" doc:"of the end of the second"`
	Endpoints []BusyAccount `json:"endpoints" doc:"the 20 with the most requests"`
}

// BusyAccount is one endpoint in one sample. Times are in milliseconds.
type BusyAccount struct {
	ID       string  `json:"id" doc:"of the endpoint; empty for what no endpoint answered"`
	Endpoint string  `json:"endpoint" doc:"method and path"`
	Rate     float64 `json:"rate" doc:"requests a second"`
	Errors   uint64  `json:"errors" doc:"answers of 500 and above"`
	OwnP50   float64 `json:"own_p50" doc:"median of the server's own time"`
	OwnP99   float64 `json:"own_p99" doc:"99th percentile of it"`
}

// ring keeps the last values that were put into it.
type ring[T any] struct {
	all  []T
	next int // place of the next value once the ring is full
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

// latest returns the last values, the oldest first. It is never nil, which JSON would
// write as null.
func (r *ring[T]) latest(most int) []T {
	all := make([]T, 0, len(r.all))
	all = append(append(all, r.all[r.next:]...), r.all[:r.next]...)
	return all[len(all)-min(max(most, 0), len(all)):]
}

// Source is where readings come from.
type Source interface{ Read() Reading }

// Observer receives each sample, and the verdict after it.
type Observer interface{ Sampled(Sample, Verdict) }

// Of returns a sampler of a server. It is not started.
func Of(server Server, thresholds Thresholds, log *slog.Logger) *Sampler {
	return New(&source{server, newMeter()}, thresholds, log)
}

// New returns a sampler that has read once. It is not started.
func New(from Source, thresholds Thresholds, log *slog.Logger) *Sampler {
	s := &Sampler{
		source: from, thresholds: thresholds, log: log, ended: make(chan struct{}),
		samples: ring[Sample]{most: SamplesKept}, busiest: ring[Busy]{most: BusiestKept},
	}
	s.last = from.Read()
	s.marks = []mark{s.last.mark(0)}
	s.verdict = Verdict{Trusted: true, Idle: true, Since: s.last.Time.UTC(), Reasons: []Reason{}, Unknown: []string{}}
	s.window = Sample{Time: s.last.Time.UTC()}
	return s
}

// Observe sets the observer. It is called once, before Start.
func (s *Sampler) Observe(observer Observer) { s.observer = observer }

// Start takes samples in the background until Stop.
func (s *Sampler) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go func() {
		defer close(s.ended)
		ticker := time.NewTicker(lookEvery)
		defer ticker.Stop()
		seen := time.Now()
		next := seen.Add(Every)
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
				next = next.Add(Every)
			}
			s.readOne()
			seen = time.Now()
		}
	}()
}

// looked notes how late a check came.
func (s *Sampler) looked(late time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stalled = max(s.stalled, late)
}

// Stop ends sampling.
func (s *Sampler) Stop() {
	s.cancel()
	<-s.ended
}

func (r *Reading) mark(stall float64) mark {
	m := mark{reading: *r, stall: stall}
	m.reading.Counts.Endpoints = nil
	return m
}

// readOne reads and takes the reading.
func (s *Sampler) readOne() {
	s.taking.Lock()
	defer s.taking.Unlock()
	s.Take(s.source.Read())
}

// Take adds a reading: the sample that ends with it, and the verdict on the window.
func (s *Sampler) Take(r Reading) {
	sample, verdict := s.add(r)
	if s.observer != nil {
		s.observer.Sampled(sample, verdict)
	}
}

func (s *Sampler) add(r Reading) (Sample, Verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sample := Between(&s.last, &r)
	sample.Stall, s.stalled = Milliseconds(s.stalled), 0
	s.busiest.put(busiestBetween(&s.last.Counts, &r.Counts, sample))
	s.samples.put(sample)
	s.marks = append(s.marks, r.mark(sample.Stall))
	// By time, not by number: the end of a run adds a mark.
	for len(s.marks) > 2 && r.Time.Sub(s.marks[1].reading.Time) > windowSeconds*Every-Every/2 {
		s.marks = slices.Delete(s.marks, 0, 1)
	}
	s.last = r
	s.look()
	return sample, s.verdict
}

// look judges the window again.
func (s *Sampler) look() {
	s.window = Between(&s.marks[0].reading, &s.last)
	for _, m := range s.marks[1:] {
		s.window.Stall = max(s.window.Stall, m.stall)
	}
	before := s.verdict
	s.verdict = judge(&s.window, s.thresholds).after(before, s.window.Time)
	s.tell()
}

// tell logs when the verdict changes: at once if the timing is no longer trusted, and after
// a while if it is again.
func (s *Sampler) tell() {
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

// Now takes a reading with which a run begins or ends. If it begins, the window begins too:
// what came before does not concern the run.
func (s *Sampler) Now(begins bool) *Reading {
	s.readOne()
	s.mu.Lock()
	defer s.mu.Unlock()
	if begins {
		s.marks = []mark{s.last.mark(0)}
	}
	return new(s.last)
}

// Read returns a reading that does not end a sample.
func (s *Sampler) Read() Reading { return s.source.Read() }

// Last returns the reading that was taken last.
func (s *Sampler) Last() *Reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	return new(s.last)
}

// Current returns the verdict on the last seconds, and the window that it is about.
func (s *Sampler) Current() (Verdict, Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.verdict, s.window
}

// Latest returns the last samples after a time, at most so many, and the busiest endpoints
// in them.
func (s *Sampler) Latest(most int, after time.Time) ([]Sample, []Busy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	samples := slices.DeleteFunc(s.samples.latest(most), func(one Sample) bool { return !one.Time.After(after) })
	endpoints := slices.DeleteFunc(s.busiest.latest(most), func(one Busy) bool { return !one.Time.After(after) })
	return samples, endpoints
}

// busiestBetween returns the endpoints with the most requests between two readings.
func busiestBetween(before, after *record.Counts, sample Sample) Busy {
	b := Busy{Time: sample.Time, Endpoints: []BusyAccount{}}
	for _, c := range record.Busiest(before, after, busiestMost) {
		own := SpreadOf(c.Service)
		one := BusyAccount{ID: c.ID, Endpoint: c.Endpoint, Errors: errorsOf(&c), OwnP50: own.P50, OwnP99: own.P99}
		if sample.Seconds > 0 {
			one.Rate = float64(c.Requests) / sample.Seconds
		}
		b.Endpoints = append(b.Endpoints, one)
	}
	return b
}
