package bench

import (
	"time"

	"mockserver/bench/load"
)

// document is the content of a --json file, described in docs/bench.md. Fields may be added to form
// 2, but no field changes its meaning.
type document struct {
	Form      int            `json:"form"`
	Complete  bool           `json:"complete"` // the run was completed, and no result is void
	Begun     string         `json:"begun_at"`
	Took      float64        `json:"took_seconds"`
	Machine   machine        `json:"machine"`
	Placement load.Placement `json:"placement"`
	Method    conditions     `json:"method"`

	Results     []*result `json:"results"`
	NotMeasured []unasked `json:"not_measured"`
}

// conditions are the settings of the measured run.
type conditions struct {
	Kind        string   `json:"kind"` // "closed_loop" or "open_loop"
	Rounds      int      `json:"rounds"`
	Round       float64  `json:"round_seconds"`
	Warmup      float64  `json:"warmup_seconds"`
	Connections int      `json:"connections"`
	Rate        float64  `json:"rate_per_second"` // 0 if not given
	Share       float64  `json:"rate_share"`      // of capacity; 0 if not given
	Config      []string `json:"config"`          // empty for the scenarios
	Server      []string `json:"server_flags"`
}

func (r *run) document(complete bool) document {
	kind := "closed_loop"
	if r.opts.Rate.given() {
		kind = "open_loop"
	}
	d := document{
		Form: 2, Complete: complete, Begun: r.begun.UTC().Format(time.RFC3339), Took: time.Since(r.begun).Seconds(),
		Machine: r.machine, Placement: r.placed,
		Method: conditions{
			Kind: kind, Rounds: r.opts.Rounds, Round: r.opts.Duration.Seconds(), Warmup: warmup(r.opts.Duration).Seconds(),
			Connections: r.opts.Connections, Rate: r.opts.Rate.PerSecond, Share: r.opts.Rate.Share,
			Config: nonNil(r.opts.Config), Server: nonNil(r.opts.Server),
		},
		Results: nonNil(r.results), NotMeasured: nonNil(r.listed),
	}
	d.Placement.Server, d.Placement.Generator = nonNil(r.placed.Server), nonNil(r.placed.Generator)
	for _, res := range r.results {
		d.Complete = d.Complete && res.Void == ""
		res.Medians, res.Remarks = res.medians(), nonNil(r.remarksOn(res))
	}
	return d
}

// nonNil returns the list, or an empty one instead of nil: [] rather than null in JSON.
func nonNil[T any](list []T) []T { return append([]T{}, list...) }
