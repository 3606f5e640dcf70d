package runs

import "time"

// RunEntry is the entry of a run in the list of runs.
type RunEntry struct {
	ID       string      `json:"id" doc:"of the run"`
	Name     string      `json:"name" doc:"as given, or its number"`
	Running  bool        `json:"running" doc:"it has not ended"`
	Begin    time.Time   `json:"begin" doc:"when it began"`
	End      *time.Time  `json:"end" doc:"when it ended; null while it runs"`
	Seconds  float64     `json:"seconds" doc:"its length"`
	Requests uint64      `json:"requests" doc:"in it"`
	Rate     float64     `json:"rate" doc:"requests a second"`
	Verdict  *RunVerdict `json:"verdict,omitempty" doc:"on the run; missing while it runs"`
	Fleet    *Membership `json:"fleet,omitempty" doc:"the fleet's run that it is a part of; missing for others"`
}

// Membership says which run of a fleet a run is a part of.
type Membership struct {
	Coordinator string   `json:"coordinator" doc:"address of the replica that reads the totals of all; empty for the command fleet run"`
	Replicas    []string `json:"replicas" doc:"addresses of all replicas that take part"`
}
