package verdict

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"mockserver/internal/harness"
	"mockserver/internal/histogram"
	"mockserver/listener/observe/record"
	"mockserver/matcher"
)

// busySample returns a sample of ten seconds in which requests were served and nothing was wrong,
// on a system that reports all figures.
func busySample() Sample {
	return Sample{
		Time: time.Date(2026, 1, 2, 3, 4, 15, 0, time.UTC), Seconds: 10, Requests: 1000, times: Times[histogram.Snapshot]{Probe: every(0), Echo: every(0)}, opening: 1,
		Load: Load{
			CPU: new(0.5), CPULimit: 2, CPUWait: new(0.0), Throttled: new(0.0), MachineCPU: new(0.3), Steal: new(0.0), ListenDrops: new(0.0),
			Descriptors: 100, DescriptorLimit: 1000,
		},
	}
}

// judged returns the verdict on a sample that is long enough for its size.
func judged(s *Sample, thresholds Thresholds) Verdict { return judge(s, s, thresholds) }

// every returns the measurements of a probe that was always late by the given number of
// milliseconds.
func every(ms float64) histogram.Snapshot {
	return harness.Histogram(slices.Repeat([]time.Duration{time.Duration(ms * float64(time.Millisecond))}, 400)...)
}

func reasonsOf(v Verdict) []string {
	var codes []string
	for _, r := range v.Reasons {
		codes = append(codes, r.Code)
	}
	return codes
}

// slow returns the timing of an endpoint where the given number of requests took longer than the
// others.
func slow(name string, requests, slow int, took time.Duration) timing {
	own := slices.Repeat([]time.Duration{50 * time.Microsecond}, requests-slow)
	l := harness.Histogram(append(own, slices.Repeat([]time.Duration{took}, slow)...)...)
	return timing{name: name, requests: l.Count, own: l, total: l}
}

// late returns the timing of an endpoint that has a latency and whose requests were all late by the
// same time.
func late(name string, injected, by time.Duration) timing {
	t := slow(name, 100, 0, 0)
	t.injected = harness.Histogram(slices.Repeat([]time.Duration{injected}, 100)...)
	t.late = harness.Histogram(slices.Repeat([]time.Duration{by}, 100)...)
	t.total = harness.Histogram(slices.Repeat([]time.Duration{injected + by}, 100)...)
	return t
}

func TestJudge_NothingWrongIsTrusted(t *testing.T) {
	s := busySample()
	if v := judged(&s, nil); !v.Trusted || v.Idle || len(v.Reasons)+len(v.Explanations) > 0 || len(v.Unknown) > 0 {
		t.Errorf("verdict %+v, want trusted without reasons", v)
	}
}

