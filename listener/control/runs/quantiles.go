package runs

import (
	"maps"

	"mockserver/internal/histogram"
	"mockserver/internal/statistics"
	"mockserver/listener/observe/verdict"
)

// Quantiles is a distribution of durations, in milliseconds, with the 95 % intervals of its
// percentiles.
type Quantiles struct {
	Count uint64            `json:"count" doc:"number of values measured"`
	Mean  float64           `json:"mean" doc:"mean, in milliseconds"`
	P50   statistics.Figure `json:"p50" doc:"median"`
	P90   statistics.Figure `json:"p90" doc:"90th percentile"`
	P95   statistics.Figure `json:"p95" doc:"95th percentile"`
	P99   statistics.Figure `json:"p99" doc:"99th percentile"`
	P999  statistics.Figure `json:"p99_9" doc:"99.9th percentile"`
	Max   float64           `json:"max" doc:"longest"`
}

// percentiles lists the percentiles in a report, with their names in JSON.
var percentiles = [...]struct {
	name string
	q    float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p99_9", 0.999}}

func (q *Quantiles) figures() [len(percentiles)]*statistics.Figure {
	return [...]*statistics.Figure{&q.P50, &q.P90, &q.P95, &q.P99, &q.P999}
}

// Dependences says how much figures depend on each other over time, by the name of the figure in a
// comparison. Figures of independent values are missing.
type Dependences map[string]statistics.Dependence

// quantilesOf summarizes the distribution with a name in JSON.
func quantilesOf(l histogram.Snapshot, name string, d Dependences) Quantiles {
	all := Quantiles{Count: l.Count, Mean: verdict.Milliseconds(l.Mean()), Max: verdict.Milliseconds(l.Max)}
	for i, into := range all.figures() {
		*into = statistics.Percentile(l, percentiles[i].q, d[name+"_"+percentiles[i].name])
	}
	return all
}

// Whole is a whole run as one sample, with the intervals of its percentiles.
type Whole struct {
	verdict.Sample
	verdict.Times[Quantiles]
}

func wholeOf(s verdict.Sample, times *verdict.Times[histogram.Snapshot], d Dependences) Whole {
	w := Whole{Sample: s}
	for i, l := range times.All() {
		*w.Times.All()[i] = quantilesOf(*l, distributions[i].name, d)
	}
	return w
}

// merged returns the dependences of several replicas together; weights are their numbers of
// requests.
func merged(all []Dependences, weights []uint64) Dependences {
	if len(all) == 1 {
		return all[0]
	}
	var sum float64
	joint := Dependences{}
	for i, d := range all {
		sum += float64(max(weights[i], 1))
		maps.Copy(joint, d)
	}
	for name := range joint {
		var one statistics.Dependence
		for i, d := range all {
			one.Effect += max(d[name].Effect, 1) * float64(max(weights[i], 1)) / sum
			one.Blocks += d[name].Blocks
		}
		joint[name] = one
	}
	return joint
}
