package verdict

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mockserver/dispatcher"
	"mockserver/internal/harness"
	"mockserver/listener/observe/probe"
	"mockserver/listener/observe/record"
)

var sampledFrom = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// scene makes readings of a server that is controlled by the test.
type scene struct {
	at     time.Time
	counts record.Counts
	own    map[string][]time.Duration
	usage  usage
}

func newScene(endpoints ...string) *scene {
	s := &scene{at: sampledFrom, own: map[string][]time.Duration{}}
	s.usage = usage{cpu: total{0, true}, throttled: total{0, true}, machine: ticks{known: true}, waits: map[int]waits{1: {}}}
	for _, name := range endpoints {
		s.counts.Endpoints = append(s.counts.Endpoints, record.EndpointCounts{ID: name, Endpoint: name, Statuses: map[int]uint64{}})
	}
	return s
}

// serve makes an endpoint serve requests with a status; the server takes the given time for each.
func (s *scene) serve(name string, status, requests int, took time.Duration) {
	for i := range s.counts.Endpoints {
		c := &s.counts.Endpoints[i]
		if c.Endpoint != name {
			continue
		}
		c.Requests += uint64(requests)
		statuses := map[int]uint64{status: uint64(requests)}
		for other, n := range c.Statuses {
			statuses[other] += n
		}
		c.Statuses = statuses
		for range requests {
			s.own[name] = append(s.own[name], took)
		}
		c.Service = harness.Histogram(s.own[name]...)
	}
}

// after advances the time, during which a quarter of the machine is busy, and returns a reading.
func (s *scene) after(d time.Duration) Reading {
	s.at = s.at.Add(d)
	s.usage.cpu.n += uint64(d / 10)
	s.usage.machine.all += uint64(d / time.Millisecond)
	s.usage.machine.idle += uint64(d / time.Millisecond * 3 / 4)
	r := NewReading(s.at, s.counts, dispatcher.Stats{})
	r.usage = s.usage
	r.Counts.Endpoints = append([]record.EndpointCounts(nil), s.counts.Endpoints...)
	return r
}

// Read returns a reading without advancing the time.
func (s *scene) Read() Reading { return s.after(0) }

func (s *scene) sampler(log *slog.Logger) *Sampler {
	return New(s, nil, log)
}

func TestSampler_ASampleIsWhatCameSinceTheLast(t *testing.T) {
	s := newScene("GET /a", "GET /b")
	s.serve("GET /a", 200, 1000, time.Second) // served before the first sample
	sampler := s.sampler(slog.New(slog.DiscardHandler))
	idle := s.sampler(slog.New(slog.DiscardHandler))
	idle.Take(s.after(time.Second))
	if v := idle.Current(); v.Late != nil {
		t.Errorf("%+v are late of no requests", v.Late)
	}
	s.serve("GET /a", 200, 300, 100*time.Microsecond)
	s.serve("GET /b", 503, 100, 200*time.Microsecond)
	sampler.Take(s.after(time.Second))
	samples := sampler.Latest(10, time.Time{})
	if len(samples) != 1 {
		t.Fatalf("%d samples", len(samples))
	}
	got := samples[0]
	if got.Requests != 400 || got.Rate != 200 || got.Failed.Declared5xx != 100 || got.Own.Count != 400 {
		t.Errorf("sample %+v, want 400 requests, 200 a second, 100 errors", got)
	}
	if got.Own.P50 < 0.099 || got.Own.P50 > 0.101 || got.Own.P99 < 0.199 || got.Own.P99 > 0.201 {
		t.Errorf("own time %+v, want a median of 0.1 ms and a p99 of 0.2 ms", got.Own)
	}
	if got.MachineCPU == nil || *got.MachineCPU != 0.25 || got.CPU == nil || *got.CPU != 0.1 {
		t.Errorf("machine %v, process %v; want 0.25 and 0.1", got.MachineCPU, got.CPU)
	}
}

