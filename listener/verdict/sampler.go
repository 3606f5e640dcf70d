// Package verdict judges whether the timing of a server can be trusted: once a second it
// takes a sample of what the server did, and what its process and machine were busy with.
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
	// Every is how often figures are read.
	Every = time.Second
	// lookEvery is how often is looked whether the process runs at all: what stops it
	// between two samples would else go unseen.
	lookEvery = 50 * time.Millisecond
	// windowSeconds is how far the verdict looks back: enough requests for a percentile,
	// and few enough for the verdict to change while one looks.
	windowSeconds = 10
	// calmSeconds is how long nothing has to be wrong until the log says so: a figure at
	// its threshold is not logged once a second.
	calmSeconds = 5
	// SamplesKept are those of the last hour: about 900 bytes each, so 3 MB.
	SamplesKept = 3600
	// BusiestKept are of how many samples the busiest endpoints are kept, and how many of
	// those: at most 1 MB.
	BusiestKept = 300
	busiestMost = 20
)

// Sampler reads the figures once a second, for as long as the admin address is open, and
// judges them. Requests never wait for it: it reads what they count.
type Sampler struct {
	source     Source
	observer   Observer // nil for none
	thresholds Thresholds
	log        *slog.Logger
	cancel     context.CancelFunc
	ended      chan struct{}

	taking sync.Mutex // held from before a reading until it is taken: the next one has more of everything

	mu      sync.Mutex // guards what follows
	last    Reading    // the newest
	marks   []mark     // of the window, the oldest first; the newest is of last
	samples ring[Sample]
	busiest ring[Busy]
	window  Sample
	verdict Verdict
	stalled time.Duration // the longest since the last Reading
	warned  time.Time     // when the log said that the timing is not trusted; zero when it said the contrary
}

// mark is a reading in the window, without what only differences by endpoint need, and
// how late it was, in milliseconds.
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

// Latest are the last ones, at most so many, the oldest first. It is never nil, which
// JSON would have as null.
func (r *ring[T]) latest(most int) []T {
	all := make([]T, 0, len(r.all))
	all = append(append(all, r.all[r.next:]...), r.all[:r.next]...)
	return all[len(all)-min(max(most, 0), len(all)):]
}

// Source is where readings come from.
type Source interface{ Read() Reading }

// Observer is told of each sample, and of the verdict after it.
type Observer interface{ Sampled(Sample, Verdict) }

// Of is a sampler of a server, which is not started.
func Of(server Server, thresholds Thresholds, log *slog.Logger) *Sampler {
	return New(&source{server, newMeter()}, thresholds, log)
}

// New is a sampler that has read once.
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

// Observe has an observer told of each sample from now on. It is called before Start, once.
func (s *Sampler) Observe(observer Observer) { s.observer = observer }

// Start samples in the background until stop.
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

// looked tells by how much later than it should the process was seen to run.
func (s *Sampler) looked(late time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stalled = max(s.stalled, late)
}

// Stop ends sampling, and the run that is under way with it.
func (s *Sampler) Stop() {
	s.cancel()
	<-s.ended
}

func (r *Reading) mark(stall float64) mark {
	m := mark{reading: *r, stall: stall}
	m.reading.Counts.Endpoints = nil
	return m
}

// readOne reads, and takes it.
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
	// By time, and not by number: a run that ends has a mark of its own.
	for len(s.marks) > 2 && r.Time.Sub(s.marks[1].reading.Time) > windowSeconds*Every-Every/2 {
		s.marks = slices.Delete(s.marks, 0, 1)
	}
	s.last = r
	s.look()
	return sample, s.verdict
}

// look judges the window anew.
func (s *Sampler) look() {
	s.window = Between(&s.marks[0].reading, &s.last)
	for _, m := range s.marks[1:] {
		s.window.Stall = max(s.window.Stall, m.stall)
	}
	before := s.verdict
	s.verdict = judge(&s.window, s.thresholds).after(before, s.window.Time)
	s.tell()
}

// tell logs when the verdict changes: at once when something is wrong, and when nothing
// has been for a while.
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

// Now adds a reading that a run begins or ends with. One that begins has the window
// begin with it too: what was before says nothing of the run.
func (s *Sampler) Now(begins bool) *Reading {
	s.readOne()
	s.mu.Lock()
	defer s.mu.Unlock()
	if begins {
		s.marks = []mark{s.last.mark(0)}
	}
	return new(s.last)
}

// Read is a reading that is not taken: it ends no sample.
func (s *Sampler) Read() Reading { return s.source.Read() }

// Last is the reading that was taken last.
func (s *Sampler) Last() *Reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	return new(s.last)
}

// Current is the verdict on the last seconds, and what it looked at.
func (s *Sampler) Current() (Verdict, Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.verdict, s.window
}

// Latest are the last samples, at most so many and those after a time, and the busiest
// endpoints in them.
func (s *Sampler) Latest(most int, after time.Time) ([]Sample, []Busy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	samples := slices.DeleteFunc(s.samples.latest(most), func(one Sample) bool { return !one.Time.After(after) })
	endpoints := slices.DeleteFunc(s.busiest.latest(most), func(one Busy) bool { return !one.Time.After(after) })
	return samples, endpoints
}

// busiestBetween are the endpoints with the most requests between two counts.
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
