package verdict

import (
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"mockserver/internal/histogram"
)

// busySample is a second in which requests were served and nothing was wrong; figures
// are those of a system that tells all.
func busySample() Sample {
	return Sample{
		Time: time.Date(2026, 1, 2, 3, 4, 15, 0, time.UTC), Seconds: 10, Requests: 1000,
		Load: Load{
			CPU: new(0.5), CPULimit: 2, CPUWait: new(0.0), Throttled: new(0.0), MachineCPU: new(0.3), Steal: new(0.0), Pressure: new(0.0),
			Descriptors: 100, DescriptorLimit: 1000,
		},
	}
}

func reasonsOf(v Verdict) []string {
	var codes []string
	for _, r := range v.Reasons {
		codes = append(codes, r.Code)
	}
	return codes
}

func TestJudge_NothingWrongIsTrusted(t *testing.T) {
	s := busySample()
	if v := judge(&s, nil); !v.Trusted || v.Idle || len(v.Reasons) > 0 || len(v.Unknown) > 0 {
		t.Errorf("verdict %+v, want trusted without reasons", v)
	}
}

func TestJudge_EachReasonAloneAndItsBorder(t *testing.T) {
	for _, c := range []struct {
		code        string
		limit, over float64
		set         func(*Sample, float64)
	}{
		{"throttled", 0, 0.001, func(s *Sample, v float64) { s.Throttled = &v }},
		{"cpu-quota", 0.9, 0.91, func(s *Sample, v float64) { s.CPU = new(v * 2) }},
		{"machine", 0.95, 0.96, func(s *Sample, v float64) { s.MachineCPU = &v }},
		{"steal", 0.05, 0.051, func(s *Sample, v float64) { s.Steal = &v }},
		{"cpu-wait", 0.1, 0.11, func(s *Sample, v float64) { s.CPUWait = &v }},
		{"stall", 100, 101, func(s *Sample, v float64) { s.Stall = v }},
		{"scheduler-p99", 1, 1.1, func(s *Sample, v float64) { s.Scheduler.P99 = v }},
		{"gc-pause", 1, 1.1, func(s *Sample, v float64) { s.Pauses.Max = v }},
		{"descriptors", 0.9, 0.901, func(s *Sample, v float64) { s.Descriptors = int(math.Round(v * 1000)) }},
		{"own-p99", 1, 1.01, func(s *Sample, v float64) { s.Own.P99 = v }},
		{"injection-p99", 1, 1.01, func(s *Sample, v float64) { s.InjectionError.P99 = v }},
		{"lag-p99", 10, 10.1, func(s *Sample, v float64) { s.WebhookLag.P99 = v }},
		{"webhooks-refused", 0, 1, func(s *Sample, v float64) { s.WebhooksRefused = int64(v) }},
	} {
		t.Run(c.code, func(t *testing.T) {
			s := busySample()
			c.set(&s, c.limit)
			if v := judge(&s, nil); !v.Trusted {
				t.Errorf("at the threshold: %+v, want trusted", v.Reasons)
			}
			c.set(&s, c.over)
			v := judge(&s, nil)
			if v.Trusted || !slices.Equal(reasonsOf(v), []string{c.code}) {
				t.Fatalf("above the threshold: reasons %v, want %s alone", reasonsOf(v), c.code)
			}
			r := v.Reasons[0]
			if math.Abs(r.Number-c.over) > 1e-9 || r.Threshold != c.limit || r.Text == "" || strings.Contains(r.Text, "%!") {
				t.Errorf("reason %+v, want the number %v and the threshold %v", r, c.over, c.limit)
			}
			if v := judge(&s, Thresholds{c.code: math.Inf(1)}); !v.Trusted {
				t.Errorf("switched off: reasons %v", reasonsOf(v))
			}
			if v := judge(&s, Thresholds{c.code: c.over}); !v.Trusted {
				t.Errorf("with a threshold of %v: reasons %v", c.over, reasonsOf(v))
			}
		})
	}
	if n := len(checks); n != 13 {
		t.Errorf("%d reasons, of which 13 are tested", n)
	}
}

func TestJudge_ALongLatencyMayBeOnePercentLate(t *testing.T) {
	s := busySample()
	s.shortest, s.InjectionError.P99 = 2000, 20
	if v := judge(&s, nil); !v.Trusted {
		t.Errorf("20 ms late of 2 s: %v", v.Reasons)
	}
	s.InjectionError.P99 = 20.5
	if v := judge(&s, nil); v.Trusted || v.Reasons[0].Threshold != 20 {
		t.Errorf("20.5 ms late of 2 s: %+v, want a threshold of 20 ms", v)
	}
}