// While the program starts, and before the first request, nobody measures it.
func TestSampler_UntrustedTimingIsNotLoggedAtTheStart(t *testing.T) {
	s := newScene("GET /a")
	var log bytes.Buffer
	sampler := s.sampler(slog.New(slog.NewTextHandler(&log, nil)))
	for second := 1; second <= 6; second++ {
		s.serve("GET /a", 200, 100, 5*time.Millisecond)
		sampler.Take(s.after(time.Second))
		if v := sampler.Current(); v.Trusted {
			t.Fatalf("trusted after %d slow seconds", second)
		}
		if want := min(max(second-4, 0), 1); strings.Count(log.String(), "cannot be trusted") != want {
			t.Errorf("second %d: want %d lines:\n%s", second, want, log.String())
		}
	}
}

func TestSampler_TheVerdictLooksBackTenSecondsAndIsLoggedOncePerChange(t *testing.T) {
	s := newScene("GET /a")
	var log bytes.Buffer
	sampler := s.sampler(slog.New(slog.NewTextHandler(&log, nil)))
	second := func(took time.Duration) Verdict {
		s.serve("GET /a", 200, 100, took)
		sampler.Take(s.after(time.Second))
		v := sampler.Current()
		return v
	}
	for range 15 {
		if v := second(50 * time.Microsecond); !v.Trusted {
			t.Fatalf("not trusted: %v", v.Reasons)
		}
	}
	if log.Len() > 0 {
		t.Errorf("logged without a change: %s", log.String())
	}
	if v := second(5 * time.Millisecond); v.Trusted || v.Reasons[0].Code != "own-p99" {
		t.Fatalf("verdict %+v after a slow second, want own-p99", v)
	}
	for i := range judgedSeconds + holdSeconds - 2 {
		if v := second(50 * time.Microsecond); v.Trusted {
			t.Fatalf("trusted again after %d seconds, want the slow second to be judged for %d, and its reason to hold for %d more", i+1, judgedSeconds, holdSeconds)
		}
	}
	for i := range 5 {
		if v := second(50 * time.Microsecond); !v.Trusted {
			t.Errorf("not trusted %d seconds later: %v", 10+i, v.Reasons)
		}
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "cannot be trusted") || !strings.Contains(lines[0], "own-p99") || !strings.Contains(lines[0], "5 ms") ||
		!strings.Contains(lines[1], "the timing can be trusted") {
		t.Errorf("log, want one line for each change:\n%s", log.String())
	}
}

// An endpoint that is requested every three seconds is judged by its requests of the last five to
// ten seconds.
func TestSampler_AnEndpointThatIsSeldomAskedIsJudged(t *testing.T) {
	s := newScene("GET /a", "GET /b")
	sampler := s.sampler(slog.New(slog.DiscardHandler))
	second := func(i int, took time.Duration) Verdict {
		s.serve("GET /a", 200, 1000, 50*time.Microsecond)
		if i%3 == 0 {
			s.serve("GET /b", 200, 1, took)
		}
		sampler.Take(s.after(time.Second))
		v := sampler.Current()
		return v
	}
	for i := range 60 {
		if v := second(i, 300*time.Millisecond); v.Trusted && i >= 10 {
			t.Fatalf("second %d: %+v, want it found within ten", i, v)
		} else if !v.Trusted && (v.Reasons[0].Code != "own-p99" || !strings.HasPrefix(v.Reasons[0].Text, "GET /b: ") || v.Since.Sub(sampledFrom) > 10*time.Second) {
			t.Fatalf("second %d: %+v", i, v)
		}
	}
	for i := range 30 {
		if v := second(i, 50*time.Microsecond); i >= 10 && !v.Trusted {
			t.Fatalf("%d seconds after the last slow one: %+v", i, v)
		}
	}
}

