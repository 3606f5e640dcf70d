package runs

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"mockserver/internal/list"
	"mockserver/internal/statistics"
	"mockserver/internal/wording"
)

// Comparison compares two runs.
type Comparison struct {
	A         RunEntry         `json:"a" doc:"the first run"`
	B         RunEntry         `json:"b" doc:"the second run"`
	Text      string           `json:"text" doc:"what changed and by how much, in a sentence"`
	Remarks   []string         `json:"remarks" doc:"why the two runs cannot be compared as they are"`
	Total     TotalDifferences `json:"total" doc:"figures of the whole runs"`
	Endpoints []EndpointPair   `json:"endpoints" doc:"endpoints of a, the busiest first, then those only in b"`

	sides [2]*Report
}

// TotalDifferences contains the figures of two whole runs.
type TotalDifferences struct {
	Differences
	WebhooksStarted Pair `json:"webhooks_started" doc:"webhooks that requests of the run triggered" row:"Webhooks started" unit:"count" of:"WebhooksStarted"`
	WebhooksSent    Pair `json:"webhooks_sent" doc:"webhooks that were delivered" row:"Webhooks sent" unit:"count" of:"WebhooksSent"`
	WebhooksDead    Pair `json:"webhooks_dead" doc:"webhooks that were given up" row:"Webhooks failed" unit:"count" of:"WebhooksDead"`
	WebhooksRefused Pair `json:"webhooks_refused" doc:"webhooks that were not accepted" row:"Webhooks refused" unit:"count" of:"WebhooksRefused"`
	WebhooksPending Pair `json:"webhooks_pending" doc:"webhooks that were pending when the report became final" row:"Webhooks pending" unit:"count" of:"WebhooksPending"`
	WebhookLagP50   Pair `json:"webhook_lag_p50" doc:"how late first attempts of webhooks were, median" row:"Webhook lag p50" unit:"ms" more:"worse" of:"WebhookLag.P50"`
	WebhookLagP99   Pair `json:"webhook_lag_p99" doc:"how late first attempts of webhooks were, 99th percentile" row:"Webhook lag p99" unit:"ms" more:"worse" of:"WebhookLag.P99"`
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
	Requests          Pair `json:"requests" doc:"requests that were answered" short:"Requests" row:"Requests" unit:"count" of:"Requests"`
	Rate              Pair `json:"rate" doc:"requests a second" row:"Requests a second" unit:"rate" more:"higher" of:"Rate"`
	Failed            Pair `json:"failed" doc:"share of requests that a client saw fail" short:"Failed" row:"Failed requests" unit:"share" more:"worse" of:"Failed.All/Requests"`
	OwnErrors         Pair `json:"failed_own" doc:"share of answers with status 500 or above that the server gave in place of what is declared" row:"Own errors" unit:"share" more:"worse" of:"Failed.Own/Requests"`
	TotalP50          Pair `json:"total_p50" doc:"median of the response time" short:"Response time p50" row:"Response time p50" unit:"ms" more:"worse" of:"Total.P50"`
	TotalP90          Pair `json:"total_p90" doc:"90th percentile of the response time" row:"Response time p90" unit:"ms" more:"worse" of:"Total.P90"`
	TotalP95          Pair `json:"total_p95" doc:"95th percentile of the response time" row:"Response time p95" unit:"ms" more:"worse" of:"Total.P95"`
	TotalP99          Pair `json:"total_p99" doc:"99th percentile of the response time" short:"Response time p99" row:"Response time p99" unit:"ms" more:"worse" of:"Total.P99"`
	TotalP999         Pair `json:"total_p99_9" doc:"99.9th percentile of the response time" row:"Response time p99.9" unit:"ms" more:"worse" of:"Total.P999"`
	TotalMax          Pair `json:"total_max" doc:"longest response time" row:"Response time, longest" unit:"ms" of:"Total.Max"`
	OwnP50            Pair `json:"own_p50" doc:"median of the server's own time" row:"Own time p50" unit:"ms" more:"worse" of:"Own.P50"`
	OwnP90            Pair `json:"own_p90" doc:"90th percentile of the server's own time" row:"Own time p90" unit:"ms" more:"worse" of:"Own.P90"`
	OwnP99            Pair `json:"own_p99" doc:"99th percentile of the server's own time" short:"Own time p99" row:"Own time p99" unit:"ms" more:"worse" of:"Own.P99"`
	OwnP999           Pair `json:"own_p99_9" doc:"99.9th percentile of the server's own time" row:"Own time p99.9" unit:"ms" more:"worse" of:"Own.P999"`
	UpstreamP50       Pair `json:"upstream_p50" doc:"median of the wait for bodies from URLs" row:"Upstream p50, requests that had to wait" unit:"ms" more:"worse" of:"Upstream.P50"`
	UpstreamP99       Pair `json:"upstream_p99" doc:"99th percentile of the wait for bodies from URLs" row:"Upstream p99, requests that had to wait" unit:"ms" more:"worse" of:"Upstream.P99"`
	InjectedP50       Pair `json:"injected_p50" doc:"median of the declared latency" row:"Injected p50, requests with a latency" unit:"ms" more:"worse" of:"Injected.P50"`
	InjectedP99       Pair `json:"injected_p99" doc:"99th percentile of the declared latency" short:"Injected p99" row:"Injected p99, requests with a latency" unit:"ms" more:"worse" of:"Injected.P99"`
	InjectionErrorP99 Pair `json:"injection_error_p99" doc:"how much later than the declared latency the responses were ready, 99th percentile" short:"Injection error p99" row:"Injection error p99, of those" unit:"ms" more:"worse" of:"InjectionError.P99"`
	StreamItems       Pair `json:"stream_items" doc:"items of streams that were sent" row:"Items of streams" unit:"count" of:"StreamItems"`
	StreamFirstP50    Pair `json:"stream_first_p50" doc:"median of the time to the first item of a stream" row:"First item p50, streams" unit:"ms" more:"worse" of:"StreamFirst.P50"`
	StreamFirstP99    Pair `json:"stream_first_p99" doc:"99th percentile of the time to the first item of a stream" row:"First item p99, streams" unit:"ms" more:"worse" of:"StreamFirst.P99"`
	StreamGapP50      Pair `json:"stream_gap_p50" doc:"median of the time from an item of a stream to the next one" row:"Gap p50, streams" unit:"ms" more:"worse" of:"StreamGap.P50"`
	StreamGapP99      Pair `json:"stream_gap_p99" doc:"99th percentile of the time from an item of a stream to the next one" row:"Gap p99, streams" unit:"ms" more:"worse" of:"StreamGap.P99"`
	StreamGapErrorP99 Pair `json:"stream_gap_error_p99" doc:"how late items of streams were that follow the first one, 99th percentile" row:"Items late p99, streams" unit:"ms" more:"worse" of:"StreamGapError.P99"`
}

