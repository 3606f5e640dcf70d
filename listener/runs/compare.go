package runs

import (
	"fmt"
	"slices"

	"mockserver/internal/wording"
	"mockserver/listener/verdict"
)

// Comparison is two runs beside each other.
type Comparison struct {
	A         RunEntry         `json:"a" doc:"the first run"`
	B         RunEntry         `json:"b" doc:"the second run"`
	Remarks   []string         `json:"remarks" doc:"what keeps the two from being compared as they are"`
	Reasons   []ReasonPair     `json:"reasons" doc:"not to trust the timing of either, by what held longest in a, then in b"`
	Total     TotalDifferences `json:"total" doc:"figures of the whole runs"`
	Endpoints []EndpointPair   `json:"endpoints" doc:"those of a, the busiest first, then those of b alone"`
}

// ReasonPair is a reason that held in one of two runs, or in both; nil where it did not.
type ReasonPair struct {
	Code string    `json:"code" doc:"of the reason"`
	A    *RunCause `json:"a" doc:"in the first run; null where it did not hold"`
	B    *RunCause `json:"b" doc:"in the second run; null where it did not hold"`
}

// TotalDifferences are the figures of two whole runs.
type TotalDifferences struct {
	Differences
	WebhooksSent    Pair `json:"webhooks_sent" doc:"webhooks that were delivered"`
	WebhooksDead    Pair `json:"webhooks_dead" doc:"webhooks that were given up"`
	WebhooksRefused Pair `json:"webhooks_refused" doc:"webhooks that were not accepted"`
	WebhookLagP50   Pair `json:"webhook_lag_p50" doc:"how late first attempts of webhooks were, median"`
	WebhookLagP99   Pair `json:"webhook_lag_p99" doc:"how late first attempts of webhooks were, 99th percentile"`
	CPU             Pair `json:"cpu" doc:"cores that the process kept busy"`
	CPUShare        Pair `json:"cpu_share" doc:"share of the cores that the process may use"`
	MachineCPU      Pair `json:"machine_cpu" doc:"share of the machine that was busy"`
	Throttled       Pair `json:"throttled" doc:"time that a quota kept threads from running, summed over the CPUs"`
	SchedulerP99    Pair `json:"scheduler_p99" doc:"how long goroutines that could run waited, 99th percentile"`
	PauseMax        Pair `json:"pause_max" doc:"longest stop of the garbage collector"`
	Memory          Pair `json:"memory" doc:"bytes at the end"`
}

// EndpointPair is an endpoint in both runs.
type EndpointPair struct {
	Endpoint string `json:"endpoint" doc:"method and path"`
	Host     string `json:"host,omitempty" doc:"that it is limited to"`
	If       string `json:"if,omitempty" doc:"its condition"`
	Differences
}

// Differences are figures of two runs. Times are in milliseconds.
type Differences struct {
	Requests          Pair `json:"requests" doc:"that were answered"`
	Rate              Pair `json:"rate" doc:"requests a second"`
	Errors            Pair `json:"errors" doc:"share of answers of 500 and above"`
	DeclaredErrors    Pair `json:"errors_declared" doc:"share of answers of 500 and above that are declared as responses"`
	InjectedErrors    Pair `json:"errors_injected" doc:"share of answers of 500 and above that are injected as faults"`
	OwnErrors         Pair `json:"errors_own" doc:"share of answers of 500 and above that the server gave in place of what is declared"`
	OwnP50            Pair `json:"own_p50" doc:"median of the server's own time"`
	OwnP90            Pair `json:"own_p90" doc:"90th percentile of it"`
	OwnP99            Pair `json:"own_p99" doc:"99th percentile of it"`
	OwnP999           Pair `json:"own_p99_9" doc:"99.9th percentile of it"`
	InjectedP50       Pair `json:"injected_p50" doc:"median of the latency as declared"`
	InjectedP99       Pair `json:"injected_p99" doc:"99th percentile of it"`
	InjectionErrorP99 Pair `json:"injection_error_p99" doc:"how much later than declared, 99th percentile"`
}

// Pair is one figure of two runs; nil where a run has none.
type Pair struct {
	A          *float64 `json:"a" doc:"of the first run; null where it has none"`
	B          *float64 `json:"b" doc:"of the second run; null where it has none"`
	Difference *float64 `json:"difference" doc:"b less a; null when one is missing"`
	Change     *float64 `json:"change" doc:"of b against a: 0.1 is a tenth more; null when a is 0 or one is missing"`
}