// Beats and echoes are judged separately: hundreds of beats on time do not hide that all echoes are
// late. Measurements without requests do not dilute those with requests.
func TestSampler_BeatsDoNotHideEchoes(t *testing.T) {
	onTime, late := slices.Repeat([]time.Duration{time.Microsecond}, 300), slices.Repeat([]time.Duration{30 * time.Millisecond}, 4)
	for _, c := range []struct {
		name    string
		figures probe.Figures
		want    []string
	}{
		{"all is well", probe.Figures{Serving: probe.Lateness{Beats: harness.Histogram(onTime...), Echoes: harness.Histogram(onTime...)}}, nil},
		{"echoes are late", probe.Figures{Serving: probe.Lateness{Beats: harness.Histogram(onTime...), Echoes: harness.Histogram(late...)}}, []string{"echo-p99"}},
		{"echoes are waited for", probe.Figures{Serving: probe.Lateness{Beats: harness.Histogram(onTime...)}, Waiting: harness.Histogram(late...)}, []string{"echo-p99"}},
		{"late with requests, on time without", probe.Figures{Serving: probe.Lateness{Beats: harness.Histogram(late...)}, Idle: probe.Lateness{Beats: harness.Histogram(onTime...)}}, []string{"probe-p99"}},
		{"late without requests", probe.Figures{Idle: probe.Lateness{Beats: harness.Histogram(late...)}}, []string{"probe-p99"}},
	} {
		for _, kept := range []bool{false, true} { // whether requests come over kept connections
			s := newScene("GET /a")
			sampler := s.sampler(slog.New(slog.DiscardHandler))
			if kept {
				s.counts.Arrivals.Requests = 500
			}
			r := s.after(time.Second)
			r.Probe = c.figures
			sampler.Take(r)
			want := c.want
			if kept && c.figures.Waiting.Count == 0 && slices.Equal(want, []string{"echo-p99"}) {
				want = nil // echoes that come back stand for new connections only
			}
			if v := sampler.Current(); !slices.Equal(reasonsOf(v), want) {
				t.Errorf("%s, connections kept %v: %+v, want %v", c.name, kept, v.Reasons, want)
			}
		}
	}
}

// Messages of WebSockets count as served, although no request follows the one that opened them.
func TestSampler_MessagesAreServed(t *testing.T) {
	s := newScene("WebSocket /ws")
	s.serve("WebSocket /ws", 101, 50, time.Microsecond)
	sampler := s.sampler(slog.New(slog.DiscardHandler))
	s.counts.Endpoints[0].Received, s.counts.Endpoints[0].Sent = 300, 400
	s.counts.Arrivals.Requests, s.counts.Arrivals.First = 5, 5
	r := s.after(time.Second)
	r.Probe.Serving.Beats, r.Probe.Serving.Echoes = every(40), every(90)
	sampler.Take(r)
	v, sample := sampler.Current(), sampler.Latest(1, time.Time{})[0]
	if v.Idle || sample.Messages != 700 || v.Late == nil || v.Late.Requests != 700 || v.Late.Share != 1 {
		t.Errorf("%d messages, %+v, %+v", sample.Messages, v, v.Late)
	}
	if !strings.Contains(v.Size, "at most 40") || !strings.Contains(v.Size, "messages of WebSocket /ws") {
		t.Errorf("got %q", v.Size)
	}
	if !slices.Equal(reasonsOf(v), []string{"probe-p99"}) {
		t.Errorf("%+v, want no echo: one in a hundred came over a new connection", v.Reasons)
	}
}

// Work during a latency delays no response, unless the latency ends late.
func TestSampler_WorkDuringALatencyIsNoReason(t *testing.T) {
	for _, c := range []struct {
		timed, late int
		want        []string
	}{{2000, 0, nil}, {1998, 0, nil}, {2000, 15, nil}, {1900, 0, []string{"own-p99"}}} {
		s := newScene("GET /a")
		sampler := s.sampler(slog.New(slog.DiscardHandler))
		e := &s.counts.Endpoints[0]
		e.Requests, e.Service = 2000, harness.Histogram(slices.Repeat([]time.Duration{5 * time.Millisecond}, 2000)...)
		e.Total = harness.Histogram(slices.Repeat([]time.Duration{20 * time.Millisecond}, 2000)...)
		e.InjectionError = harness.Histogram(append(slices.Repeat([]time.Duration{6 * time.Millisecond}, c.late), make([]time.Duration, c.timed-c.late)...)...)
		r := s.after(time.Second)
		r.Probe.Serving.Beats = every(0)
		sampler.Take(r)
		v := sampler.Current()
		if added := *v.Added.High > 4; !slices.Equal(reasonsOf(v), c.want) || added != (c.want != nil || c.late > 0) {
			t.Errorf("%d of 2,000 have a latency, %d end late: %+v, %s", c.timed, c.late, v.Reasons, v.Size)
		}
	}
}

