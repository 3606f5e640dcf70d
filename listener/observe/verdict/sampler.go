// Package verdict judges whether the timing of a server can be trusted. Once a second it samples
// what the server did and the load of its process and machine.
//
// It tests one claim: at most 1 % of the requests to each endpoint were late by any part, that is, in
// passing through the process, by the server's own work, by a wait, or at the end of a latency. The
// shares of the parts are added, as an upper limit of the share of requests that were late (see Late).
// The size is a bound of the time by which the parts together delayed 99 of 100 requests.
package verdict

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"mockserver/internal/histogram"
	"mockserver/internal/statistics"
)

const (
	// judgedSeconds is how much is judged at a time: long enough for percentiles, and
	// short enough to detect a delay of 2 % of the requests within two or three seconds.
	judgedSeconds = 3
	// seldomSeconds is the longer period over which endpoints with few requests, at most
	// seldomMost, are judged in addition. The actual period is between half of seldomSeconds and
	// seldomSeconds.
	seldomSeconds = 10
	seldomMost    = 1000
	// sizedReadings is how many readings are kept, half of seldomSeconds apart: the probe may need up to
	// twenty seconds for an interval of its 99th percentile.
	sizedReadings = 5
	// SamplesKept is the number of samples kept, which cover the last hour. They take about 900
	// bytes each, 3 MB in total.
	SamplesKept = 3600
)

// Sampler takes a sample every second and judges the latest ones. It only reads counters, so
// requests never wait for it.
type Sampler struct {
	source     Source
	observer   Observer // nil if there is none
	thresholds Thresholds
	log        *slog.Logger
	cancel     context.CancelFunc
	ended      chan struct{}

	taking sync.Mutex // held from before a reading until it has been added, so that readings are added in order

	mu      sync.Mutex // guards the fields below
	last    Reading    // the latest reading
	samples ring[Sample]
	verdict Verdict // without its size
	held    held
	recent  []Reading // readings of the last seconds, the oldest first; these are judged
	seldom  []Reading // readings further apart, the oldest first; for endpoints with few requests, and for sizes
	logged  bool      // logProblem logged something
	begun   time.Time
	warned  time.Time // when untrusted timing was logged; zero once trusted timing has been logged
}