func TestJudge_EachReasonAloneAndItsBorder(t *testing.T) {
	ms := func(v float64) time.Duration { return time.Duration(v * float64(time.Millisecond)) }
	cases := []struct {
		code        string
		limit, over float64
		set         func(*Sample, float64)
	}{
		{"accept", 0, 1, func(s *Sample, v float64) { s.AcceptFailures = uint64(v) }},
		{"backlog", 0, 1, func(s *Sample, v float64) { s.ListenDrops = &v }},
		{"probe-p99", 2, 2.1, func(s *Sample, v float64) { s.times.Probe = every(v) }},
		{"echo-p99", 2, 2.1, func(s *Sample, v float64) { s.times.Echo = every(v) }},
		{"own-p99", 1, 1.1, func(s *Sample, v float64) { s.timings = []timing{slow("GET /a", 100, 100, ms(v))} }},
		{"upstream-p99", 1, 1.1, func(s *Sample, v float64) {
			s.timings = []timing{{name: "GET /a", upstream: harness.Histogram(slices.Repeat([]time.Duration{ms(v)}, 100)...)}}
		}},
		{"upstream-wait", 1, 1.1, func(s *Sample, v float64) {
			s.timings = []timing{{name: "GET /a", place: harness.Histogram(slices.Repeat([]time.Duration{ms(v)}, 100)...)}}
		}},
		{"injection-p99", 1, 1.1, func(s *Sample, v float64) { s.timings = []timing{late("GET /a", time.Millisecond, ms(v))} }},
		{"stream-p99", 2, 2.1, func(s *Sample, v float64) {
			s.timings = []timing{{name: "GET /a", items: harness.Histogram(slices.Repeat([]time.Duration{ms(v)}, 100)...)}}
		}},
		{"late", 0.01, 0.013, func(s *Sample, v float64) {
			t := slow("GET /a", 10_000, 80, 5*time.Millisecond) // 0.8 % by its own work, the rest by waits for a place
			t.place = harness.Histogram(slices.Repeat([]time.Duration{5 * time.Millisecond}, int(math.Round(v*10_000))-80)...).OutOf(10_000)
			s.timings = []timing{t}
		}},
		{"lag-p99", 10, 10.1, func(s *Sample, v float64) { s.WebhookLag.P99 = v }},
		{"webhooks-refused", 0, 1, func(s *Sample, v float64) { s.WebhooksRefused = int64(v) }},
		{"recording-dropped", 0, 1, func(s *Sample, v float64) { s.RecordingDropped = uint64(v) }},
		{"state-given-up", 0, 1, func(s *Sample, v float64) { s.StateGivenUp = int64(v) }},
		{"throttled", 0.02, 0.021, func(s *Sample, v float64) { s.Throttled = new(v * 1000 * s.Seconds) }},
		{"steal", 0.2, 0.21, func(s *Sample, v float64) { s.Steal = &v }},
		{"descriptors", 0.9, 0.901, func(s *Sample, v float64) { s.Descriptors = int(math.Round(v * 1000)) }},
		{"handshakes", 0.1, 0.101, func(s *Sample, v float64) {
			s.Requests, s.FullHandshakes = 10_000, uint64(math.Round(v*10_000))
		}},
		{"cpu-quota", 0.9, 0.91, func(s *Sample, v float64) { s.CPU = new(v * 2) }},
		{"machine", 0.95, 0.96, func(s *Sample, v float64) { s.MachineCPU = &v }},
		{"cpu-wait", 0.1, 0.11, func(s *Sample, v float64) { s.CPUWait = &v }},
		{"scheduler-p99", 1, 1.1, func(s *Sample, v float64) { s.Scheduler.P99 = v }},
		{"gc-pause", 1, 1.1, func(s *Sample, v float64) { s.Pauses.Max = v }},
		{"generator", 0, 1, func(s *Sample, v float64) { s.Stops, s.LongestStop = uint64(v), 84*v }},
		{"connections", 0.5, 0.51, func(s *Sample, v float64) {
			s.ArrivalRate, s.Arrivals, s.Openers = 501, 1000, uint64(math.Round(v*1000))
		}},
	}
	if len(cases) != len(checks) {
		t.Errorf("%d checks, of which %d are tested", len(checks), len(cases))
	}
	for i, c := range cases {
		t.Run(c.code, func(t *testing.T) {
			s := busySample()
			c.set(&s, c.limit)
			if v := judged(&s, nil); !v.Trusted || len(v.Explanations) > 0 {
				t.Errorf("at the threshold: %+v, want trusted", v)
			}
			c.set(&s, c.over)
			v := judged(&s, nil)
			explains := checks[i].explains
			found, other := v.Reasons, v.Explanations
			if explains {
				found, other = other, found
			}
			if v.Trusted != explains || len(other) > 0 || len(found) != 1 || found[0].Code != c.code {
				t.Fatalf("above the threshold: %+v, want %s alone", v, c.code)
			}
			r := found[0]
			if math.Abs(r.Number-c.over) > c.over/200 || r.Threshold != c.limit || r.Text == "" || strings.Contains(r.Text, "%!") {
				t.Errorf("reason %+v, want the number %v and the threshold %v", r, c.over, c.limit)
			}
			if v := judged(&s, Thresholds{c.code: math.Inf(1)}); !v.Trusted || len(v.Explanations) > 0 {
				t.Errorf("switched off: %+v", v)
			}
			if v := judged(&s, Thresholds{c.code: c.over * 1.01}); !v.Trusted {
				t.Errorf("with a threshold of %v: %+v", c.over*1.01, v.Reasons)
			}
			if v := judged(&s, Thresholds{c.code: c.limit}); checks[i].generator {
				if !v.Trusted || len(v.Explanations) != 1 {
					t.Errorf("with a threshold that is set: %+v, want an explanation: the generator is not the server", v)
				}
			} else if v.Trusted || !slices.Equal(reasonsOf(v), []string{c.code}) {
				t.Errorf("with a threshold that is set: %+v, want a reason", v)
			}
		})
	}
}