// Pair is one figure of two runs. The side of a run that does not have the figure is nil.
type Pair struct {
	A          *statistics.Figure `json:"a" doc:"figure of the first run; null if it has none. A count has no interval"`
	B          *statistics.Figure `json:"b" doc:"figure of the second run; null if it has none"`
	Difference *float64           `json:"difference" doc:"b minus a; null if either is missing or not determined"`
	Low        *float64           `json:"low,omitempty" doc:"lower end of the 95 % interval of the difference"`
	High       *float64           `json:"high,omitempty" doc:"upper end of the 95 % interval of the difference"`
	Change     *float64           `json:"change" doc:"change from a to b as a share of a: 0.1 is a tenth more; null if a is 0, or either is missing or not determined"`
	Finding    string             `json:"finding,omitempty" doc:"better, worse, higher or lower, not distinguishable, or not determined; missing for what is not tested"`

	chance float64
}

// The findings that do not name a direction. opposite names the direction of a decrease.
const (
	notDistinguishable = "not distinguishable"
	notDetermined      = "not determined"
)

var opposite = map[string]string{"worse": "better", "higher": "lower"}

const (
	// falseFindings is the share of findings that may be chance, and the probability that two runs of
	// one configuration show any.
	falseFindings = 0.05
	// leastChange and leastMS are the smallest change of a time that is a finding: histograms have an
	// error of 0.4 %, and from run to run a machine serves requests some microseconds faster or slower.
	leastChange = 0.01
	leastMS     = 0.05
)

// pairOf compares two figures, either of which may be nil. more is the finding if the second is
// larger; "" for figures that are not tested.
func pairOf(a, b *statistics.Figure, unit, more string) Pair {
	p := Pair{A: a, B: b}
	if a == nil || b == nil {
		return p
	}
	if a.Value == nil || b.Value == nil {
		p.Finding = notDetermined
		return p
	}
	p.Difference = new(*b.Value - *a.Value)
	if *a.Value != 0 {
		p.Change = new(*b.Value/(*a.Value) - 1)
	}
	if more == "" || a.Low == nil || b.Low == nil {
		return p
	}
	by := statistics.Ratio
	if unit == "share" {
		by = statistics.Absolute
	}
	d := statistics.Compare(*a, *b, by)
	p.Low, p.High, p.Finding, p.chance = &d.Low, &d.High, notDistinguishable, d.Chance
	least := 0.0
	if unit != "share" {
		least = leastChange * *a.Value
	}
	if unit == "ms" {
		least = max(least, leastMS)
	}
	if math.Abs(d.Value) <= least {
		p.chance = 1
	}
	return p
}

