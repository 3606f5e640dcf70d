package runs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"mockserver/internal/wording"
	"mockserver/listener/observe/verdict"
)

// Comparison compares two runs.
type Comparison struct {
	A       RunEntry     `json:"a" doc:"the first run"`
	B       RunEntry     `json:"b" doc:"the second run"`
	Remarks []string     `json:"remarks" doc:"why the two runs cannot be compared as they are"`
	Reasons []ReasonPair `json:"reasons" doc:"reasons not to trust the timing of either run, ordered by how long they held in a, then in b"`
	// Explanations are not reasons by themselves.
	Explanations []ReasonPair     `json:"explanations" doc:"possible causes of a reason in either run, in the same order"`
	Total        TotalDifferences `json:"total" doc:"figures of the whole runs"`
	Endpoints    []EndpointPair   `json:"endpoints" doc:"endpoints of a, the busiest first, then those only in b"`
}

// ReasonPair is a reason, or an explanation, that held in one of two runs or in both. The side of a
// run in which it did not hold is nil.
type ReasonPair struct {
	Code string    `json:"code" doc:"code of the reason"`
	A    *RunCause `json:"a" doc:"in the first run; null if it did not hold"`
	B    *RunCause `json:"b" doc:"in the second run; null if it did not hold"`
}

// TotalDifferences contains the figures of two whole runs.
type TotalDifferences struct {
	Differences
	WebhooksSent    Pair `json:"webhooks_sent" doc:"webhooks that were delivered" row:"Webhooks sent" unit:"count" of:"WebhooksSent"`
	WebhooksDead    Pair `json:"webhooks_dead" doc:"webhooks that were given up" row:"Webhooks failed" unit:"count" of:"WebhooksDead"`
	WebhooksRefused Pair `json:"webhooks_refused" doc:"webhooks that were not accepted" row:"Webhooks refused" unit:"count" of:"WebhooksRefused"`
	WebhookLagP50   Pair `json:"webhook_lag_p50" doc:"how late first attempts of webhooks were, median" row:"Webhook lag p50" unit:"ms" of:"WebhookLag.P50"`
	WebhookLagP99   Pair `json:"webhook_lag_p99" doc:"how late first attempts of webhooks were, 99th percentile" row:"Webhook lag p99" unit:"ms" of:"WebhookLag.P99"`
	CPU             Pair `json:"cpu" doc:"cores that the process kept busy" row:"CPU used, in cores" unit:"cores" of:"CPU"`
	CPUShare        Pair `json:"cpu_share" doc:"share of the cores that the process may use" row:"CPU used, share of its limit" unit:"share" of:"UsedCPU"`
	MachineCPU      Pair `json:"machine_cpu" doc:"share of the machine that was busy" row:"Machine busy" unit:"share" of:"MachineCPU"`
	Throttled       Pair `json:"throttled" doc:"time that a quota kept threads from running, summed over the CPUs" row:"Throttled by the quota" unit:"ms" of:"Throttled"`
	SchedulerP99    Pair `json:"scheduler_p99" doc:"how long goroutines that could run waited, 99th percentile" row:"Scheduler latency p99" unit:"ms" of:"Scheduler.P99"`
	PauseMax        Pair `json:"pause_max" doc:"longest pause of the garbage collector" row:"Longest garbage collector pause" unit:"ms" of:"Pauses.Max"`
	Memory          Pair `json:"memory" doc:"memory at the end, in bytes" row:"Memory at the end" unit:"bytes" of:"Memory"`
}

// EndpointPair is an endpoint in both runs.
type EndpointPair struct {
	Endpoint string `json:"endpoint" doc:"method and path"`
	Host     string `json:"host,omitempty" doc:"host that the endpoint is limited to"`
	If       string `json:"if,omitempty" doc:"condition of the endpoint"`
	Differences
}

