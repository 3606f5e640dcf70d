package verdict

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"mockserver/internal/list"
	"mockserver/internal/statistics"
)

// Verdict states whether the timing during a period can be trusted: whether a client measured what
// was declared, and not delays of the server or its machine.
type Verdict struct {
	Trusted bool   `json:"trusted" doc:"whether the timing can be trusted"`
	Idle    bool   `json:"idle" doc:"whether nothing was timed: there was no request, no message and no webhook"`
	Late    *Late  `json:"late" doc:"share of the requests that were late; null if there were none"`
	Size    string `json:"size" doc:"how much the server added to what is declared, in words; empty if no endpoint had a request"`
	// Added is the figure in Size, which states the upper end of its interval.
	Added   *statistics.Figure `json:"added" doc:"the same in milliseconds; null if no endpoint had a request"`
	Since   time.Time          `json:"since" doc:"when it began to hold"`
	Reasons []Reason           `json:"reasons" doc:"why the timing cannot be trusted: one for each figure above its threshold that a client can feel"`
	// Explanations are not reasons by themselves.
	Explanations []Reason `json:"explanations" doc:"possible causes of a reason, one for each figure above its threshold"`
	Unknown      []string `json:"unknown" doc:"codes of reasons and explanations for which the system gives no figure"`
	Seconds      float64  `json:"seconds" doc:"seconds that were judged; an endpoint with few requests is judged over up to ten"`
}

// Reason is a reason why the timing cannot be trusted, or an explanation of such a reason.
type Reason struct {
	Code      string    `json:"code" doc:"code of the reason, stable; docs/operations.md says what to do"`
	Text      string    `json:"text" doc:"the reason in words"`
	Number    float64   `json:"number" doc:"the figure"`
	Threshold float64   `json:"threshold" doc:"threshold that the figure exceeds"`
	Unit      string    `json:"unit" doc:"unit of number and threshold: ms, share (0 to 1) or count"`
	Since     time.Time `json:"since" doc:"when it began to hold"`
}

// Codes returns the codes of the reasons.
func (v *Verdict) Codes() []string {
	return list.Map(v.Reasons, func(r Reason) string { return r.Code })
}

// Over reports whether a reason that counts something holds for the sample alone.
func (s *Sample) Over(r *Reason) bool {
	i := slices.IndexFunc(checks, func(c check) bool { return c.code == r.Code })
	figure := checks[i].figure(s)
	return figure != nil && *figure > r.Threshold
}

// judge returns the verdict on a sample alone: every Since is the beginning of the sample. The size is
// that of the sample sized, which is longer if s has too few figures of the probe, or nil for no size.
func judge(s, sized *Sample, thresholds Thresholds) Verdict {
	begun := s.Time.Add(-time.Duration(s.Seconds * float64(time.Second)))
	v := Verdict{Idle: s.Idle(), Since: begun, Reasons: []Reason{}, Explanations: []Reason{}, Unknown: []string{}, Seconds: s.Seconds}
	blamed, alone := 0.0, false
	for i := range checks {
		c := &checks[i]
		limit, set := thresholds.of(c)
		if math.IsInf(limit, 1) || c.together {
			continue
		}
		r, known := c.reason(s, limit, begun)
		switch {
		case !known:
			v.Unknown = append(v.Unknown, c.code)
		case r != nil && c.explains && (c.generator || !set && c.isMeasured(s)):
			v.Explanations = append(v.Explanations, *r)
		case r != nil:
			v.Reasons = append(v.Reasons, *r)
			alone = alone || c.each != nil && !c.items || c.probed != nil
			if c.probed != nil {
				blamed = max(blamed, r.Number, c.longest(s))
			}
		}
	}
	v.judgeTogether(s, thresholds, alone)
	if sized != nil {
		v.Size, v.Added = sized.size(blamed)
	}
	v.Trusted = len(v.Reasons) == 0
	return v
}

// isMeasured reports whether a probe measured the effect of what a check finds, if it has one.
func (c *check) isMeasured(s *Sample) bool {
	if c.effect == nil {
		return true
	}
	l, _ := c.effect(s)
	return l.Count > 0
}

// longest returns a bound of the times that a probe has too few figures to bound by a percentile, in
// milliseconds; 0 if it has enough. If only connections were delayed, the delay may have begun right
// after an echo that was on time.
func (c *check) longest(s *Sample) float64 {
	l, _ := c.probed(s)
	if l.Count >= 100 {
		return 0
	}
	most := Milliseconds(l.Max)
	if l.Max > 2*s.times.Probe.Max {
		most += min(most, 1000*s.Seconds/float64(l.Count))
	}
	return most
}