// source is what the figures of a comparison are read from: a whole run or an endpoint.
type source struct {
	of          any
	seconds     float64
	dependences Dependences
}

// figure returns a figure by the names of its fields, such as "Own.P99"; nil if there is no source,
// if the figure is unknown, or if it is of a distribution without values. Of two names with a slash
// in between, it returns the share. name is the name of the figure in JSON.
func (s *source) figure(path, name string) *statistics.Figure {
	if s == nil {
		return nil
	}
	part, whole, share := strings.Cut(path, "/")
	v := reflect.Indirect(reflect.ValueOf(s.of))
	for field := range strings.SplitSeq(part, ".") {
		if q, ok := v.Interface().(Quantiles); ok && q.Count == 0 {
			return nil
		}
		v = v.FieldByName(field)
	}
	number := func(v reflect.Value) uint64 {
		if v.CanInt() {
			return uint64(max(v.Int(), 0))
		}
		return v.Uint()
	}
	switch {
	case share:
		all := number(reflect.Indirect(reflect.ValueOf(s.of)).FieldByName(whole))
		if all == 0 {
			return nil
		}
		return new(statistics.Share(min(number(v), all), all, s.dependences[name]))
	case name == "rate":
		n := number(reflect.Indirect(reflect.ValueOf(s.of)).FieldByName("Requests"))
		return new(statistics.Rate(n, s.seconds, s.dependences[name]))
	}
	switch x := v.Interface().(type) {
	case statistics.Figure:
		return &x
	case *float64:
		if x == nil {
			return nil
		}
		return &statistics.Figure{Value: x}
	case float64:
		return &statistics.Figure{Value: &x}
	}
	return &statistics.Figure{Value: new(float64(number(v)))}
}

// fill sets the fields of type Pair of a struct to the figures that their tags name.
func fill(into any, a, b *source) {
	v := reflect.ValueOf(into).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		if f.Type == reflect.TypeFor[Pair]() {
			path, name := f.Tag.Get("of"), f.Tag.Get("json")
			v.FieldByIndex(f.Index).Set(reflect.ValueOf(pairOf(a.figure(path, name), b.figure(path, name), f.Tag.Get("unit"), f.Tag.Get("more"))))
		}
	}
}

// Compare compares two reports.
func Compare(a, b *Report) *Comparison {
	c := Comparison{A: a.Entry(), B: b.Entry(), Remarks: remarksOn(a, b), Endpoints: []EndpointPair{}, sides: [...]*Report{a, b}}
	fill(&c.Total, a.source(), b.source())
	for _, p := range paired(a.Endpoints, b.Endpoints) {
		named := cmp.Or(p[0], p[1])
		e := EndpointPair{Endpoint: named.Endpoint, Host: named.Host, If: named.If}
		fill(&e.Differences, p[0].source(a.Total.Seconds), p[1].source(b.Total.Seconds))
		c.Endpoints = append(c.Endpoints, e)
	}
	c.find()
	return &c
}

// paired returns the endpoints of two runs in pairs: those of a, then those that only b has. One of a
// pair may be nil.
func paired(a, b []EndpointReport) (pairs [][2]*EndpointReport) {
	in := map[string]*EndpointReport{}
	for i := range b {
		in[b[i].ID] = &b[i]
	}
	for i := range a {
		pairs = append(pairs, [...]*EndpointReport{&a[i], in[a[i].ID]})
		delete(in, a[i].ID)
	}
	for i := range b {
		if one := in[b[i].ID]; one != nil {
			pairs = append(pairs, [...]*EndpointReport{nil, one})
		}
	}
	return pairs
}

// source returns the figures of an endpoint, or nil for a nil endpoint.
func (e *EndpointReport) source(seconds float64) *source {
	if e == nil {
		return nil
	}
	return &source{e, seconds, e.Dependences}
}

// totalFigures is a whole run with a figure that its report does not contain.
type totalFigures struct {
	Whole
	UsedCPU *float64
}

func (r *Report) source() *source {
	return &source{&totalFigures{r.Total, r.Total.CPUShare()}, r.Total.Seconds, r.Dependences}
}

// tested is a figure that was tested, with its name.
type tested struct {
	*Pair
	name string
	more string
	unit string
}

// testedIn returns the figures of a struct that were tested; of is added to their names.
func testedIn(of any, suffix string) []tested {
	var list []tested
	v := reflect.ValueOf(of).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		if f.Type == reflect.TypeFor[Pair]() && f.Tag.Get("row") != "" {
			p := v.FieldByIndex(f.Index).Addr().Interface().(*Pair)
			if p.Finding == notDistinguishable {
				name, _, _ := strings.Cut(f.Tag.Get("row"), ",") // without what the row says about its figures
				list = append(list, tested{p, name + suffix, f.Tag.Get("more"), f.Tag.Get("unit")})
			}
		}
	}
	return list
}