// While three seconds have too few figures of the probe for an interval, the size is of a longer period.
func TestSampler_TheSizeIsOfAsLongAsItTakes(t *testing.T) {
	s := newScene("GET /a")
	sampler := s.sampler(slog.New(slog.DiscardHandler))
	for second, beats := 1, 0; second <= 40; second++ {
		s.serve("GET /a", 200, 10, 50*time.Microsecond)
		beats += 50
		r := s.after(time.Second)
		r.Probe.Serving.Beats = harness.Histogram(slices.Repeat([]time.Duration{time.Millisecond}, beats)...)
		sampler.Take(r)
		v := sampler.Current()
		determined := v.Added.High != nil
		if determined != (second >= 8) || determined && v.Added.Samples < 368 {
			t.Fatalf("second %d: %s %+v", second, v.Size, v.Added)
		}
		if want := map[bool]string{true: "at most 1.0", false: "about 1.0"}[determined]; !strings.Contains(v.Size, want) {
			t.Fatalf("second %d: %s, want %s", second, v.Size, want)
		}
		if len(sampler.seldom) > sizedReadings {
			t.Fatalf("%d readings", len(sampler.seldom))
		}
	}
}

func TestSampler_SaysOnceThatTheProbeCannotConnect(t *testing.T) {
	s := newScene("GET /a")
	var log bytes.Buffer
	sampler := s.sampler(slog.New(slog.NewTextHandler(&log, nil)))
	for range 3 {
		r := s.after(time.Second)
		r.Probe = probe.Figures{Failed: 1, Problem: syscall.EADDRNOTAVAIL}
		sampler.Take(r)
	}
	v := sampler.Current()
	if !v.Trusted || !slices.Contains(v.Unknown, "echo-p99") || strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), syscall.EADDRNOTAVAIL.Error()) {
		t.Errorf("%+v, log:\n%s", v, log.String())
	}
}

// A figure that repeatedly rises above its threshold and falls below it is logged once, and once
// more when it has stayed below the threshold.
func TestSampler_AFigureAtItsThresholdIsNotLoggedOnceASecond(t *testing.T) {
	s := newScene("GET /a")
	var log bytes.Buffer
	sampler := s.sampler(slog.New(slog.NewTextHandler(&log, nil)))
	changes, before := 0, true
	for i := range 60 {
		s.usage.descriptors, s.usage.limit = 950-100*(i/2%2), 1000
		s.serve("GET /a", 200, 1, time.Microsecond)
		sampler.Take(s.after(time.Second))
		if v := sampler.Current(); v.Trusted != before {
			changes, before = changes+1, v.Trusted
		}
	}
	if changes != 1 || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("%d changes, logged:\n%s", changes, log.String())
	}
	s.usage.descriptors = 10
	for range holdSeconds + 1 {
		sampler.Take(s.after(time.Second))
	}
	if strings.Count(log.String(), "\n") != 2 || !strings.Contains(log.String(), "can be trusted") {
		t.Errorf("logged:\n%s", log.String())
	}
}

func TestSampler_KeepsAnHour(t *testing.T) {
	s := newScene("GET /a")
	sampler := s.sampler(slog.New(slog.DiscardHandler))
	for range SamplesKept + 100 {
		sampler.Take(s.after(time.Second))
	}
	samples := sampler.Latest(SamplesKept*2, time.Time{})
	if len(samples) != SamplesKept {
		t.Errorf("%d samples, want %d", len(samples), SamplesKept)
	}
	if want := s.at; !samples[len(samples)-1].Time.Equal(want) || !samples[0].Time.Equal(want.Add(-(SamplesKept-1)*time.Second)) {
		t.Errorf("samples from %v to %v, want the last hour", samples[0].Time, samples[len(samples)-1].Time)
	}
	if last := sampler.Latest(5, s.at.Add(-3*time.Second)); len(last) != 3 {
		t.Errorf("%d samples after the one of three seconds ago, want 3", len(last))
	}
}