// pairOf is two figures, of which either may be none.
func pairOf(a, b *float64) Pair {
	p := Pair{A: a, B: b}
	if a == nil || b == nil {
		return p
	}
	p.Difference = new(*b - *a)
	if *a != 0 {
		p.Change = new(*b/(*a) - 1)
	}
	return p
}

// figures are those of one side of a comparison.
type figures struct {
	requests, errors uint64
	kinds            verdict.ErrorKinds
	rate             float64
	own, inj, late   verdict.Spread
}

// differences are two sides' figures; a side that is nil has none.
func differences(a, b *figures) Differences {
	pair := func(of func(*figures) (float64, bool)) Pair {
		one := func(f *figures) *float64 {
			if f == nil {
				return nil
			}
			if value, ok := of(f); ok {
				return &value
			}
			return nil
		}
		return pairOf(one(a), one(b))
	}
	timed := func(spread func(*figures) *verdict.Spread, ms func(*verdict.Spread) float64) Pair {
		return pair(func(f *figures) (float64, bool) { s := spread(f); return ms(s), s.Count > 0 })
	}
	part := func(of func(*figures) uint64) Pair {
		return pair(func(f *figures) (float64, bool) { return float64(of(f)) / float64(max(f.requests, 1)), f.requests > 0 })
	}
	own, inj, late := func(f *figures) *verdict.Spread { return &f.own }, func(f *figures) *verdict.Spread { return &f.inj }, func(f *figures) *verdict.Spread { return &f.late }
	p50, p90 := func(s *verdict.Spread) float64 { return s.P50 }, func(s *verdict.Spread) float64 { return s.P90 }
	p99, p999 := func(s *verdict.Spread) float64 { return s.P99 }, func(s *verdict.Spread) float64 { return s.P999 }
	return Differences{
		Requests:       pair(func(f *figures) (float64, bool) { return float64(f.requests), true }),
		Rate:           pair(func(f *figures) (float64, bool) { return f.rate, true }),
		Errors:         part(func(f *figures) uint64 { return f.errors }),
		DeclaredErrors: part(func(f *figures) uint64 { return f.kinds.DeclaredErrors }),
		InjectedErrors: part(func(f *figures) uint64 { return f.kinds.InjectedErrors }),
		OwnErrors:      part(func(f *figures) uint64 { return f.kinds.OwnErrors }),
		OwnP50:         timed(own, p50), OwnP90: timed(own, p90), OwnP99: timed(own, p99), OwnP999: timed(own, p999),
		InjectedP50: timed(inj, p50), InjectedP99: timed(inj, p99), InjectionErrorP99: timed(late, p99),
	}
}

// Compare puts two reports beside each other.
func Compare(a, b *Report) *Comparison {
	c := Comparison{A: entryOf(a), B: entryOf(b), Remarks: remarksOn(a, b), Reasons: reasonPairs(a, b), Endpoints: []EndpointPair{}}
	c.Total = totalDifferences(a, b)
	of := map[string]*EndpointReport{}
	for i := range b.Endpoints {
		of[b.Endpoints[i].ID] = &b.Endpoints[i]
	}
	for i := range a.Endpoints {
		one := &a.Endpoints[i]
		c.Endpoints = append(c.Endpoints, endpointPair(one, one, of[one.ID]))
		delete(of, one.ID)
	}
	for i := range b.Endpoints {
		if one := &b.Endpoints[i]; of[one.ID] != nil {
			c.Endpoints = append(c.Endpoints, endpointPair(one, nil, one))
		}
	}
	return &c
}

func endpointPair(named, a, b *EndpointReport) EndpointPair {
	return EndpointPair{named.Endpoint, named.Host, named.If, differences(a.figures(), b.figures())}
}

// figures are those of an endpoint; nil for none.
func (e *EndpointReport) figures() *figures {
	if e == nil {
		return nil
	}
	f := &figures{requests: e.Requests, rate: e.Rate, kinds: e.ErrorKinds, own: e.Own, inj: e.Injected, late: e.InjectionError}
	for status, n := range e.Statuses {
		if status >= 500 {
			f.errors += n
		}
	}
	return f
}

func totalFigures(r *Report) *figures {
	t := &r.Total
	return &figures{requests: t.Requests, rate: t.Rate, errors: t.Errors, kinds: t.ErrorKinds, own: t.Own, inj: t.Injected, late: t.InjectionError}
}