// find says which figures differ by more than chance explains, given the number of figures, and sets
// the headline.
func (c *Comparison) find() {
	all := testedIn(&c.Total, "")
	for i := range c.Endpoints {
		e := &c.Endpoints[i]
		all = append(all, testedIn(&e.Differences, " of "+strings.TrimSpace(e.Endpoint+" "+e.Host+" "+e.If))...)
	}
	chances := list.Map(all, func(t tested) float64 { return t.chance })
	var found []tested
	for i, differs := range statistics.Discoveries(chances, falseFindings) {
		if differs {
			t := all[i]
			if t.Finding = t.more; *t.Difference < 0 {
				t.Finding = opposite[t.more]
			}
			found = append(found, t)
		}
	}
	c.Text = headline(found, len(all))
}

// namedInHeadline is how many figures the headline of a comparison names: those that became better or
// worse first, and of these the ones that changed most.
const namedInHeadline = 3

func headline(found []tested, all int) string {
	if all == 0 {
		return "Nothing can be compared: no figure is determined in both runs."
	}
	if len(found) == 0 {
		return "No figure changed by more than chance explains."
	}
	slices.SortStableFunc(found, func(a, b tested) int {
		return cmp.Or(cmp.Compare(b.judged(), a.judged()), cmp.Compare(b.size(), a.size()))
	})
	found = slices.CompactFunc(found, func(next, t tested) bool { // the only endpoint repeats the figures of the run
		return strings.HasPrefix(next.name, t.name) && *next.Difference == *t.Difference
	})
	var texts []string
	for _, t := range found[:min(len(found), namedInHeadline)] {
		verb := "is"
		if t.unit == "rate" || t.unit == "share" {
			verb = "are" // Requests a second, Failed requests
		}
		texts = append(texts, fmt.Sprintf("%s %s %s by %s (%s to %s)", t.name, verb, t.Finding, differenceText(t.Difference, units[t.unit]), differenceText(t.Low, units[t.unit]), differenceText(t.High, units[t.unit])))
	}
	text := strings.Join(texts, "; ")
	if more := len(found) - len(texts); more > 0 {
		text += "; and " + wording.Count(more, "other figure") + " changed"
	}
	return text + "."
}

// judged returns 1 for a finding that is better or worse, and 0 for one that is only higher or lower.
func (t *tested) judged() int {
	if t.Finding == "better" || t.Finding == "worse" {
		return 1
	}
	return 0
}

// size returns the change of a figure as a share of the smaller side, to order findings by.
func (t *tested) size() float64 {
	a, b := math.Abs(*t.A.Value), math.Abs(*t.B.Value)
	return math.Abs(*t.Difference) / max(min(a, b), 1e-9)
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
		name := r.Name
		if a.Name == b.Name {
			name += " (" + r.ID + ")"
		}
		if !r.Verdict.Trusted {
			add("%s: the timing cannot be trusted", name)
		}
		if r.Configuration.Changed {
			add("%s: the configuration changed during the run", name)
		}
		if r.Running {
			add("%s: the run has not ended", name)
		} else if !r.Final {
			add("%s: webhooks of the run are pending", name)
		}
	}
	if a.Configuration.Hash != b.Configuration.Hash {
		add("the configurations differ%s", declaredOtherwise(a.Endpoints, b.Endpoints))
	}
	if a.Machine != b.Machine {
		add("the machines, or what the program may use of them, differ")
	}
	if a.Program != b.Program {
		add("the versions of the program differ: %s and %s", a.Program.Version, b.Program.Version)
	}
	return remarks
}

// declaredOtherwise names the endpoints that had requests in only one of two runs, or that were declared differently.
func declaredOtherwise(a, b []EndpointReport) string {
	var names []string
	for _, p := range paired(a, b) {
		switch one, other := p[0], p[1]; {
		case one == nil:
			names = append(names, other.Endpoint+" had requests only in b")
		case other == nil:
			names = append(names, one.Endpoint+" had requests only in a")
		case other.Declaration != one.Declaration:
			names = append(names, one.Endpoint+" is declared differently")
		}
	}
	if len(names) == 0 {
		return ""
	}
	text := ": " + strings.Join(names[:min(len(names), endpointsNamed)], ", ")
	if more := len(names) - endpointsNamed; more > 0 {
		text += ", and " + wording.Count(more, "other endpoint")
	}
	return text
}

// endpointsNamed is how many endpoints a remark names.
const endpointsNamed = 5