// A slow endpoint is found among fast ones. One or two slow requests among a few say nothing about
// the percentile.
func TestJudge_EachEndpointIsJudged(t *testing.T) {
	s := busySample()
	s.timings = []timing{slow("", 10_000, 70, 300*time.Millisecond), slow("GET /fast", 9930, 0, 0), slow("GET /slow", 70, 70, 300*time.Millisecond)}
	v := judged(&s, nil)
	if len(v.Reasons) != 1 || v.Reasons[0].Code != "own-p99" || !strings.HasPrefix(v.Reasons[0].Text, "GET /slow: ") || !strings.Contains(v.Reasons[0].Text, "300 ms") {
		t.Errorf("verdict %+v, want GET /slow as a reason", v)
	}
	s.timings = []timing{slow("GET /few", 20, 2, 300*time.Millisecond), slow("GET /many", 1000, 15, 300*time.Millisecond)}
	if v := judged(&s, nil); !v.Trusted {
		t.Errorf("verdict %+v, want trusted: 2 of 20, and 15 of 1,000, may be chance", v)
	}
	for n, slowest := range map[int]int{2: 2, 20: 4, 300: 10} {
		s.timings = []timing{slow("GET /few", n, slowest, 300*time.Millisecond)}
		if v := judged(&s, nil); v.Trusted {
			t.Errorf("trusted, with %d slow requests of %d", slowest, n)
		}
	}
}

func TestJudge_SaysHowMuchTheServerAdded(t *testing.T) {
	s := busySample()
	s.times.Probe = every(0.2)
	if v := judged(&s, nil); v.Size != "" {
		t.Errorf("got %q without a request", v.Size)
	}
	s.timings = []timing{slow("", 300, 0, 0), slow("GET /a", 100, 0, 0), late("POST /payments", 239*time.Millisecond, time.Millisecond)}
	want := "The server added at most 1.2 ms to 99 of 100 responses of POST /payments, 0.5 % of their 99th percentile."
	if v := judged(&s, nil); v.Size != want {
		t.Errorf("got %q, want %q", v.Size, want)
	}
	// One outcome has a latency and is on time; the other one takes long to render.
	mixed := slow("GET /mixed", 200, 100, 40*time.Millisecond)
	mixed.late = harness.Histogram(slices.Repeat([]time.Duration{time.Millisecond}, 100)...)
	s.timings = []timing{mixed}
	if v := judged(&s, nil); !strings.Contains(v.Size, "at most 40.2 ms to 99 of 100 responses of GET /mixed") {
		t.Errorf("got %q, want 40.2 ms", v.Size)
	}
}

// The shares of requests that different parts make late add up: each of two is below 1 % here.
func TestJudge_PartsAreLateTogether(t *testing.T) {
	const ms = time.Millisecond
	some := func(n, late int, by time.Duration) histogram.Snapshot {
		return harness.Histogram(append(slices.Repeat([]time.Duration{0}, n-late), slices.Repeat([]time.Duration{by}, late)...)...)
	}
	timed := func(n, late int) timing {
		return timing{name: "GET /timed", requests: uint64(n), late: some(n, late, 6*ms), injected: some(n, n, 20*ms), total: some(n, n, 20*ms)}
	}
	for name, c := range map[string]struct {
		beats, echoes histogram.Snapshot
		all           []timing
		says          string // "" if the timing can be trusted
	}{
		"arrivals and answers": {some(600, 4, 7*ms), some(6, 0, 0), []timing{timed(4500, 36)},
			"GET /timed: 1.47 % of the requests were late by one part or another (injection-p99 0.8 %, probe-p99 0.67 %); expected at most 1 %"},
		"answers alone":           {some(600, 0, 0), some(6, 0, 0), []timing{timed(4500, 36)}, ""},
		"arrivals alone":          {some(600, 4, 7*ms), some(6, 0, 0), []timing{timed(4500, 0)}, ""},
		"one late echo":           {some(600, 0, 0), some(6, 1, 7*ms), []timing{timed(4500, 36)}, ""},
		"two late beats":          {some(600, 2, 7*ms), some(6, 0, 0), []timing{timed(4500, 36)}, ""},
		"beats that prove little": {some(600, 4, 3*ms), some(6, 0, 0), []timing{timed(4500, 36)}, ""},
		"two endpoints":           {some(600, 0, 0), some(6, 0, 0), []timing{slow("GET /a", 4500, 36, 6*ms), timed(4500, 36)}, ""},
		"own work and items":      {some(600, 0, 0), some(6, 0, 0), []timing{{name: "GET /a", requests: 4500, own: some(4500, 36, 6*ms), items: some(4500, 40, 6*ms), total: some(4500, 36, 6*ms)}}, ""},
		"own work and places": {some(600, 0, 0), some(6, 0, 0), []timing{
			{name: "GET /a", requests: 4500, own: some(4500, 36, 6*ms), place: some(4500, 40, 6*ms), total: some(4500, 76, 6*ms)}},
			"GET /a: 1.69 % of the requests were late by one part or another (own-p99 0.8 %, upstream-wait 0.89 %); expected at most 1 %"},
	} {
		s := busySample()
		s.times.Probe, s.times.Echo, s.timings = c.beats, c.echoes, c.all
		v := judged(&s, nil)
		if v.Trusted != (c.says == "") || !v.Trusted && (len(v.Reasons) != 1 || v.Reasons[0].Code != "late" || v.Reasons[0].Text != c.says) {
			t.Errorf("%s: %+v, want %q", name, v.Reasons, c.says)
		}
		sum := 0.0
		for code, part := range v.Late.Parts {
			if code != "echo-p99" {
				sum += part
			}
		}
		if max(sum, v.Late.Parts["echo-p99"])-v.Late.Share > 1e-9 || v.Late.Requests != 4500 {
			t.Errorf("%s: %+v, want the sum of the parts", name, v.Late)
		}
	}
}

