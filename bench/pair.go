package bench

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

// pair is one round: the figures of the baseline and of the candidate.
type pair struct {
	Ratio     figure              `json:"ratio"` // see ratio
	Baseline  figures             `json:"baseline"`
	Candidate figures             `json:"candidate"`
	Rivals    map[string]*figures `json:"rivals"`          // by their names
	Quiet     *figures            `json:"candidate_quiet"` // the candidate without the activity; nil if the subject has none
	Alone     *figures            `json:"candidate_alone"` // the candidate alone, if the other figures are of all sides at once; otherwise nil
}

// ratio returns the cost of a request compared with the baseline in the same round: in processor
// time, or in the time per request if the processor time is unknown.
func (p *pair) ratio() figure {
	if r := p.Candidate.CPU / p.Baseline.CPU; r.isKnown() {
		return r
	}
	if p.Candidate.Rate > 0 && !p.Candidate.CPU.isKnown() {
		return figure(p.Baseline.Rate / p.Candidate.Rate)
	}
	return unknown
}

// sideOf selects a side of a round; nil if the round does not have it.
type sideOf func(p *pair) *figures

func candidateOf(p *pair) *figures { return &p.Candidate }

func baselineOf(p *pair) *figures { return &p.Baseline }

func quietOf(p *pair) *figures { return p.Quiet }

func aloneOf(p *pair) *figures { return p.Alone }

// loadedOf selects the candidate when it has all processors of the servers to itself.
func loadedOf(p *pair) *figures {
	if p.Alone != nil {
		return p.Alone
	}
	return &p.Candidate
}

// rivalOf selects a rival.
func rivalOf(name string) sideOf { return func(p *pair) *figures { return p.Rivals[name] } }

// Names of the sides that bench provides.
const (
	nameOfBaseline  = "bare"
	nameOfCandidate = "server"
)

func rateOf(f *figures) figure { return figure(f.Rate) }

func cpuOf(f *figures) figure { return f.CPU }

// namedSide is a side of a round with its name in tables.
type namedSide struct {
	name string
	of   sideOf
}

// bothSides contains the sides of every round. It must not be changed.
var bothSides = []namedSide{{nameOfBaseline, baselineOf}, {nameOfCandidate, candidateOf}}
