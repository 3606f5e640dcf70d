package verdict

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Verdict says whether the timing during some time can be trusted: whether a client
// measured what was declared, and not delays of the server or its machine.
type Verdict struct {
	Trusted bool      `json:"trusted" doc:"the timing can be trusted"`
	Idle    bool      `json:"idle" doc:"nothing was timed: there was neither a request nor a webhook"`
	Size    string    `json:"size" doc:"how much the server added to what is declared, in words; empty if no endpoint had a request"`
	Since   time.Time `json:"since" doc:"when it began to hold"`
	Reasons []Reason  `json:"reasons" doc:"why not, one for each figure above its threshold: what a client can feel"`
	// Explanations are no reasons of their own.
	Explanations []Reason `json:"explanations" doc:"what may be the cause of a reason, one for each figure above its threshold"`
	Unknown      []string `json:"unknown" doc:"codes of reasons and explanations that the system gives no figure for"`
	Seconds      float64  `json:"seconds" doc:"that were looked at"`
}

// Reason is why the timing cannot be trusted, or what explains that.
type Reason struct {
	Code      string    `json:"code" doc:"of the reason, stable; docs/operations.md says what to do"`
	Text      string    `json:"text" doc:"in words"`
	Number    float64   `json:"number" doc:"the figure"`
	Threshold float64   `json:"threshold" doc:"that the figure is above"`
	Unit      string    `json:"unit" doc:"of both: ms, share (0 to 1) or count"`
	Since     time.Time `json:"since" doc:"when it began to hold"`
}

// judge returns the verdict on a sample alone: every Since is its beginning.
func judge(s *Sample, thresholds Thresholds) Verdict {
	begun := s.Time.Add(-time.Duration(s.Seconds * float64(time.Second)))
	v := Verdict{
		Idle: s.Idle(), Size: s.size(), Since: begun, Reasons: []Reason{}, Explanations: []Reason{}, Unknown: []string{}, Seconds: s.Seconds,
	}
	for i := range checks {
		c := &checks[i]
		limit, set := thresholds.of(c)
		if math.IsInf(limit, 1) {
			continue
		}
		figure, of, limit := c.look(s, limit)
		switch {
		case figure == nil:
			v.Unknown = append(v.Unknown, c.code)
		case *figure > limit:
			r := Reason{Code: c.code, Text: c.text(of, *figure, limit), Number: *figure, Threshold: limit, Unit: c.unit.name, Since: begun}
			if c.explains && !set {
				v.Explanations = append(v.Explanations, r)
			} else {
				v.Reasons = append(v.Reasons, r)
			}
		}
	}
	v.Trusted = len(v.Reasons) == 0
	return v
}

// held is the reasons of the last verdicts, each of which holds for a while after it was
// found for the last time.
type held struct {
	reasons, explanations []heldReason
	trusted               bool
	since                 time.Time
}

type heldReason struct {
	Reason
	last time.Time // when it was found for the last time
}

// add returns a verdict with the reasons that were found shortly before it. A reason keeps
// when it began to hold, and its worst figure.
func (h *held) add(v Verdict, now time.Time) Verdict {
	h.reasons = hold(h.reasons, v.Reasons, now)
	h.explanations = hold(h.explanations, v.Explanations, now)
	v.Reasons, v.Explanations = texts(h.reasons), texts(h.explanations)
	v.Trusted = len(v.Reasons) == 0
	if v.Trusted != h.trusted || h.since.IsZero() {
		h.trusted, h.since = v.Trusted, now
	}
	v.Since = h.since
	return v
}

// hold adds the reasons that were found now to those that hold, in the order of the checks.
func hold(before []heldReason, found []Reason, now time.Time) []heldReason {
	var all []heldReason
	for i := range checks {
		code := checks[i].code
		old := slices.IndexFunc(before, func(r heldReason) bool { return r.Code == code && now.Sub(r.last) < holdSeconds*Every })
		if k := slices.IndexFunc(found, func(r Reason) bool { return r.Code == code }); k >= 0 {
			r := heldReason{found[k], now}
			r.Since = now
			if old >= 0 {
				r.Since = before[old].Since
				if before[old].Number > r.Number {
					r.Reason = before[old].Reason
				}
			}
			all = append(all, r)
		} else if old >= 0 {
			all = append(all, before[old])
		}
	}
	return all
}

func texts(all []heldReason) []Reason {
	reasons := make([]Reason, len(all))
	for i := range all {
		reasons[i] = all[i].Reason
	}
	return reasons
}

// size says how much the server added to the responses of the endpoint to which it added
// most. It is empty if there was no request.
func (s *Sample) size() string {
	var worst *timing
	for i := range s.timings {
		t := &s.timings[i]
		if t.name == "" || t.added.Count == 0 {
			continue
		}
		if worst == nil || t.added.Quantile(0.99) > worst.added.Quantile(0.99) {
			worst = t
		}
	}
	if worst == nil {
		return ""
	}
	added := worst.added.Quantile(0.99) + time.Duration(s.Probe.P99*float64(time.Millisecond))
	text := fmt.Sprintf("The server added at most %s ms to 99 of 100 responses of %s", Short(Milliseconds(added)), worst.name)
	if total := worst.total.Quantile(0.99); total > added {
		text += fmt.Sprintf(", %s %% of their 99th percentile", Short(100*float64(added)/float64(total)))
	}
	return text + "."
}