// Echoes stand for the requests over new connections: 1 % of all requests must be late by them.
func TestJudge_EchoesStandForNewConnections(t *testing.T) {
	const ms = time.Millisecond
	late := func(n int) histogram.Snapshot { // of 200 echoes
		return harness.Histogram(append(slices.Repeat([]time.Duration{0}, 200-n), slices.Repeat([]time.Duration{9 * ms}, n)...)...)
	}
	for _, c := range []struct {
		opening float64
		late    int
		trusted bool
		share   float64
	}{
		{1, 2, true, 0.01}, {1, 4, false, 0.02}, {0.5, 4, true, 0.01}, {0.5, 6, false, 0.015}, {0.1, 20, true, 0.01}, {0.1, 23, false, 0.0115},
		{0.01, 200, true, 0.01}, {0, 200, true, 0}, {0.011, 200, false, 0.011},
	} {
		s := busySample()
		s.times.Echo, s.opening, s.timings = late(c.late), c.opening, []timing{slow("GET /a", 1000, 0, 0)}
		v := judged(&s, nil)
		if v.Trusted != c.trusted || !v.Trusted && !slices.Equal(reasonsOf(v), []string{"echo-p99"}) || math.Abs(v.Late.Share-c.share) > 1e-9 {
			t.Errorf("%v of the requests over new connections, %d of 200 echoes late: %+v, %+v", c.opening, c.late, v.Reasons, v.Late)
		}
	}
	// Beats and echoes are late at different times, and a tenth of the requests meets both.
	s := busySample()
	s.times.Probe, s.times.Echo, s.opening, s.timings = late(1), late(50), 0.1, []timing{slow("GET /a", 1000, 0, 0)}
	if v := judged(&s, nil); math.Abs(v.Late.Share-(0.9*0.005+0.1*0.25)) > 1e-9 {
		t.Errorf("%+v, want 0.9 of 0.5 %% and 0.1 of 25 %%", v.Late)
	}
	// Few echoes prove it if all are late, although each stands for a small share.
	s.times.Probe, s.times.Echo, s.opening = late(0), harness.Histogram(slices.Repeat([]time.Duration{9 * ms}, 20)...), 0.02
	if v := judged(&s, nil); !slices.Equal(reasonsOf(v), []string{"echo-p99"}) {
		t.Errorf("2 %% of the requests over new connections, all of 20 echoes late: %+v", v.Reasons)
	}
}