// ring stores the latest values that were put into it.
type ring[T any] struct {
	all  []T
	next int // index of the next value once the ring is full
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

// latest returns the latest values, the oldest first. The result is never nil, which would be null
// in JSON.
func (r *ring[T]) latest(most int) []T {
	all := make([]T, 0, len(r.all))
	all = append(append(all, r.all[r.next:]...), r.all[:r.next]...)
	return all[len(all)-min(max(most, 0), len(all)):]
}

// Source provides readings.
type Source interface{ Read() Reading }

// Observer receives each sample with the verdict that follows from it.
type Observer interface{ Sampled(Sample, Verdict) }

// Of returns a sampler for a server. It is not started.
func Of(server Server, thresholds Thresholds, log *slog.Logger) *Sampler {
	return New(&source{server, newMeter()}, thresholds, log)
}

// New returns a sampler that has taken one reading. It is not started.
func New(from Source, thresholds Thresholds, log *slog.Logger) *Sampler {
	s := &Sampler{
		source: from, thresholds: thresholds, log: log, ended: make(chan struct{}),
		samples: ring[Sample]{most: SamplesKept},
	}
	s.last = from.Read()
	s.begun = s.last.Time
	s.restart()
	s.verdict = s.held.add(Verdict{Idle: true, Unknown: []string{}}, nil, s.last.Time.UTC())
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

// restart makes the period that is judged begin with the last reading.
func (s *Sampler) restart() {
	s.recent, s.seldom, s.held = []Reading{s.last}, []Reading{s.last}, held{}
}

// readOne takes one reading and adds it.
func (s *Sampler) readOne() {
	s.taking.Lock()
	defer s.taking.Unlock()
	s.Take(s.source.Read())
}

// Take adds a reading. It makes the sample that ends with the reading, and updates the verdict.
func (s *Sampler) Take(r Reading) {
	sample, verdict := s.add(r)
	if s.observer != nil {
		s.observer.Sampled(sample, verdict)
	}
}

func (s *Sampler) add(r Reading) (Sample, Verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.late, r.Stops = r.lateSince(&s.last), stopsOf(&s.last, &r)
	sample := between(&s.last, &r)
	s.samples.put(sample.Alone())
	s.recent = recent(append(s.recent, r), judgedSeconds)
	s.last = r
	s.look()
	s.seldom = renewed(s.seldom, r)
	s.logProblem(r.Probe.Problem)
	return sample, s.verdict
}

// renewed adds the reading last to all if the latest one in all is old enough, so that the last but one
// is between half of seldomSeconds and seldomSeconds old.
func renewed(all []Reading, last Reading) []Reading {
	if last.Time.Sub(all[len(all)-1].Time) < seldomSeconds/2*Every-Every/2 {
		return all
	}
	return append(all, last)[max(len(all)+1-sizedReadings, 0):]
}

// recent removes the readings that are not needed to look back the given number of seconds. It goes
// by the time of readings, not by their number, since the end of a run adds a reading.
func recent(all []Reading, seconds int) []Reading {
	last := all[len(all)-1].Time
	for len(all) > 2 && last.Sub(all[1].Time) > time.Duration(seconds)*Every-Every/2 {
		all = slices.Delete(all, 0, 1)
	}
	return all
}

// look updates the verdict on the last seconds.
func (s *Sampler) look() {
	now, judged := s.last.Time.UTC(), BetweenEndpoints(&s.recent[0], &s.last)
	before := &s.seldom[max(len(s.seldom)-2, 0)]
	seldom := Sample{Time: now, timings: timings(before, &s.last, seldomMost), opening: openingBetween(before, &s.last)}
	seldom.times.Probe, seldom.times.Echo = probed(&before.Probe, &s.last.Probe)
	s.verdict = s.held.add(judge(&judged, nil, s.thresholds), judgeSeldom(&seldom, s.thresholds), now)
	s.logVerdict()
}

// sized returns the shortest sample that has enough figures of the probe for an interval of its 99th
// percentile, or the one that is judged if there is none.
func (s *Sampler) sized(judged *Sample) *Sample {
	carries := func(l *histogram.Snapshot) bool {
		return statistics.Percentile(*l, 0.99, statistics.Dependence{}).Value != nil
	}
	if carries(&judged.times.Probe) || judged.Idle() {
		return judged
	}
	for i := len(s.seldom) - 2; i >= 0; i-- {
		if beats, _ := probed(&s.seldom[i].Probe, &s.last.Probe); carries(&beats) {
			return new(BetweenEndpoints(&s.seldom[i], &s.last))
		}
	}
	return judged
}

// logProblem logs once why the probe cannot connect to the server.
func (s *Sampler) logProblem(err error) {
	if err != nil && !s.logged {
		s.logged = true
		s.log.Warn("the server could not connect to itself, to measure how late it accepts connections", "error", err.Error())
	}
}

// settling is how long after the start no untrusted timing is logged.
const settling = 5 * time.Second

// logVerdict logs when the verdict changes, but not that the timing cannot be trusted before a request
// was answered, or while the program starts.
func (s *Sampler) logVerdict() {
	v := &s.verdict
	early := s.last.All.Requests == 0 || s.last.Time.Sub(s.begun) < settling
	if v.Trusted == s.warned.IsZero() || !v.Trusted && early {
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
func (s *Sampler) Judge(sample *Sample) Verdict { return judge(sample, sample, s.thresholds) }

// Now takes a reading with which a run begins or ends. If the run begins, so does the period that is
// judged, since what happened before is not part of the run.
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
	s.taking.Lock() // the meter keeps its files open between readings
	defer s.taking.Unlock()
	r := s.source.Read()
	r.Stops = stopsOf(s.Last(), &r)
	return r
}

// Last returns the reading that was taken last.
func (s *Sampler) Last() *Reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	return new(s.last)
}

// Current returns the verdict on the last seconds. Its size is made when it is wanted, rather than each
// second.
func (s *Sampler) Current() Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	judged, v := BetweenEndpoints(&s.recent[0], &s.last), s.verdict
	now := judge(&judged, s.sized(&judged), s.thresholds)
	v.Size, v.Added = now.Size, now.Added
	return v
}

// CPULimit returns how many cores the process may use.
func (s *Sampler) CPULimit() float64 { return cpuLimit(s.Last().usage.quota) }

// Latest returns the latest samples after a time, up to a maximum number.
func (s *Sampler) Latest(most int, after time.Time) []Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(s.samples.latest(most), func(one Sample) bool { return !one.Time.After(after) })
}
