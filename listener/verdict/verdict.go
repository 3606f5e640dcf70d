package verdict

import (
	"math"
	"time"
)

// Verdict says whether the timing during some time can be trusted: whether a client
// measured what was declared, and not delays of the server or its machine.
type Verdict struct {
	Trusted bool      `json:"trusted" doc:"the timing can be trusted"`
	Idle    bool      `json:"idle" doc:"nothing was timed, so nothing is wrong with it"`
	Since   time.Time `json:"since" doc:"when it began to hold"`
	Reasons []Reason  `json:"reasons" doc:"why not, one for each figure above its threshold"`
	Unknown []string  `json:"unknown" doc:"codes of reasons that the system gives no figure for"`
	Seconds float64   `json:"seconds" doc:"that were looked at"`
}

// Reason is why the timing cannot be trusted.
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
	v := Verdict{Idle: s.Idle(), Since: begun, Reasons: []Reason{}, Unknown: []string{}, Seconds: s.Seconds}
	for i := range checks {
		c := &checks[i]
		limit := thresholds.of(c)
		if math.IsInf(limit, 1) {
			continue
		}
		if c.least != nil {
			limit = max(limit, c.least(s))
		}
		figure := c.figure(s)
		switch {
		case figure == nil:
			v.Unknown = append(v.Unknown, c.code)
		case *figure > limit && !v.Idle:
			v.Reasons = append(v.Reasons, Reason{
				Code: c.code, Text: c.text(*figure, limit), Number: *figure, Threshold: limit, Unit: c.unit.name, Since: begun,
			})
		}
	}
	v.Trusted = len(v.Reasons) == 0
	return v
}

// after returns v as the verdict that follows another: what held before keeps its Since,
// and what is new holds since now.
func (v Verdict) after(before Verdict, now time.Time) Verdict {
	since := map[string]time.Time{}
	for _, r := range before.Reasons {
		since[r.Code] = r.Since
	}
	for i := range v.Reasons {
		r := &v.Reasons[i]
		r.Since = now
		if at, ok := since[r.Code]; ok {
			r.Since = at
		}
	}
	v.Since = now
	if v.Trusted == before.Trusted {
		v.Since = before.Since
	}
	return v
}