// A single slow request is not a reason, by however many parts it is late.
func TestJudge_OneSlowRequestIsNoReason(t *testing.T) {
	parts := func(times ...time.Duration) *Sample {
		s := busySample()
		l := harness.Histogram(times...)
		s.timings = []timing{{name: "GET /a", requests: l.Count, own: l, upstream: l, place: l, total: l}}
		return &s
	}
	for n := range 50 {
		times := append(make([]time.Duration, n), 6*time.Millisecond)
		if v := judged(parts(times...), nil); !v.Trusted {
			t.Errorf("one of %d: %+v", n+1, v.Reasons)
		}
	}
	const slow = 6 * time.Millisecond
	if v := judged(parts(slow, slow, 0, 0, 0, 0, 0, 0, 0, 0), nil); !slices.Equal(reasonsOf(v), []string{"late"}) {
		t.Errorf("two of ten: %+v, want them to be late together", v)
	}
}

// What puts the timing at risk is a reason only if nothing measures whether requests were late.
func TestJudge_CausesExplainIfTheirEffectIsMeasured(t *testing.T) {
	s := busySample()
	s.Throttled, s.Steal, s.Descriptors, s.Requests, s.FullHandshakes = new(5000.0), new(0.5), 950, 4000, 4000
	if v := judged(&s, nil); !v.Trusted || len(v.Explanations) != 4 {
		t.Errorf("%+v, want four explanations", v)
	}
	s.times.Echo = histogram.Snapshot{} // the server cannot connect to itself
	if v := judged(&s, nil); !slices.Equal(reasonsOf(v), []string{"descriptors"}) {
		t.Errorf("without echoes: %+v", v)
	}
	s.times.Probe = histogram.Snapshot{}
	if v := judged(&s, nil); !slices.Equal(reasonsOf(v), []string{"throttled", "steal", "descriptors", "handshakes"}) {
		t.Errorf("without beats: %+v", v)
	}
}

// The size bounds the 99th percentile of the sum of the parts, however they depend on each other.
func TestSize_IsABoundOfTheSum(t *testing.T) {
	const ms = time.Millisecond
	// In 0.64 % of the requests, each part is between 0 and 20 ms, evenly spread.
	stalls := func(n int) histogram.Snapshot {
		all := make([]time.Duration, n)
		for i := range n * 64 / 10_000 {
			all[i] = 20 * ms * time.Duration(i) / time.Duration(n*64/10_000)
		}
		return harness.Histogram(all...)
	}
	late := timing{name: "GET /a", requests: 50_000, late: stalls(50_000), total: harness.Histogram(slices.Repeat([]time.Duration{40 * ms}, 50_000)...)}
	s := busySample()
	s.times.Probe, s.timings = stalls(50_000), []timing{late}
	v := judged(&s, nil)
	// If they are late in different requests, the sum exceeds 4.4 ms in 1 % of them; if in the same
	// ones, 0.36 % above each of 8.75 and 0 ms.
	if v.Added == nil || v.Added.Value == nil || *v.Added.Value < 8.5 || *v.Added.Value > 9 || *v.Added.High < 9 || *v.Added.High > 11 {
		t.Errorf("%s, %+v", v.Size, v.Added)
	}
	// All parts count: the wait for a place, and connections that wait to be accepted.
	s.times.Probe = every(0.1)
	s.timings = []timing{{name: "GET /a", requests: 100, own: every(0.1), place: harness.Histogram(slices.Repeat([]time.Duration{4 * time.Second}, 3)...)}}
	if v := judged(&s, nil); !strings.Contains(v.Size, "at most 4") {
		t.Errorf("%s, want a wait of 4 s", v.Size)
	}
	s.timings, s.times.Echo = []timing{slow("GET /a", 100, 0, 0)}, harness.Histogram(slices.Repeat([]time.Duration{9 * time.Second}, 20)...)
	if v := judged(&s, nil); !strings.Contains(v.Size, "at most 9500 ms") || !slices.Equal(reasonsOf(v), []string{"echo-p99"}) {
		t.Errorf("%s, want connections of 9 s, and half a second until the first echo", v.Size)
	}
	// A third of 54 echoes do not prove that more than a fifth are late, but the size counts them.
	s.opening, s.times.Echo = 0.05, harness.Histogram(append(make([]time.Duration, 36), slices.Repeat([]time.Duration{9 * time.Second}, 18)...)...)
	if v := judged(&s, nil); !v.Trusted || !strings.Contains(v.Size, "at most 9000 ms") {
		t.Errorf("%+v, %s, want trusted, and a size of 9 s", v.Reasons, v.Size)
	}
	s.opening = 1
	s.times.Echo = harness.Histogram(slices.Repeat([]time.Duration{30 * ms}, 20)...)
	if v := judged(&s, nil); !strings.Contains(v.Size, "at most 60 ms") {
		t.Errorf("%s, want twice the longest echo", v.Size)
	}
	s.times.Echo = harness.Histogram(slices.Repeat([]time.Duration{9 * time.Second}, 20)...)
	s.times.Probe = harness.Histogram(slices.Repeat([]time.Duration{ms / 10}, 200)...)
	if v := judged(&s, nil); !strings.Contains(v.Size, "about 9500 ms") || v.Added.Value != nil || v.Added.Samples != 200 {
		t.Errorf("%s, %+v: 200 figures do not determine a 99th percentile", v.Size, v.Added)
	}
}