// judgeTogether adds the reason that several parts of requests are late together, unless one of them is
// a reason alone.
func (v *Verdict) judgeTogether(s *Sample, thresholds Thresholds, alone bool) {
	c := checks[slices.IndexFunc(checks, func(c check) bool { return c.together })]
	most, _ := thresholds.of(&c)
	late, certain := s.lateness(thresholds, most)
	if v.Late = late; !certain || alone {
		return
	}
	c.what += " (" + strings.ReplaceAll(late.text(), "%", "%%") + ")"
	v.Reasons = append(v.Reasons, Reason{
		Code: c.code, Text: c.text(late.Endpoint, late.Share, most), Number: late.Share, Threshold: most, Unit: c.unit.name, Since: v.Since,
	})
}

// reason returns the reason that a check finds in a sample, or nil if the figure is not above the
// limit or is unknown.
func (c *check) reason(s *Sample, limit float64, since time.Time) (r *Reason, known bool) {
	figure, of, limit := c.look(s, limit)
	if figure == nil {
		return nil, false
	}
	if *figure > limit {
		r = &Reason{Code: c.code, Text: c.text(of, *figure, limit), Number: *figure, Threshold: limit, Unit: c.unit.name, Since: since}
		if c.say != nil {
			r.Text = c.say(s)
		}
	}
	return r, true
}

// judgeSeldom returns the reasons found in the timing of endpoints with few requests.
func judgeSeldom(s *Sample, thresholds Thresholds) []Reason {
	return slices.DeleteFunc(judge(s, nil, thresholds).Reasons, func(r Reason) bool {
		return !slices.ContainsFunc(checks, func(c check) bool { return c.code == r.Code && (c.each != nil || c.together) })
	})
}

// holdSeconds is how long a reason remains in effect after it was last found, so that a figure
// near its threshold does not change the verdict every second.
const holdSeconds = 8

// held contains the reasons of the last verdicts. Each remains in effect for a while after it was
// last found.
type held struct {
	reasons, explanations []heldReason
	trusted               bool
	since                 time.Time
}

// heldReason is a reason in effect. The field found contains its findings, the oldest first.
type heldReason struct {
	since time.Time
	found []foundReason
}

type foundReason struct {
	Reason
	at time.Time
}

// add returns a verdict with the reasons of v, those that are still in effect from earlier
// verdicts, and those in seldom, which are in effect only for this verdict. A reason keeps the time
// when it took effect, and has the worst figure that was found shortly before.
func (h *held) add(v Verdict, seldom []Reason, now time.Time) Verdict {
	h.reasons = hold(h.reasons, v.Reasons, seldom, now)
	h.explanations = hold(h.explanations, v.Explanations, nil, now)
	v.Reasons, v.Explanations = worst(h.reasons), worst(h.explanations)
	v.Trusted = len(v.Reasons) == 0
	if v.Trusted != h.trusted || h.since.IsZero() {
		h.trusted, h.since = v.Trusted, now
	}
	v.Since = h.since
	return v
}

// hold adds the reasons that were found now to those in effect, in the order of the checks. Reasons
// found for endpoints with few requests are not held, since these endpoints are judged over a
// longer period.
func hold(before []heldReason, found, seldom []Reason, now time.Time) []heldReason {
	var all []heldReason
	for i := range checks {
		of := func(r Reason) bool { return r.Code == checks[i].code }
		one := heldReason{since: now}
		if k := slices.IndexFunc(before, func(h heldReason) bool { return of(h.found[0].Reason) }); k >= 0 {
			one.since = before[k].since
			one.found = slices.DeleteFunc(before[k].found, func(f foundReason) bool { return now.Sub(f.at) >= holdSeconds*Every })
		}
		if k := slices.IndexFunc(found, of); k >= 0 {
			one.found = append(one.found, foundReason{found[k], now})
		} else if k := slices.IndexFunc(seldom, of); k >= 0 && len(one.found) == 0 {
			one.found = []foundReason{{seldom[k], now.Add(-holdSeconds * Every)}}
		}
		if len(one.found) > 0 {
			all = append(all, one)
		}
	}
	return all
}

// worst returns the worst finding of each reason.
func worst(all []heldReason) []Reason {
	return list.Map(all, func(h heldReason) Reason {
		r := slices.MaxFunc(h.found, func(a, b foundReason) int { return cmp.Compare(a.Number, b.Number) }).Reason
		r.Since = h.since
		return r
	})
}
