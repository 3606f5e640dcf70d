package bench

import (
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// document is the form of --json; docs/bench.md describes it. Fields are added to
// form 1, and none of them changes its meaning.
type document struct {
	Form      int        `json:"form"`
	Complete  bool       `json:"complete"` // the run came to its end, and nothing is void
	Begun     string     `json:"begun_at"`
	Took      float64    `json:"took_seconds"`
	Machine   machine    `json:"machine"`
	Placement placedJSON `json:"placement"`
	Method    methodJSON `json:"method"`

	Results     []resultJSON  `json:"results"`
	NotMeasured []unaskedJSON `json:"not_measured"`
}

type placedJSON struct {
	ServerCPUs    []int  `json:"server_cpus"` // empty is any
	GeneratorCPUs []int  `json:"generator_cpus"`
	Why           string `json:"why"`
}

type methodJSON struct {
	Kind        string   `json:"kind"` // "closed_loop", "open_loop" or "curve"
	Rounds      int      `json:"rounds"`
	Round       float64  `json:"round_seconds"`
	Warmup      float64  `json:"warmup_seconds"`
	Connections int      `json:"connections"`
	Rate        float64  `json:"rate_per_second"` // 0 is not given
	Share       float64  `json:"rate_share"`      // of capacity; 0 is not given
	Config      []string `json:"config"`          // empty for the scenarios
	Target      string   `json:"target"`          // "" for a server that was started
	Server      []string `json:"server_flags"`
}

type resultJSON struct {
	Name     string        `json:"name"`
	Shows    string        `json:"shows"`
	Void     string        `json:"void"` // why there is no result; "" for one that counts
	Rate     float64       `json:"rate_per_second"`
	Capacity float64       `json:"capacity_per_second"`
	Medians  mediansJSON   `json:"medians"`
	Rounds   []pairJSON    `json:"rounds"`
	Curve    []stepJSON    `json:"curve"`
	Webhooks *webhooksJSON `json:"webhooks"`
	Reloads  *int          `json:"reloads"`
	Costs    []string      `json:"costs"`
	Remarks  []string      `json:"remarks"`
}

type mediansJSON struct {
	Rate       *float64    `json:"requests_per_second"`
	CPU        *float64    `json:"cpu_us_per_request"`
	Ratio      *float64    `json:"ratio"`
	RatioLeast *float64    `json:"ratio_min"`
	RatioMost  *float64    `json:"ratio_max"`
	Latency    latencyJSON `json:"latency_ms"` // over all rounds
	Baseline   latencyJSON `json:"baseline_latency_ms"`
}

type pairJSON struct {
	Ratio     *float64  `json:"ratio"`
	Baseline  sideJSON  `json:"baseline"`
	Candidate sideJSON  `json:"candidate"`
	Quiet     *sideJSON `json:"candidate_quiet"`
}

type stepJSON struct {
	Share  float64    `json:"share"`
	Rate   float64    `json:"rate_per_second"`
	Rounds []pairJSON `json:"rounds"`
}

type sideJSON struct {
	Requests uint64            `json:"requests"`
	Seconds  float64           `json:"seconds"`
	Rate     float64           `json:"requests_per_second"`
	CPU      *float64          `json:"cpu_us_per_request"`
	Memory   *uint64           `json:"memory_bytes"`
	Busy     float64           `json:"generator_busy"`
	Latency  latencyJSON       `json:"latency_ms"`
	Missed   uint64            `json:"missed"`
	Late     uint64            `json:"late"`
	Errors   map[string]uint64 `json:"errors"`
}

type latencyJSON struct {
	P50   *float64 `json:"p50"`
	P90   *float64 `json:"p90"`
	P99   *float64 `json:"p99"`
	P999  *float64 `json:"p99_9"`
	P9999 *float64 `json:"p99_99"`
	Max   *float64 `json:"max"`
}

type webhooksJSON struct {
	Arrived int64  `json:"arrived"`
	Lost    int64  `json:"lost"`
	LagP50  *int64 `json:"lag_p50_ns"`
	LagP99  *int64 `json:"lag_p99_ns"`
	LagMax  *int64 `json:"lag_max_ns"`
}

type unaskedJSON struct {
	Endpoint string `json:"endpoint"`
	Why      string `json:"why"`
}

// files writes the files that were asked for.
func (r *run) files(complete bool) error {
	var errs []error
	if r.opts.JSON != "" {
		text, err := json.MarshalIndent(r.document(complete), "", "  ")
		if err == nil {
			err = writeWhole(r.opts.JSON, append(text, '\n'))
		}
		errs = append(errs, err)
	}
	if r.opts.Plot != "" {
		errs = append(errs, r.draw())
	}
	return errors.Join(errs...)
}

func (r *run) kind() string {
	switch {
	case r.opts.Curve:
		return "curve"
	case r.opts.Rate.given():
		return "open_loop"
	}
	return "closed_loop"
}

func (r *run) document(complete bool) document {
	d := document{
		Form: 1, Complete: complete, Begun: r.begun.UTC().Format(time.RFC3339), Took: time.Since(r.begun).Seconds(),
		Machine:   r.machine,
		Placement: placedJSON{listed(r.placed.Server), listed(r.placed.Generator), r.placed.Why},
		Method: methodJSON{
			Kind: r.kind(), Rounds: r.opts.Rounds, Round: r.opts.Duration.Seconds(), Warmup: warmup(r.opts.Duration).Seconds(),
			Connections: r.opts.Connections, Rate: r.opts.Rate.PerSecond, Share: r.opts.Rate.Share,
			Config: listed(r.opts.Config), Target: r.opts.Target, Server: listed(r.opts.Server),
		},
		Results: []resultJSON{}, NotMeasured: []unaskedJSON{},
	}
	for _, res := range r.results {
		d.Complete = d.Complete && res.wrong == ""
		d.Results = append(d.Results, r.resultJSON(res))
	}
	for _, u := range r.listed {
		d.NotMeasured = append(d.NotMeasured, unaskedJSON{u.endpoint, u.why})
	}
	return d
}

func (r *run) resultJSON(res *result) resultJSON {
	j := resultJSON{
		Name: res.name, Shows: res.shows, Void: res.wrong, Rate: res.rate, Capacity: res.capacity,
		Rounds: pairsJSON(res.rounds), Curve: []stepJSON{}, Costs: listed(res.costs), Remarks: listed(r.remarksOn(res)),
	}
	if res.wrong == "" {
		ratio := res.of((*pair).ratio)
		j.Medians = mediansJSON{
			Rate:  known(res.of(func(p *pair) float64 { return p.candidate.rate }).median),
			CPU:   known(res.of(func(p *pair) float64 { return p.candidate.cpu }).median),
			Ratio: known(ratio.median), RatioLeast: known(ratio.least), RatioMost: known(ratio.most),
			Latency: percentiles(latency(res.rounds, candidateOf)), Baseline: percentiles(latency(res.rounds, baselineOf)),
		}
	}
	for _, st := range res.curve {
		j.Curve = append(j.Curve, stepJSON{st.share, st.rate, pairsJSON(st.rounds)})
	}
	if w := res.webhooks; w != nil {
		j.Webhooks = &webhooksJSON{w.received, w.lost(), nanoseconds(w.LagP50), nanoseconds(w.LagP99), nanoseconds(w.LagMax)}
	}
	if res.reloaded {
		j.Reloads = &res.reloads
	}
	return j
}

func pairsJSON(pairs []pair) []pairJSON {
	list := []pairJSON{}
	for i := range pairs {
		p := &pairs[i]
		j := pairJSON{Ratio: known(p.ratio()), Baseline: sideOf(&p.baseline), Candidate: sideOf(&p.candidate)}
		if p.quiet != nil {
			quiet := sideOf(p.quiet)
			j.Quiet = &quiet
		}
		list = append(list, j)
	}
	return list
}

func sideOf(f *figures) sideJSON {
	j := sideJSON{
		Requests: f.requests, Seconds: f.seconds, Rate: f.rate, CPU: known(f.cpu), Busy: f.busy,
		Latency: percentiles(f.latency), Missed: f.missed, Late: f.late, Errors: map[string]uint64{},
	}
	if f.memory > 0 {
		j.Memory = &f.memory
	}
	for kind, n := range f.errors {
		j.Errors[kind] = n
	}
	return j
}

func percentiles(h *hdrhistogram.Histogram) latencyJSON {
	return latencyJSON{known(at(h, 50)), known(at(h, 90)), known(at(h, 99)), known(at(h, 99.9)), known(at(h, 99.99)), known(at(h, 100))}
}

// known is null for what is not known.
func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func nanoseconds(text string) *int64 {
	d, err := time.ParseDuration(text)
	if err != nil {
		return nil
	}
	n := d.Nanoseconds()
	return &n
}

// listed is [] and never null.
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
