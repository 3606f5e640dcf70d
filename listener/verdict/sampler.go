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
	// windowSeconds is how much of the past Current returns.
	windowSeconds = 10
	// judgedSeconds is how much of it is judged at a time: enough for percentiles, and
	// little enough to find in two or three seconds what delays 2 % of the requests.
	judgedSeconds = 3
	// seldomSeconds is what more is judged of endpoints with few requests: of at most
	// seldomMost, between half of those seconds and all of them.
	seldomSeconds = 10
	seldomMost    = 1000
	// holdSeconds is for how long a reason holds after it was found for the last time, so that
	// a figure near its threshold does not change the verdict every second.
	holdSeconds = 8
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
	marks   []Reading  // of the window, without endpoints, the oldest first; the last one is last
	samples ring[Sample]
	busiest ring[Busy]
	window  Sample
	verdict Verdict
	held    held
	recent  []Reading // of the last seconds, the oldest first: what is judged
	seldom  []Reading // one or two, the older one first: what endpoints with few requests are judged by
	told    bool      // tellProblem logged something
	warned  time.Time // when the log said that the timing is not trusted; zero once it said that it is
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
	s.restart()
	s.verdict = s.held.add(Verdict{Idle: true, Unknown: []string{}}, nil, s.last.Time.UTC())
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
		ticker := time.NewTicker(Every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				s.readOne()
			case <-ctx.Done():
				return
			}
		}
	}()
}

// Stop ends sampling.
func (s *Sampler) Stop() {
	s.cancel()
	<-s.ended
	if source, ok := s.source.(*source); ok {
		s.taking.Lock()
		defer s.taking.Unlock()
		source.meter.close()
	}
}

// restart begins the window, and what is judged, with the last reading.
func (s *Sampler) restart() {
	s.marks, s.recent, s.seldom, s.held = []Reading{s.last.brief()}, []Reading{s.last}, []Reading{s.last}, held{}
}

// brief returns a reading without its endpoints.
func (r Reading) brief() Reading {
	r.Counts.Endpoints = nil
	return r
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
	s.busiest.put(busiestBetween(&s.last.Counts, &r.Counts, sample))
	s.samples.put(sample)
	s.marks = recent(append(s.marks, r.brief()), windowSeconds)
	s.recent = recent(append(s.recent, r), judgedSeconds)
	s.last = r
	s.look()
	s.seldom = renewed(s.seldom, r)
	s.tellProblem(r.Probe.Problem)
	return sample, s.verdict
}

// renewed adds a reading to those of which the first is between half of seldomSeconds and all
// of them old, if it is time.
func renewed(all []Reading, last Reading) []Reading {
	if last.Time.Sub(all[len(all)-1].Time) < seldomSeconds/2*Every-Every/2 {
		return all
	}
	return append(all, last)[max(len(all)-1, 0):]
}

// recent removes the readings that are not needed to look back so many seconds: by time,
// not by number, since the end of a run adds a reading.
func recent(all []Reading, seconds int) []Reading {
	last := all[len(all)-1].Time
	for len(all) > 2 && last.Sub(all[1].Time) > time.Duration(seconds)*Every-Every/2 {
		all = slices.Delete(all, 0, 1)
	}
	return all
}

// look judges the last seconds.
func (s *Sampler) look() {
	s.window = Between(&s.marks[0], &s.last)
	judged := BetweenEndpoints(&s.recent[0], &s.last)
	seldom := Sample{Time: s.window.Time, timings: timings(&s.seldom[0], &s.last, seldomMost)}
	s.verdict = s.held.add(judge(&judged, s.thresholds), judgeSeldom(&seldom, s.thresholds), s.window.Time)
	s.tell()
}

// tellProblem logs, the first time, why the probe cannot connect to the server.
func (s *Sampler) tellProblem(err error) {
	if err != nil && !s.told {
		s.told = true
		s.log.Warn("the server could not connect to itself, to measure how late it accepts connections", "error", err.Error())
	}
}

// tell logs when the verdict changes.
func (s *Sampler) tell() {
	v := &s.verdict
	if v.Trusted == s.warned.IsZero() {
		return
	}
	if v.Trusted {
		s.log.Info("the timing can be trusted", "after", v.Since.Sub(s.warned).Round(time.Millisecond))
		s.warned = time.Time{}
		return
	}
	s.warned = v.Since
	var attrs []any
	for _, r := range slices.Concat(v.Reasons, v.Explanations) {
		attrs = append(attrs, r.Code, r.Text)
	}
	s.log.Warn("the timing cannot be trusted", attrs...)
}

// Judge returns the verdict on a sample alone.
func (s *Sampler) Judge(sample *Sample) Verdict { return judge(sample, s.thresholds) }

// Now takes a reading with which a run begins or ends. If it begins, the window begins too:
// what came before does not concern the run.
func (s *Sampler) Now(begins bool) *Reading {
	s.readOne()
	s.mu.Lock()
	defer s.mu.Unlock()
	if begins {
		s.restart()
	}
	return new(s.last)
}

// Read returns a reading that does not end a sample.
func (s *Sampler) Read() Reading {
	s.taking.Lock() // what the system is asked through keeps its files open
	defer s.taking.Unlock()
	return s.source.Read()
}

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
