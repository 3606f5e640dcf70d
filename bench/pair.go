package bench

import (
	"maps"
	"slices"
)

// figures are the measurements of one side in one round.
type figures struct {
	Requests uint64            `json:"requests"`
	Seconds  float64           `json:"seconds"`
	Rate     float64           `json:"requests_per_second"` // answered
	CPU      figure            `json:"cpu_us_per_request"`  // processor time of the server
	Memory   figure            `json:"memory_bytes"`        // of the server after the round
	Busy     float64           `json:"generator_busy"`      // share of its processors that the generator used
	Latency  latencies         `json:"latency_ms"`
	Missed   uint64            `json:"missed"`
	Late     uint64            `json:"late"`
	Errors   map[string]uint64 `json:"errors"`
}

// Names of the sides that bench provides. A rival has a name of its own.
const (
	nameOfBaseline  = "bare"
	nameOfCandidate = "server"
	nameOfAlone     = "server alone" // the candidate alone, if the other sides are loaded at once
)

// round is one round: the figures of the sides, by their names. Each round has the baseline and the
// candidate.
type round struct {
	Ratio figure              `json:"ratio"` // see ratio
	Sides map[string]*figures `json:"sides"`
}

// ratio returns the processor time of a request compared with the baseline in the same round.
func (r *round) ratio() figure { return r.Sides[nameOfCandidate].CPU / r.Sides[nameOfBaseline].CPU }

// names returns the names of the sides: the baseline, the candidate, and the others.
func (r *round) names() []string {
	names := []string{nameOfBaseline, nameOfCandidate}
	for _, name := range slices.Sorted(maps.Keys(r.Sides)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func rateOf(f *figures) figure { return figure(f.Rate) }

func cpuOf(f *figures) figure { return f.CPU }
