package fleet

import (
	"fmt"
	"time"

	"mockserver/internal/list"
)

// Overview is the state of a fleet.
type Overview struct {
	Agreed      bool     `json:"agreed" doc:"whether all replicas answer, are ready and serve the same configuration, and there are as many as expected"`
	Why         []string `json:"why" doc:"why they do not agree"`
	Fingerprint string   `json:"fingerprint" doc:"fingerprint of the configuration; empty if they do not agree on it"`
	Expected    int      `json:"expected" doc:"how many replicas are expected; 0 for as many as there are"`
	Replicas    []Member `json:"replicas" doc:"the replicas, by address"`
}

// Member is a replica as seen by the one that was asked.
type Member struct {
	Address string `json:"address" doc:"address of its admin API"`
	Self    bool   `json:"self,omitempty" doc:"whether it is the replica that was asked"`
	Silent  string `json:"silent,omitempty" doc:"why it did not answer; if set, the other fields are empty"`
	Replica
}

// Replica is what a replica reports about itself.
type Replica struct {
	Instance    string    `json:"instance" doc:"ID of the process; it changes with each restart"`
	Version     string    `json:"version" doc:"version of the program"`
	CPUs        int       `json:"cpus" doc:"CPUs that the process may run on"`
	CPULimit    float64   `json:"cpu_limit" doc:"cores that the process may use"`
	Fingerprint string    `json:"fingerprint" doc:"fingerprint of the configuration that is served; empty while it is being read"`
	Ready       bool      `json:"ready" doc:"whether it accepts requests"`
	Why         string    `json:"why,omitempty" doc:"why it does not accept requests"`
	Trusted     bool      `json:"trusted" doc:"whether the timing of its last seconds can be trusted"`
	Reasons     []string  `json:"reasons" doc:"codes of the reasons why the timing cannot be trusted"`
	Since       time.Time `json:"since" doc:"when it was started"`
	Run         string    `json:"run,omitempty" doc:"ID of the run that is under way"`
	// LastChange numbers the changes of the specification on all replicas.
	LastChange uint64 `json:"last_change" doc:"number of the last change by PUT /__admin/fleet/spec that it accepted; 0 for none"`
	InForce    bool   `json:"in_force" doc:"whether it serves that change"`
}

// agree determines whether the replicas agree.
func (s *Overview) agree() {
	add := func(format string, args ...any) { s.Why = append(s.Why, fmt.Sprintf(format, args...)) }
	var first *Member
	same := true
	for i := range s.Replicas {
		m := &s.Replicas[i]
		switch {
		case m.Silent != "":
			add("%s does not answer: %s", m.Address, m.Silent)
			continue
		case !m.Ready:
			add("%s is not ready: %s", m.Address, m.Why)
		}
		if first == nil {
			first = m
		}
		if m.Fingerprint != first.Fingerprint {
			same = false
			add("%s serves a different configuration from %s", m.Address, first.Address)
		}
	}
	switch n := len(s.Replicas); {
	case n == 0:
		add("no replica was found")
	case s.Expected > 0 && n != s.Expected:
		add("the number of replicas is %d; expected %d", n, s.Expected)
	}
	if first != nil && same {
		s.Fingerprint = first.Fingerprint
	}
	s.Agreed = len(s.Why) == 0
}

// Addresses returns the addresses of all replicas, including those that did not answer.
func (s *Overview) Addresses() []string {
	return list.Map(s.Replicas, func(m Member) string { return m.Address })
}
