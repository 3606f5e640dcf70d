package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mockserver/config/item"
	"mockserver/config/policy"
	"mockserver/internal/list"
)

// statuses returns the statuses with which an endpoint may answer: the one of its first outcome,
// and then the others in ascending order.
func statuses(e *item.Endpoint) []int {
	all := list.Map(likely(e), func(o item.Outcome) int { return cmp.Or(o.Response.Status, 200) })
	for _, o := range likely(e) {
		for _, a := range (policy.Group{Latency: o.Latency}).Replies() {
			all = append(all, a.Status)
		}
	}
	slices.Sort(all[1:])
	return slices.Compact(all)
}

// likely returns the outcomes that a request may have, each with its latency and fault: either the
// single response, or each item of responses that can be chosen.
func likely(e *item.Endpoint) []item.Outcome {
	if len(e.Responses) == 0 {
		return []item.Outcome{{Response: e.Response, Group: e.Group}}
	}
	var all []item.Outcome
	inTurn := e.Select == item.SelectSequence || e.Select == item.SelectSequenceHold
	for _, o := range e.Responses {
		if !inTurn && o.EffectiveWeight() == 0 {
			continue
		}
		o.Group = o.Group.Over(e.Group)
		all = append(all, o)
	}
	return all
}

// leftOut describes which declarations of an endpoint were omitted when it was measured, and what
// else limits its requests/s; "" if there is nothing.
func leftOut(e *item.Endpoint) string {
	var what []string
	latency, fault := false, false
	for _, o := range likely(e) {
		latency, fault = latency || o.Latency != nil, fault || o.Fault != nil
	}
	if latency {
		what = append(what, "measured without waiting for its latency: with it, the number of connections limits requests/s")
	}
	if fault {
		what = append(what, "measured without its faults")
	}
	if all := statuses(e); len(all) > 1 {
		what = append(what, fmt.Sprintf("its statuses are %s: the figures cover all of them", strings.Trim(fmt.Sprint(all), "[]")))
	}
	if e.Capacity != nil {
		what = append(what, fmt.Sprintf("%d of its requests are served at once (capacity), the others wait", e.Capacity.Concurrent))
	}
	return strings.Join(what, "; ")
}