// totalDifferences are those of two whole runs: what each of their requests had, and
// what the server did beside them.
func totalDifferences(a, b *Report) TotalDifferences {
	pair := func(of func(*verdict.Sample) *float64) Pair { return pairOf(of(&a.Total), of(&b.Total)) }
	counted := func(of func(*verdict.Sample) int64) Pair {
		return pair(func(s *verdict.Sample) *float64 { return new(float64(of(s))) })
	}
	timed := func(of func(*verdict.Sample) (*verdict.Spread, float64)) Pair {
		return pair(func(s *verdict.Sample) *float64 {
			if spread, ms := of(s); spread.Count > 0 {
				return &ms
			}
			return nil
		})
	}
	return TotalDifferences{
		Differences:     differences(totalFigures(a), totalFigures(b)),
		WebhooksSent:    counted(func(s *verdict.Sample) int64 { return s.WebhooksSent }),
		WebhooksDead:    counted(func(s *verdict.Sample) int64 { return s.WebhooksDead }),
		WebhooksRefused: counted(func(s *verdict.Sample) int64 { return s.WebhooksRefused }),
		WebhookLagP50:   timed(func(s *verdict.Sample) (*verdict.Spread, float64) { return &s.WebhookLag, s.WebhookLag.P50 }),
		WebhookLagP99:   timed(func(s *verdict.Sample) (*verdict.Spread, float64) { return &s.WebhookLag, s.WebhookLag.P99 }),
		CPU:             pair(func(s *verdict.Sample) *float64 { return s.CPU }),
		CPUShare: pair(func(s *verdict.Sample) *float64 {
			if share, ok := s.CPUShare(); ok {
				return &share
			}
			return nil
		}),
		MachineCPU:   pair(func(s *verdict.Sample) *float64 { return s.MachineCPU }),
		Throttled:    pair(func(s *verdict.Sample) *float64 { return s.Throttled }),
		SchedulerP99: timed(func(s *verdict.Sample) (*verdict.Spread, float64) { return &s.Scheduler, s.Scheduler.P99 }),
		PauseMax:     timed(func(s *verdict.Sample) (*verdict.Spread, float64) { return &s.Pauses, s.Pauses.Max }),
		Memory:       counted(func(s *verdict.Sample) int64 { return int64(s.Memory) }),
	}
}

// reasonPairs are the reasons of either run.
func reasonPairs(a, b *Report) []ReasonPair {
	pairs := []ReasonPair{}
	for i := range a.Verdict.Reasons {
		c := &a.Verdict.Reasons[i]
		pairs = append(pairs, ReasonPair{Code: c.Code, A: c})
	}
	for i := range b.Verdict.Reasons {
		c := &b.Verdict.Reasons[i]
		if at := slices.IndexFunc(pairs, func(p ReasonPair) bool { return p.Code == c.Code }); at >= 0 {
			pairs[at].B = c
			continue
		}
		pairs = append(pairs, ReasonPair{Code: c.Code, B: c})
	}
	return pairs
}

func entryOf(r *Report) RunEntry {
	return RunEntry{
		ID: r.ID, Name: r.Name, Running: r.Running, Begin: r.Begin, End: r.End, Seconds: r.Total.Seconds,
		Requests: r.Total.Requests, Rate: r.Total.Rate, Verdict: &r.Verdict,
	}
}

// remarksOn says what keeps two runs from being compared.
func remarksOn(a, b *Report) []string {
	remarks := []string{}
	add := func(format string, args ...any) { remarks = append(remarks, fmt.Sprintf(format, args...)) }
	sides := []*Report{a, b}
	if a.ID == b.ID {
		add("both are the same run, %s: nothing can differ", a.ID)
		sides = sides[:1]
	}
	for _, r := range sides {
		if !r.Verdict.Trusted {
			add("%s: the timing cannot be trusted", r.Name)
		}
		if r.Configuration.Changed {
			add("%s: the configuration changed during the run", r.Name)
		}
		if r.Running {
			add("%s: the run has not ended", r.Name)
		}
	}
	if a.Configuration.Hash != b.Configuration.Hash {
		add("the configurations differ")
	}
	if a.Machine != b.Machine {
		add("the machines, or what the program may use of them, differ")
	}
	if a.Program != b.Program {
		add("the versions of the program differ: %s and %s", a.Program.Version, b.Program.Version)
	}
	if short := min(a.Total.Requests, b.Total.Requests); short < fewRequests {
		add("one of the runs has only %s: percentiles of so few say little", wording.Count(int(short), "request"))
	}
	return remarks
}

// fewRequests is below which the 99.9th percentile is a single request's.
const fewRequests = 1000
