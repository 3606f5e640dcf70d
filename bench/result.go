package bench

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"mockserver/internal/histogram"
	"mockserver/internal/list"
)

// result is the result of one subject, which has at least one round. Medians and Remarks are set once all subjects are measured.
type result struct {
	Name     string   `json:"name"`
	Shows    string   `json:"shows"`
	Void     string   `json:"void"`                // why there is no result; "" for one that counts
	Rate     float64  `json:"rate_per_second"`     // sent; 0 in a closed loop
	Capacity float64  `json:"capacity_per_second"` // found first by a closed loop; 0 if it was not measured
	Medians  medians  `json:"medians"`
	Rounds   rounds   `json:"rounds"`
	Remarks  []string `json:"remarks"`
	streamed bool     // its figures are those of items
}

// medians contains the medians of the rounds, and the latencies of all rounds; unknown in a void
// result.
type medians struct {
	Rate       figure    `json:"requests_per_second"`
	CPU        figure    `json:"cpu_us_per_request"`
	Ratio      figure    `json:"ratio"`
	RatioMean  figure    `json:"ratio_mean"`
	RatioError figure    `json:"ratio_error"` // the standard error of the mean
	RatioLeast figure    `json:"ratio_min"`
	RatioMost  figure    `json:"ratio_max"`
	Latency    latencies `json:"latency_ms"`
	Baseline   latencies `json:"baseline_latency_ms"`
}

// rounds are the rounds of a result.
type rounds []round

// judge makes the result void if there were errors.
func (res *result) judge() {
	for i := range res.Rounds {
		r := &res.Rounds[i]
		for _, name := range r.names() {
			res.judgeSide(name, r.Sides[name])
		}
	}
}

func (res *result) judgeSide(name string, f *figures) {
	if len(f.Errors) == 0 || res.Void != "" {
		return
	}
	switch name {
	case nameOfBaseline:
		name = "the baseline"
	case nameOfCandidate, nameOfAlone:
		name = "the server"
	}
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(f.Errors)) {
		kinds = append(kinds, fmt.Sprintf("%d × %s", f.Errors[kind], kind))
	}
	res.Void = fmt.Sprintf("errors of %s: %s", name, strings.Join(kinds, ", "))
}

// sound returns the rounds that count: none if the result is void.
func (res *result) sound() rounds {
	if res.Void != "" {
		return nil
	}
	return res.Rounds
}

func (res *result) medians() medians {
	rs := res.sound()
	ratio, loaded := rs.ratio(), rs.loaded()
	return medians{
		Rate: rs.median(loaded, rateOf), CPU: rs.median(nameOfCandidate, cpuOf),
		Ratio: ratio.median, RatioMean: ratio.mean, RatioError: ratio.deviation, RatioLeast: ratio.least, RatioMost: ratio.most,
		Latency: rs.latency(loaded), Baseline: rs.latency(nameOfBaseline),
	}
}

// summary summarizes several values. The deviation is the standard error of the mean, which is
// unknown for one value.
type summary struct{ median, least, most, mean, deviation figure }

// spread returns the range of the rounds as a share of their median.
func (s summary) spread() figure {
	if !(s.median > 0) {
		return 0
	}
	return (s.most - s.least) / s.median
}

// summarize returns the summary of the known values, which is unknown if there are none.
func summarize(values []figure) summary {
	values = slices.DeleteFunc(slices.Clone(values), func(v figure) bool { return !v.isKnown() })
	if len(values) == 0 {
		return summary{unknown, unknown, unknown, unknown, unknown}
	}
	slices.Sort(values)
	n := len(values)
	median := values[n/2]
	if n%2 == 0 {
		median = (values[n/2-1] + values[n/2]) / 2
	}
	var mean, squares figure
	for _, v := range values {
		mean += v / figure(n)
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return summary{median, values[0], values[n-1], mean, figure(math.Sqrt(float64(squares) / float64(n-1) / float64(n)))}
}

// summarize summarizes a figure over the rounds.
func (rs rounds) summarize(what func(r *round) figure) summary {
	return summarize(list.Map(rs, func(r round) figure { return what(&r) }))
}

func (rs rounds) ratio() summary { return rs.summarize((*round).ratio) }

// loaded returns the name of the candidate when it has all processors of the servers to itself.
func (rs rounds) loaded() string {
	if len(rs) > 0 && rs[0].Sides[nameOfAlone] != nil {
		return nameOfAlone
	}
	return nameOfCandidate
}

// median returns the median of a figure of one side.
func (rs rounds) median(name string, what func(f *figures) figure) figure {
	return rs.summarize(func(r *round) figure { return what(r.Sides[name]) }).median
}

// sum adds up a count of one side; unknown without rounds.
func (rs rounds) sum(name string, what func(f *figures) uint64) figure {
	return figure(len(rs)) * rs.summarize(func(r *round) figure { return figure(what(r.Sides[name])) }).mean
}

// errors returns how many errors the given sides had, as far as they were loaded.
func (rs rounds) errors(names ...string) (total uint64) {
	for i := range rs {
		for _, name := range names {
			if f := rs[i].Sides[name]; f != nil {
				for _, n := range f.Errors {
					total += n
				}
			}
		}
	}
	return total
}

// latency merges the distributions of one side.
func (rs rounds) latency(name string) latencies {
	return latencies{histogram.Sum(func(yield func(histogram.Snapshot) bool) {
		for i := range rs {
			if !yield(rs[i].Sides[name].Latency.Snapshot) {
				return
			}
		}
	})}
}