// Differences contains figures of two runs. Times are in milliseconds.
type Differences struct {
	Requests          Pair `json:"requests" doc:"requests that were answered" row:"Requests" unit:"count" of:"Requests"`
	Rate              Pair `json:"rate" doc:"requests a second" row:"Requests a second" unit:"rate" of:"Rate"`
	Errors            Pair `json:"errors" doc:"share of answers with status 500 or above" of:"Errors/Requests"`
	DeclaredErrors    Pair `json:"errors_declared" doc:"share of answers with status 500 or above that are declared as responses" row:"Declared errors" unit:"share" of:"DeclaredErrors/Requests"`
	InjectedErrors    Pair `json:"errors_injected" doc:"share of answers with status 500 or above that are injected as faults" row:"Injected errors" unit:"share" of:"InjectedErrors/Requests"`
	OwnErrors         Pair `json:"errors_own" doc:"share of answers with status 500 or above that the server gave in place of what is declared" row:"Own errors" unit:"share" of:"OwnErrors/Requests"`
	TotalP50          Pair `json:"total_p50" doc:"median of the response time" row:"Response time p50" unit:"ms" of:"Total.P50"`
	TotalP90          Pair `json:"total_p90" doc:"90th percentile of the response time" row:"Response time p90" unit:"ms" of:"Total.P90"`
	TotalP95          Pair `json:"total_p95" doc:"95th percentile of the response time" row:"Response time p95" unit:"ms" of:"Total.P95"`
	TotalP99          Pair `json:"total_p99" doc:"99th percentile of the response time" row:"Response time p99" unit:"ms" of:"Total.P99"`
	TotalP999         Pair `json:"total_p99_9" doc:"99.9th percentile of the response time" row:"Response time p99.9" unit:"ms" of:"Total.P999"`
	TotalMax          Pair `json:"total_max" doc:"longest response time" row:"Response time, longest" unit:"ms" of:"Total.Max"`
	OwnP50            Pair `json:"own_p50" doc:"median of the server's own time" row:"Own time p50" unit:"ms" of:"Own.P50"`
	OwnP90            Pair `json:"own_p90" doc:"90th percentile of the server's own time" row:"Own time p90" unit:"ms" of:"Own.P90"`
	OwnP99            Pair `json:"own_p99" doc:"99th percentile of the server's own time" row:"Own time p99" unit:"ms" of:"Own.P99"`
	OwnP999           Pair `json:"own_p99_9" doc:"99.9th percentile of the server's own time" row:"Own time p99.9" unit:"ms" of:"Own.P999"`
	UpstreamP50       Pair `json:"upstream_p50" doc:"median of the wait for bodies from URLs" row:"Upstream p50" unit:"ms" of:"Upstream.P50"`
	UpstreamP99       Pair `json:"upstream_p99" doc:"99th percentile of the wait for bodies from URLs" row:"Upstream p99" unit:"ms" of:"Upstream.P99"`
	InjectedP50       Pair `json:"injected_p50" doc:"median of the declared latency" row:"Injected p50" unit:"ms" of:"Injected.P50"`
	InjectedP99       Pair `json:"injected_p99" doc:"99th percentile of the declared latency" row:"Injected p99" unit:"ms" of:"Injected.P99"`
	InjectionErrorP99 Pair `json:"injection_error_p99" doc:"how much later than the declared latency the responses were ready, 99th percentile" row:"Injection error p99" unit:"ms" of:"InjectionError.P99"`
}

// Pair is one figure of two runs. The side of a run that does not have the figure is nil.
type Pair struct {
	A          *float64 `json:"a" doc:"value of the first run; null if it has none"`
	B          *float64 `json:"b" doc:"value of the second run; null if it has none"`
	Difference *float64 `json:"difference" doc:"b minus a; null if either is missing"`
	Change     *float64 `json:"change" doc:"change from a to b as a share of a: 0.1 is a tenth more; null if a is 0 or either is missing"`
}

// pairOf compares two figures, either of which may be nil.
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