// The bound holds in most periods, whether the parts of a request are independent or late together.
func TestSize_HoldsInMostPeriods(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	ms := func(v float64) time.Duration { return time.Duration(v * float64(time.Millisecond)) }
	pass := func(u float64) float64 { return 0.1 + max(u-0.97, 0)/0.03*20 } // 3 % meet a stall of 20 ms
	work := func(u float64) float64 { return 0.2 / (1.01 - u) / 5 }
	const periods, beats, requests = 300, 600, 2000
	independent := make([]float64, 400_000)
	for i := range independent {
		independent[i] = pass(random.Float64()) + work(random.Float64())
	}
	slices.Sort(independent)
	together, apart := pass(0.99)+work(0.99), independent[len(independent)*99/100]
	missed := map[string]int{}
	for range periods {
		probe, own := make([]time.Duration, beats), make([]time.Duration, requests)
		for i := range probe {
			probe[i] = ms(pass(random.Float64()))
		}
		for i := range own {
			own[i] = ms(work((float64(i) + 0.5) / requests)) // every request is measured
		}
		s := busySample()
		s.times.Probe = harness.Histogram(probe...)
		s.timings = []timing{{name: "GET /a", requests: requests, own: harness.Histogram(own...), total: harness.Histogram(own...)}}
		_, added := s.size(0)
		for name, truth := range map[string]float64{"together": together, "independent": apart} {
			if *added.High < truth*0.996 {
				missed[name]++
			}
		}
	}
	for name, n := range missed {
		if n > periods/20 {
			t.Errorf("%s: the size is no bound in %d of %d periods", name, n, periods)
		}
	}
}

func TestJudge_ALongLatencyMayBeOnePercentLate(t *testing.T) {
	s := busySample()
	s.timings = []timing{late("GET /a", 2*time.Second, 19*time.Millisecond)}
	if v := judged(&s, nil); !v.Trusted {
		t.Errorf("19 ms late of 2 s: %v", v.Reasons)
	}
	s.timings = []timing{late("GET /a", 2*time.Second, 21*time.Millisecond)}
	if v := judged(&s, nil); v.Trusted || math.Abs(v.Reasons[0].Threshold-20) > 0.2 {
		t.Errorf("21 ms late of 2 s: %+v, want a threshold of 20 ms", v)
	}
}

// If some requests have a latency of ten milliseconds, they must not be late by a hundredth of the
// latency of most requests.
func TestSampler_WhatMayBeLateIsOfTheShortestLatency(t *testing.T) {
	for short, want := range map[int]float64{0: 100, 5: 1} {
		s := newScene("GET /a")
		sampler := s.sampler(slog.New(slog.DiscardHandler))
		injected := slices.Repeat([]time.Duration{10 * time.Second}, 100-short)
		injected = append(injected, slices.Repeat([]time.Duration{10 * time.Millisecond}, short)...)
		s.counts.Endpoints[0].Requests, s.counts.Endpoints[0].Injected = 100, harness.Histogram(injected...)
		s.counts.Endpoints[0].InjectionError = harness.Histogram(slices.Repeat([]time.Duration{time.Second}, 100)...)
		sampler.Take(s.after(time.Second))
		v := sampler.Current()
		if len(v.Reasons) != 1 || v.Reasons[0].Code != "injection-p99" || math.Abs(v.Reasons[0].Threshold-want) > want/100 {
			t.Errorf("%d short latencies: %+v, want a threshold of %v ms", short, v.Reasons, want)
		}
	}
}

