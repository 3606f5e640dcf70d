package runs

import (
	"time"

	"mockserver/internal/histogram"
	"mockserver/listener/observe/record"
	"mockserver/listener/observe/verdict"
)

// Totals contains the counts of a run so far, in a form in which the totals of several replicas
// can be added up exactly. Distributions are in the raw form of package histogram, encoded in
// Base64 in JSON.
type Totals struct {
	ID      string      `json:"id" doc:"ID of the run"`
	Name    string      `json:"name" doc:"name of the run"`
	Running bool        `json:"running" doc:"whether the run is under way"`
	Begin   time.Time   `json:"begin" doc:"when it began, by the clock of this replica"`
	End     *time.Time  `json:"end" doc:"when it ended; null while it runs"`
	Final   bool        `json:"final" doc:"whether its numbers no longer change: its webhooks have ended, or have had time to"`
	Fleet   *Membership `json:"fleet,omitempty" doc:"the run of the fleet that it is part of; missing for others"`

	Verdict       RunVerdict       `json:"verdict" doc:"whether the timing of this replica can be trusted"`
	Program       Program          `json:"program" doc:"program that runs"`
	Machine       Machine          `json:"machine" doc:"machine that the program runs on"`
	Configuration Configuration    `json:"configuration" doc:"configuration that is served"`
	Sample        verdict.Sample   `json:"sample" doc:"the run as one sample"`
	Dependences   Dependences      `json:"dependences,omitempty" doc:"figures that depend on each other over time, by name"`
	Arrivals      ArrivalTotals    `json:"arrivals" doc:"how requests arrived"`
	Endpoints     []EndpointTotals `json:"endpoints" doc:"endpoints that had requests, the busiest first"`

	verdict.Times[histogram.Snapshot]

	Timeline       []Point            `json:"timeline" doc:"the run over time, after the second given in the query"`
	Unmatched      []UnmatchedReport  `json:"unmatched" doc:"requests that no endpoint answered, the most frequent first, at most 100 kinds"`
	OtherUnmatched int                `json:"other_unmatched" doc:"how many more kinds there were"`
	State          []record.SetCounts `json:"state" doc:"the sets of rows, by name"`
}

// EndpointTotals contains the counts of one endpoint in a run.
type EndpointTotals struct {
	record.EndpointCounts
	Declared *Declared `json:"declared,omitempty" doc:"percentiles of the declared latencies; missing if there are none"`
	// DeclaredFirst and DeclaredGap are of its streams.
	DeclaredFirst *Declared   `json:"declared_first,omitempty" doc:"percentiles of the declared times to the first item of a stream"`
	DeclaredGap   *Declared   `json:"declared_gap,omitempty" doc:"percentiles of the declared gaps of its streams"`
	Declaration   string      `json:"declaration,omitempty" doc:"hash of the declaration at the end of the run; missing while it runs"`
	Dependences   Dependences `json:"dependences,omitempty" doc:"figures that depend on each other over time, by name"`
}