// figureAt returns a figure of a struct by the names of its fields, such as "Own.P99"; nil if the
// struct is nil, if the figure is unknown, or if it is of a distribution without values. Of two
// names with a slash in between, it returns the share.
func figureAt(of any, path string) *float64 {
	part, whole, share := strings.Cut(path, "/")
	v := reflect.Indirect(reflect.ValueOf(of))
	if !v.IsValid() {
		return nil
	}
	for name := range strings.SplitSeq(part, ".") {
		if s, ok := v.Interface().(verdict.Spread); ok && s.Count == 0 {
			return nil
		}
		v = v.FieldByName(name)
	}
	if share {
		all := figureAt(of, whole)
		if *all == 0 {
			return nil
		}
		return new(*figureAt(of, part) / *all)
	}
	switch v.Kind() {
	case reflect.Pointer:
		return v.Interface().(*float64)
	case reflect.Float64:
		return new(v.Float())
	case reflect.Int64:
		return new(float64(v.Int()))
	}
	return new(float64(v.Uint()))
}

// fill sets the fields of type Pair of a struct to the figures that their tags name.
func fill(into, a, b any) {
	v := reflect.ValueOf(into).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		if f.Type == reflect.TypeFor[Pair]() {
			path := f.Tag.Get("of")
			v.FieldByIndex(f.Index).Set(reflect.ValueOf(pairOf(figureAt(a, path), figureAt(b, path))))
		}
	}
}

// Compare compares two reports.
func Compare(a, b *Report) *Comparison {
	c := Comparison{A: a.Entry(), B: b.Entry(), Remarks: remarksOn(a, b), Reasons: causePairs(a.Verdict.Reasons, b.Verdict.Reasons), Explanations: causePairs(a.Verdict.Explanations, b.Verdict.Explanations), Endpoints: []EndpointPair{}}
	fill(&c.Total, a.total(), b.total())
	in := map[string]*EndpointReport{}
	for i := range b.Endpoints {
		in[b.Endpoints[i].ID] = &b.Endpoints[i]
	}
	for i := range a.Endpoints {
		one := &a.Endpoints[i]
		c.Endpoints = append(c.Endpoints, endpointPair(one, one, in[one.ID]))
		delete(in, one.ID)
	}
	for i := range b.Endpoints {
		if one := &b.Endpoints[i]; in[one.ID] != nil {
			c.Endpoints = append(c.Endpoints, endpointPair(one, nil, one))
		}
	}
	return &c
}

func endpointPair(named, a, b *EndpointReport) EndpointPair {
	p := EndpointPair{Endpoint: named.Endpoint, Host: named.Host, If: named.If}
	fill(&p.Differences, a.figures(), b.figures())
	return p
}

// endpointFigures is an endpoint with a figure that its report does not contain.
type endpointFigures struct {
	EndpointReport
	Errors uint64
}

// figures returns the figures of an endpoint, or nil for a nil endpoint.
func (e *EndpointReport) figures() *endpointFigures {
	if e == nil {
		return nil
	}
	all := endpointFigures{EndpointReport: *e}
	for status, n := range e.Statuses {
		if status >= 500 {
			all.Errors += n
		}
	}
	return &all
}

// totalFigures is a whole run with a figure that its report does not contain.
type totalFigures struct {
	verdict.Sample
	UsedCPU *float64
}

func (r *Report) total() *totalFigures { return &totalFigures{r.Total, r.Total.CPUShare()} }

// causePairs returns the reasons, or the explanations, of both runs in pairs.
func causePairs(a, b []RunCause) []ReasonPair {
	pairs := []ReasonPair{}
	for i := range a {
		pairs = append(pairs, ReasonPair{Code: a[i].Code, A: &a[i]})
	}
	for i := range b {
		if at := slices.IndexFunc(pairs, func(p ReasonPair) bool { return p.Code == b[i].Code }); at >= 0 {
			pairs[at].B = &b[i]
			continue
		}
		pairs = append(pairs, ReasonPair{Code: b[i].Code, B: &b[i]})
	}
	return pairs
}

// remarksOn returns what makes a comparison of two runs questionable.
func remarksOn(a, b *Report) []string {
	remarks := []string{}
	add := func(format string, args ...any) { remarks = append(remarks, fmt.Sprintf(format, args...)) }
	sides := []*Report{a, b}
	if a.ID == b.ID {
		add("a and b are the same run, %s", a.ID)
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

// fewRequests is the number below which the 99.9th percentile is a single request.
const fewRequests = 1000