func TestSampler_AnEndpointThatComesAndGoesIsNoMistake(t *testing.T) {
	s := newScene("GET /a", "GET /b")
	sampler := s.sampler(slog.New(slog.DiscardHandler))
	s.serve("GET /b", 200, 50, time.Microsecond)
	sampler.Take(s.after(time.Second))
	gone := s.counts.Endpoints[1]
	gone.ID, gone.Endpoint = "", ""
	s.counts.Endpoints, s.counts.Gone = s.counts.Endpoints[:1], gone
	sampler.Take(s.after(time.Second))
	s.counts.Endpoints = append(s.counts.Endpoints, record.EndpointCounts{ID: "GET /b", Endpoint: "GET /b"})
	s.serve("GET /b", 200, 7, time.Microsecond)
	sampler.Take(s.after(time.Second))
	samples := sampler.Latest(3, time.Time{})
	var requests []uint64
	for _, one := range samples {
		requests = append(requests, one.Requests)
	}
	if fmt.Sprint(requests) != "[50 0 7]" {
		t.Errorf("requests %v, want 50, 0 and 7", requests)
	}
}

func TestWaitHistogram_SaysWhatIsExceededSurely(t *testing.T) {
	bounds := []float64{0, 0.0005, 0.001, 0.002, 1}
	before := waitHistogram{[]uint64{5, 5, 5, 5}, bounds}
	after := waitHistogram{[]uint64{95, 13, 6, 6}, bounds}
	got := SpreadOf(after.since(before))
	if got.Count != 100 || got.P50 != 0 || got.P90 != 0 || math.Abs(got.P99-1) > 0.004 || got.P999 != 2 || got.Max != 2 {
		t.Errorf("spread %+v, want the lower bounds 0, 0, 1, 2 ms", got)
	}
	if none := after.since(after); none.Count > 0 {
		t.Errorf("without values, there are %d", none.Count)
	}
	if now, pauses := readRuntime(); len(now.counts) == 0 || len(now.bounds) != len(now.counts)+1 || len(pauses.counts) == 0 {
		t.Error("the runtime lacks a metric that is read")
	}
}

// busily is a source that is slow to read and is read by many goroutines.
type busily struct{ requests atomic.Uint64 }

// Read returns one more request each time.
func (b *busily) Read() (r Reading) {
	r.All.Requests = b.requests.Add(1)
	runtime.Gosched()
	r.Time = time.Now()
	return r
}

// Readings take a while, and runs begin and end while the sampler reads: readings are added in the
// order in which they were read.
func TestSampler_ReadingsAreTakenInTheOrderOfWhatTheyRead(t *testing.T) {
	s := New(&busily{}, nil, slog.New(slog.DiscardHandler))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 100 {
				s.Now(false)
			}
		})
	}
	all.Wait()
	samples := s.Latest(SamplesKept, time.Time{})
	if len(samples) != 400 {
		t.Errorf("%d samples", len(samples))
	}
	for i, one := range samples {
		if one.Requests != 1 {
			t.Fatalf("sample %d has %d requests, want 1", i, one.Requests)
		}
	}
}

// exclusive is a source that, like the system's, must not be read concurrently.
type exclusive struct{ meter *meter }

func (e exclusive) Read() Reading {
	r := NewReading(time.Now(), record.Counts{}, dispatcher.Stats{})
	r.usage = e.meter.read()
	return r
}

// A report is requested while the sampler reads: if both used the same file and buffer at the same
// time, readings would be mixed up. Under the race detector, the test also finds other data races.
func TestSampler_ReadsOneAtATime(t *testing.T) {
	s := New(exclusive{newMeter()}, nil, slog.New(slog.DiscardHandler))
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 50 {
				if r := s.Read(); r.usage.memory == 0 && runtime.GOOS == "linux" {
					t.Error("a reading without the memory of the process")
				}
			}
		})
		readers.Go(func() { s.readOne() })
	}
	readers.Wait()
}
