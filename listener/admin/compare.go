package admin

import (
	"fmt"
	"math"

	"mockserver/config"
)

// Comparison is two runs beside each other.
type Comparison struct {
	A RunEntry `json:"a"`
	B RunEntry `json:"b"`
	// Remarks are what keeps the two from being compared as they are: another
	// configuration, another machine, timing that cannot be trusted.
	Remarks   []string       `json:"remarks"`
	Total     Differences    `json:"total"`
	Endpoints []EndpointPair `json:"endpoints"` // the busiest of A first, then those of B alone
}

// EndpointPair is an endpoint in both runs.
type EndpointPair struct {
	Endpoint string `json:"endpoint"`
	Host     string `json:"host,omitempty"`
	If       string `json:"if,omitempty"`
	Differences
}

// Differences are figures of two runs. Times are in milliseconds.
type Differences struct {
	Requests          Pair `json:"requests"`
	Rate              Pair `json:"rate"`
	Errors            Pair `json:"errors"` // share of answers of 500 and above
	OwnP50            Pair `json:"own_p50"`
	OwnP90            Pair `json:"own_p90"`
	OwnP99            Pair `json:"own_p99"`
	OwnP999           Pair `json:"own_p99_9"`
	InjectedP50       Pair `json:"injected_p50"`
	InjectedP99       Pair `json:"injected_p99"`
	InjectionErrorP99 Pair `json:"injection_error_p99"`
}

// Pair is one figure of two runs; nil where a run has none.
type Pair struct {
	A      *float64 `json:"a"`
	B      *float64 `json:"b"`
	Change *float64 `json:"change"` // of B against A: 0.1 is a tenth more; nil when A is 0 or one is missing
}

// pairOf is two figures, of which either may be none.
func pairOf(a, b *float64) Pair {
	p := Pair{A: a, B: b}
	if a != nil && b != nil && *a != 0 {
		p.Change = figure(*b/(*a) - 1)
	}
	return p
}

// figures are those of one side of a comparison.
type figures struct {
	requests, errors uint64
	rate             float64
	own, inj, late   Spread
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
	timed := func(spread func(*figures) *Spread, ms func(*Spread) float64) Pair {
		return pair(func(f *figures) (float64, bool) { s := spread(f); return ms(s), s.Count > 0 })
	}
	own, inj, late := func(f *figures) *Spread { return &f.own }, func(f *figures) *Spread { return &f.inj }, func(f *figures) *Spread { return &f.late }
	p50, p90 := func(s *Spread) float64 { return s.P50 }, func(s *Spread) float64 { return s.P90 }
	p99, p999 := func(s *Spread) float64 { return s.P99 }, func(s *Spread) float64 { return s.P999 }
	return Differences{
		Requests: pair(func(f *figures) (float64, bool) { return float64(f.requests), true }),
		Rate:     pair(func(f *figures) (float64, bool) { return f.rate, true }),
		Errors: pair(func(f *figures) (float64, bool) {
			return float64(f.errors) / float64(max(f.requests, 1)), f.requests > 0
		}),
		OwnP50: timed(own, p50), OwnP90: timed(own, p90), OwnP99: timed(own, p99), OwnP999: timed(own, p999),
		InjectedP50: timed(inj, p50), InjectedP99: timed(inj, p99), InjectionErrorP99: timed(late, p99),
	}
}

// compare puts two reports beside each other.
func compare(a, b *Report) Comparison {
	c := Comparison{A: entryOf(a), B: entryOf(b), Remarks: remarksOn(a, b), Endpoints: []EndpointPair{}}
	c.Total = differences(totalFigures(a), totalFigures(b))
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
	return c
}

func endpointPair(named, a, b *EndpointReport) EndpointPair {
	return EndpointPair{named.Endpoint, named.Host, named.If, differences(a.figures(), b.figures())}
}

// figures are those of an endpoint; nil for none.
func (e *EndpointReport) figures() *figures {
	if e == nil {
		return nil
	}
	f := &figures{requests: e.Requests, rate: e.Rate, own: e.Own, inj: e.Injected, late: e.InjectionError}
	for status, n := range e.Statuses {
		if status >= 500 {
			f.errors += n
		}
	}
	return f
}

func totalFigures(r *Report) *figures {
	t := &r.Total
	return &figures{requests: t.Requests, rate: t.Rate, errors: t.Errors, own: t.Own, inj: t.Injected, late: t.InjectionError}
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
		add("one of the runs has only %s: percentiles of so few say little", config.Count(int(short), "request"))
	}
	return remarks
}

// fewRequests is below which the 99.9th percentile is a single request's.
const fewRequests = 1000

// changeText is a change in percent, with its sign.
func changeText(change *float64) string {
	switch {
	case change == nil:
		return "–"
	case math.Abs(*change) < 0.0005:
		return "±0 %"
	case *change > 0:
		return "+" + short(*change*100) + " %"
	}
	return "\u2212" + short(-*change*100) + " %"
}