// Webhooks that wait for a worker count as late now, even if the webhooks that have been sent were
// on time.
func TestJudge_WebhooksThatWaitAreLateNow(t *testing.T) {
	s := busySample()
	s.WebhookLag = Spread{Count: 1000, P99: 1}
	s.WebhooksDue, s.WebhooksOldest = 5, 8000
	if v := judged(&s, nil); !v.Trusted {
		t.Errorf("5 of 1,005 wait: %+v, want trusted", v.Reasons)
	}
	s.WebhooksDue = 50
	if v := judged(&s, nil); v.Trusted || v.Reasons[0].Code != "lag-p99" || v.Reasons[0].Number != 8000 {
		t.Errorf("50 of 1,050 wait for 8 s: %+v, want them late", v.Reasons)
	}
}

// A figure that is barely above its threshold is not formatted the same as the threshold.
func TestJudge_TheTextShowsWhatIsAboveWhat(t *testing.T) {
	s := busySample()
	s.CPUWait, s.MachineCPU = new(0.1000004), new(0.9501)
	v := judged(&s, nil)
	if e := v.Explanations; len(e) != 2 || !strings.Contains(e[0].Text, "95.01 %") || !strings.Contains(e[1].Text, "0.1000004 ms") {
		t.Errorf("%+v", v)
	}
}

// A reason is reported even if nothing was timed: the next request is affected by it.
func TestJudge_IdleSilencesNothing(t *testing.T) {
	s := busySample()
	s.Requests, s.MachineCPU = 0, new(1.0)
	if v := judged(&s, nil); !v.Trusted || !v.Idle {
		t.Errorf("verdict %+v, want idle and trusted", v)
	}
	s.AcceptFailures = 3
	if v := judged(&s, nil); v.Trusted || !v.Idle {
		t.Errorf("verdict %+v, want idle and not trusted", v)
	}
	for name, set := range map[string]func(*Sample){
		"a request that waits":    func(s *Sample) { s.InFlight = 1 },
		"a webhook that was sent": func(s *Sample) { s.WebhookLag.Count = 1 },
		"a webhook refused":       func(s *Sample) { s.WebhooksRefused = 1 },
	} {
		busy := s
		set(&busy)
		if v := judged(&busy, nil); v.Idle {
			t.Errorf("%s: idle", name)
		}
	}
}

func TestJudge_WhatIsUnknownIsNamedAndNoReason(t *testing.T) {
	s := busySample()
	s.Load, s.times = Load{CPULimit: 2}, Times[histogram.Snapshot]{}
	v := judged(&s, nil)
	want := []string{"backlog", "probe-p99", "echo-p99", "throttled", "steal", "descriptors", "cpu-quota", "machine", "cpu-wait"}
	if !v.Trusted || !slices.Equal(v.Unknown, want) {
		t.Errorf("verdict %+v, want trusted with unknown %v", v, want)
	}
	if v := judged(&s, Thresholds{"machine": math.Inf(1)}); slices.Contains(v.Unknown, "machine") {
		t.Error("a disabled reason is still looked at, or listed as unknown")
	}
}

// Three late figures among a few hundred are enough for a percentile, but prove little if each is
// barely late.
func TestJudge_AShortStallThatTheProbeMeetsIsNoReason(t *testing.T) {
	const ms = time.Millisecond
	late := func(by ...time.Duration) histogram.Snapshot {
		return harness.Histogram(append(slices.Repeat([]time.Duration{0}, 200), by...)...)
	}
	for _, c := range []struct {
		beats   histogram.Snapshot
		trusted bool
	}{
		{late(3*ms, 3*ms, 3*ms), true},
		{late(20*ms, 18*ms), true},
		{late(5*ms, 4*ms, 3*ms), false},
		{late(slices.Repeat([]time.Duration{3 * ms}, 6)...), false},
		{harness.Histogram(50*ms, 50*ms), true},
		// The echoes of half a minute: three late ones among them may be chance, among those of three
		// seconds they are not.
		{harness.Histogram(append(slices.Repeat([]time.Duration{0}, 51), 9*ms, 9*ms, 9*ms)...), true},
		{harness.Histogram(append(slices.Repeat([]time.Duration{0}, 50), 9*ms, 9*ms, 9*ms, 9*ms)...), false},
		{harness.Histogram(0, 0, 0, 9*ms, 9*ms, 9*ms), false},
	} {
		s := busySample()
		s.times.Probe = c.beats
		if v := judged(&s, nil); v.Trusted != c.trusted {
			t.Errorf("%d beats, p99 %v, longest %v: trusted is %v", c.beats.Count, c.beats.Quantile(0.99), c.beats.Max, v.Trusted)
		}
	}
}