// Where some are to take ten milliseconds, they may not be late by a hundredth of what
// most are to take.
func TestSampler_WhatMayBeLateIsOfTheShortestLatency(t *testing.T) {
	for short, want := range map[int]float64{0: 100, 5: 1} {
		s := newScene("GET /a")
		sampler := s.sampler(slog.New(slog.DiscardHandler))
		injected := slices.Repeat([]time.Duration{10 * time.Second}, 100-short)
		injected = append(injected, slices.Repeat([]time.Duration{10 * time.Millisecond}, short)...)
		s.counts.Endpoints[0].Requests, s.counts.Endpoints[0].Injected = 100, histogram.Of(injected...)
		s.counts.Endpoints[0].InjectionError = histogram.Of(slices.Repeat([]time.Duration{time.Second}, 100)...)
		sampler.Take(s.after(time.Second))
		v, _ := sampler.Current()
		if len(v.Reasons) != 1 || v.Reasons[0].Code != "injection-p99" || math.Abs(v.Reasons[0].Threshold-want) > want/100 {
			t.Errorf("%d short ones: %+v, want a threshold of %v ms", short, v.Reasons, want)
		}
	}
}

// A figure that is hardly above its threshold is not written as the threshold is.
func TestJudge_TheTextShowsWhatIsAboveWhat(t *testing.T) {
	s := busySample()
	s.Own.P99, s.MachineCPU = 1.00004, new(0.9501)
	v := judge(&s, nil)
	if len(v.Reasons) != 2 || !strings.Contains(v.Reasons[0].Text, "95.01 %") || !strings.Contains(v.Reasons[1].Text, "1.00004 ms") {
		t.Errorf("%+v", v.Reasons)
	}
}

func TestJudge_IdleIsTrustedWhateverTheMachineDoes(t *testing.T) {
	s := busySample()
	s.Requests, s.MachineCPU, s.Stall = 0, new(1.0), 5000
	if v := judge(&s, nil); !v.Trusted || !v.Idle {
		t.Errorf("verdict %+v, want idle and trusted: nothing was timed", v)
	}
	for name, set := range map[string]func(*Sample){
		"a request that waits":    func(s *Sample) { s.InFlight = 1 },
		"a webhook that was sent": func(s *Sample) { s.WebhookLag.Count = 1 },
		"a webhook refused":       func(s *Sample) { s.WebhooksRefused = 1 },
	} {
		busy := s
		set(&busy)
		if v := judge(&busy, nil); v.Trusted || v.Idle {
			t.Errorf("%s: verdict %+v, want not trusted", name, v)
		}
	}
}

func TestJudge_WhatIsUnknownIsNamedAndNoReason(t *testing.T) {
	s := busySample()
	s.Load = Load{CPULimit: 2}
	v := judge(&s, nil)
	want := []string{"throttled", "cpu-quota", "machine", "steal", "cpu-wait", "descriptors"}
	if !v.Trusted || !slices.Equal(v.Unknown, want) {
		t.Errorf("verdict %+v, want trusted with unknown %v", v, want)
	}
	if v := judge(&s, Thresholds{"machine": math.Inf(1)}); slices.Contains(v.Unknown, "machine") {
		t.Error("a reason that is switched off is not asked for, and not unknown")
	}
}

func TestVerdict_RemembersSinceWhenAReasonHolds(t *testing.T) {
	at := func(second int) time.Time { return time.Date(2026, 1, 2, 3, 4, second, 0, time.UTC) }
	good, slow, both := busySample(), busySample(), busySample()
	slow.Own.P99 = 5
	both.Own.P99, both.Steal = 5, new(0.5)
	start := Verdict{Trusted: true, Since: at(0)}
	first := judge(&slow, nil).after(start, at(1))
	second := judge(&both, nil).after(first, at(2))
	if !first.Since.Equal(at(1)) || !second.Since.Equal(at(1)) {
		t.Errorf("not trusted since %v and %v, want both %v", first.Since, second.Since, at(1))
	}
	since := map[string]time.Time{}
	for _, r := range second.Reasons {
		since[r.Code] = r.Since
	}
	if !since["own-p99"].Equal(at(1)) || !since["steal"].Equal(at(2)) {
		t.Errorf("reasons since %v", since)
	}
	if third := judge(&good, nil).after(second, at(3)); !third.Trusted || !third.Since.Equal(at(3)) {
		t.Errorf("trusted again since %v, want %v", third.Since, at(3))
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
