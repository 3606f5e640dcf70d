package admin

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"mockserver/internal/list"
	"mockserver/internal/wording"
	"mockserver/listener/control/fleet"
	"mockserver/listener/observe/record"
)

// everywhere sends a question to all replicas.
func (a *Admin) everywhere(r *http.Request, q fleet.Question) []fleet.Reply {
	state := a.fleet.Look(r.Context())
	return a.fleet.Ask(r.Context(), state.Addresses(), q)
}

// refusedBy answers with the first refusal for which the client is to blame, and reports whether
// there was one.
func refusedBy(w http.ResponseWriter, replies []fleet.Reply) bool {
	for i := range replies {
		if status := replies[i].Status; status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge {
			respond(w, status, failureIn(&replies[i]))
			return true
		}
	}
	return false
}

// fleetExchange is a request in the journal of a replica.
type fleetExchange struct {
	Replica string `json:"replica" doc:"address of the replica that answered it"`
	shownExchange
}

// fleetExchanges is the result of a search of all journals.
type fleetExchanges struct {
	journalFigures
	Requests []fleetExchange `json:"requests" doc:"the matching requests, the newest first, up to the limit"`
	Silent   []fleet.Silent  `json:"silent" doc:"replicas that did not answer, which may know more"`
}

// findEverywhere searches the journals of all replicas.
func (a *Admin) findEverywhere(w http.ResponseWriter, r *http.Request) {
	q := queryOf(r)
	s := searchOf(q)
	if q.refused(w) {
		return
	}
	all := fleetExchanges{journalFigures{Seen: map[record.Kept]uint64{}, Dropped: map[record.Kept]uint64{}}, []fleetExchange{}, nil}
	replies := a.everywhere(r, fleet.Question{Method: http.MethodGet, Path: "/__admin/journal?" + r.URL.RawQuery})
	if refusedBy(w, replies) {
		return
	}
	all.Silent = fleet.Decode(replies, func(address string, found foundExchanges) {
		all.Found += found.Found
		all.Bytes += found.Bytes
		for kept, n := range found.Seen {
			all.Seen[kept] += n
		}
		for kept, n := range found.Dropped {
			all.Dropped[kept] += n
		}
		for _, x := range found.Requests {
			all.Requests = append(all.Requests, fleetExchange{address, x})
		}
	})
	slices.SortStableFunc(all.Requests, func(a, b fleetExchange) int { return b.Time.Compare(a.Time) })
	all.Requests = all.Requests[:min(len(all.Requests), s.limit)]
	respond(w, http.StatusOK, all)
}

// fleetReset is the response to a request that resets something on all replicas.
type fleetReset struct {
	Status string         `json:"status" doc:"the state now: reset"`
	Silent []fleet.Silent `json:"silent" doc:"replicas that did not answer, which may not have been reset"`
}

// resetEverywhere deletes all requests from the journals of all replicas.
func (a *Admin) resetEverywhere(w http.ResponseWriter, r *http.Request) {
	replies := a.everywhere(r, fleet.Question{Method: http.MethodDelete, Path: "/__admin/journal"})
	respond(w, http.StatusOK, fleetReset{"reset", fleet.Decode(replies, func(string, state) {})})
}

// fleetMisses contains the requests that no endpoint of any replica answered.
type fleetMisses struct {
	Unmatched []record.Miss  `json:"unmatched" doc:"unmatched requests, the latest first; counts are over all replicas"`
	Silent    []fleet.Silent `json:"silent" doc:"replicas that did not answer, which may know more"`
}

// showUnmatchedEverywhere returns the requests that no endpoint of any replica answered.
func (a *Admin) showUnmatchedEverywhere(w http.ResponseWriter, r *http.Request) {
	var all fleetMisses
	all.Silent = fleet.Decode(a.everywhere(r, fleet.Question{Method: http.MethodGet, Path: "/__admin/unmatched"}), func(_ string, found shownMisses) {
		all.Unmatched = append(all.Unmatched, found.Unmatched...)
	})
	all.Unmatched = list.Merge(all.Unmatched, func(m *record.Miss) [3]string { return [...]string{m.Method, m.Host, m.Path} }, func(one, m *record.Miss) {
		one.Count += m.Count
		if m.First.Before(one.First) {
			one.First = m.First
		}
		if m.Last.After(one.Last) {
			one.Last, one.Status, one.Code, one.Reason, one.Nearest = m.Last, m.Status, m.Code, m.Reason, m.Nearest
		}
	})
	slices.SortStableFunc(all.Unmatched, func(a, b record.Miss) int { return b.Last.Compare(a.Last) })
	respond(w, http.StatusOK, all)
}

// fleetCount is the result of a verification over all replicas.
type fleetCount struct {
	counted
	Examples []fleetExchange `json:"examples,omitempty" doc:"some of the requests that were counted, if the count is not as expected"`
	Silent   []fleet.Silent  `json:"silent" doc:"replicas that did not answer; while there are any, no count with an upper bound is as expected"`
}

// verifyEverywhere reports whether the expected number of requests was received by all replicas.
func (a *Admin) verifyEverywhere(w http.ResponseWriter, r *http.Request) {
	v, least, most, ok := readVerification(w, r)
	if !ok {
		return
	}
	// With an upper bound of 0, every replica that has matching requests shows examples.
	body, _ := json.Marshal(verification{Condition: v.Condition, AtMost: new(0), Exact: new(false)}) // it can be encoded
	replies := a.everywhere(r, fleet.Question{Method: http.MethodPost, Path: "/__admin/verify", Media: "application/json", Body: body})
	if refusedBy(w, replies) {
		return
	}
	out := fleetCount{counted: counted{Exact: true}}
	for i := range replies {
		if replies[i].Status == http.StatusUnprocessableEntity {
			replies[i].Err = nil // the refused expectation only means that there were such requests
		}
	}
	out.Silent = fleet.Decode(replies, func(address string, one verdictOnCount) {
		out.Count += one.Count
		if !one.Exact {
			out.Exact, out.Why = false, address+": "+one.Why
		}
		for _, x := range one.Examples {
			out.Examples = append(out.Examples, fleetExchange{address, x})
		}
	})
	status := out.judgeAll(least, most, v.accepts())
	if out.OK {
		out.Examples = nil
	}
	slices.SortStableFunc(out.Examples, func(a, b fleetExchange) int { return b.Time.Compare(a.Time) })
	out.Examples = out.Examples[:min(len(out.Examples), examplesShown)]
	respond(w, status, out)
}

// examplesShown is the maximum number of examples that are shown, over all replicas.
const examplesShown = 10

// judgeAll is like judge. Replicas that did not answer may have had any number of requests, so only a
// lower bound can be met without them.
func (c *fleetCount) judgeAll(least, most int, accepted bool) (status int) {
	if len(c.Silent) == 0 {
		return c.judge(least, most, accepted)
	}
	names := list.Map(c.Silent, func(s fleet.Silent) string { return s.Address })
	c.Exact, c.Why = false, wording.Count(len(names), "replica")+" did not answer: "+strings.Join(names, ", ")
	if status = c.judge(least, most, false); c.Count < least {
		c.Why += "; it may have had the rest"
	}
	return status
}
