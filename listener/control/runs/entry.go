package runs

import "time"

// RunEntry is the entry of a run in the list of runs.
type RunEntry struct {
	ID       string      `json:"id" doc:"ID of the run"`
	Name     string      `json:"name" doc:"name as given, or the number of the run"`
	Running  bool        `json:"running" doc:"whether it is still running"`
	Begin    time.Time   `json:"begin" doc:"when it began"`
	End      *time.Time  `json:"end" doc:"when it ended; null while it runs"`
	Seconds  float64     `json:"seconds" doc:"length of the run"`
	Requests uint64      `json:"requests" doc:"requests in the run"`
	Rate     float64     `json:"rate" doc:"requests a second"`
	Verdict  *RunVerdict `json:"verdict,omitempty" doc:"verdict on the run; missing while it runs"`
	Fleet    *Membership `json:"fleet,omitempty" doc:"the run of the fleet that it is part of; missing for others"`
}

// Membership identifies the run of a fleet that a run is part of.
type Membership struct {
	Coordinator string   `json:"coordinator" doc:"address of the replica that reads the totals of all; empty for the command run"`
	Replicas    []string `json:"replicas" doc:"addresses of all replicas that take part"`
}