// A reason remains in effect for a while after it was last found, with the worst figure of that
// time and the time when it was first found.
func TestHeld_ReasonsHoldForAWhile(t *testing.T) {
	at := func(second int) time.Time { return time.Date(2026, 1, 2, 3, 4, second, 0, time.UTC) }
	good, bad, worse := busySample(), busySample(), busySample()
	bad.times.Probe, worse.times.Probe, worse.AcceptFailures = every(5), every(9), 7
	var h held
	for _, step := range []struct {
		second  int
		sample  *Sample
		since   int
		reasons string
	}{
		{0, &good, 0, ""},
		{1, &bad, 1, "probe-p99 5 since 1"},
		{2, &worse, 1, "accept 7 since 2, probe-p99 9 since 1"},
		{3, &bad, 1, "accept 7 since 2, probe-p99 9 since 1"},
		{9, &good, 1, "accept 7 since 2, probe-p99 9 since 1"},
		{10, &good, 1, "probe-p99 5 since 1"},
		{11, &good, 11, ""},
		{12, &bad, 12, "probe-p99 5 since 12"},
	} {
		v := h.add(judged(step.sample, nil), nil, at(step.second))
		var reasons []string
		for _, r := range v.Reasons {
			reasons = append(reasons, fmt.Sprintf("%s %.2g since %d", r.Code, r.Number, r.Since.Second()))
		}
		if got := strings.Join(reasons, ", "); got != step.reasons || v.Trusted != (got == "") || v.Since.Second() != step.since {
			t.Errorf("second %d: %q since %d, want %q since %d", step.second, got, v.Since.Second(), step.reasons, step.since)
		}
	}
}

func TestParseThresholds(t *testing.T) {
	got, err := ParseThresholds(" own-p99=2ms, machine = 80% ,steal=off,webhooks-refused=3,,lag-p99=1.5s")
	if err != nil {
		t.Fatal(err)
	}
	want := Thresholds{"own-p99": 2, "machine": 0.8, "steal": math.Inf(1), "webhooks-refused": 3, "lag-p99": 1500}
	for code, value := range want {
		if got[code] != value {
			t.Errorf("%s is %v, want %v", code, got[code], value)
		}
	}
	if len(got) != len(want) {
		t.Errorf("thresholds %v, want %v", got, want)
	}
	if got, err := ParseThresholds(""); err != nil || len(got) != 0 {
		t.Errorf("nothing: %v, %v", got, err)
	}
}

func TestParseThresholds_SaysWhatIsWrongAndWhatIsAccepted(t *testing.T) {
	for text, says := range map[string]string{
		"own=2ms":                 "own-p99",
		"own-p9=2ms":              `(did you mean "own-p99"?)`,
		"own-p99":                 "missing value",
		"own-p99=2":               "a duration",
		"own-p99=-1ms":            "a duration",
		"machine=0.8":             "a percentage",
		"machine=120%":            "a percentage",
		"machine=NaN%":            "a percentage",
		"webhooks-refused=1s":     "a number",
		"webhooks-refused=NaN":    "a number",
		"webhooks-refused=Inf":    "a number",
		"own-p99=1ms,own-p99=2ms": "twice",
		"=":                       "expected one of",
	} {
		if got, err := ParseThresholds(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, %v; want an error with %q", text, got, err, says)
		}
	}
}

func FuzzParseThresholds(f *testing.F) {
	for _, text := range []string{"", "own-p99=2ms,machine=80%", "steal=off", "webhooks-refused=1e3", "a=b=c,"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		thresholds, err := ParseThresholds(text)
		if err != nil {
			return
		}
		for code, value := range thresholds {
			if value < 0 || math.IsNaN(value) || !slices.Contains(codes(), code) {
				t.Errorf("%q: %s is %v", text, code, value)
			}
		}
	})
}

// Samples have a member for every protocol, with the name of the protocol.
func TestProtocols_AreAllOfThem(t *testing.T) {
	var before, after record.Counts
	for p := range after.Protocols {
		after.Protocols[p] = uint64(p) + 1
	}
	text, err := json.Marshal(protocolsBetween(&before, &after))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]uint64
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	for p, n := range after.Protocols {
		if name := matcher.Protocol(p).String(); got[name] != n {
			t.Errorf("%s: %d requests, want %d", name, got[name], n)
		}
	}
}
