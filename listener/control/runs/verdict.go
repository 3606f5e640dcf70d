package runs

import (
	"cmp"
	"slices"

	"mockserver/internal/statistics"
	"mockserver/listener/observe/verdict"
)

// Change is a time at which the verdict changed.
type Change struct {
	At      float64  `json:"at" doc:"second of the run"`
	Trusted bool     `json:"trusted" doc:"whether the timing could be trusted from then on"`
	Reasons []string `json:"reasons" doc:"codes of the reasons from then on"`
	Replica string   `json:"replica,omitempty" doc:"replica whose verdict it was, in a run of a fleet"`
}

// changesKept is the maximum number of changes that are kept for a run; later changes are dropped.
const changesKept = 200

// RunCause is a reason that held in a run, or an explanation.
type RunCause struct {
	Code      string  `json:"code" doc:"code of the reason"`
	Text      string  `json:"text" doc:"the reason in words, with the worst figure"`
	Number    float64 `json:"number" doc:"the worst figure"`
	Threshold float64 `json:"threshold" doc:"threshold that the figure exceeds"`
	Unit      string  `json:"unit" doc:"unit of number and threshold: ms, share (0 to 1), count or ratio"`
	Seconds   float64 `json:"seconds" doc:"how long it held"`
	Replica   string  `json:"replica,omitempty" doc:"address of the replica that it is about, in a run of a fleet"`
}

// RunVerdict states whether the timing of a run can be trusted. It is based on the figures of the
// whole run, so the weight of a bad second depends on the requests that it delayed.
type RunVerdict struct {
	Trusted   bool               `json:"trusted" doc:"whether the timing of the run as a whole can be trusted"`
	Idle      bool               `json:"idle" doc:"whether nothing was timed"`
	Text      string             `json:"text" doc:"the verdict in a sentence"`
	Late      *verdict.Late      `json:"late" doc:"share of the requests that were late; null if there were none"`
	Size      string             `json:"size" doc:"how much the server added to what is declared, in words; empty if no endpoint had a request"`
	Added     *statistics.Figure `json:"added" doc:"the same in milliseconds; null if no endpoint had a request"`
	Untrusted float64            `json:"untrusted_seconds" doc:"how many seconds were not trusted"`
	Judged    float64            `json:"judged_seconds" doc:"how many seconds were judged"`
	Decisive  []string           `json:"decisive" doc:"codes of the reasons for which the run as a whole cannot be trusted"`
	Reasons   []RunCause         `json:"reasons" doc:"reasons that held at any time, the longest first"`
	// Explanations are not reasons by themselves.
	Explanations []RunCause `json:"explanations" doc:"possible causes of a reason, while there was one, the longest first"`
	Changes      []Change   `json:"changes" doc:"when the verdict changed, the first 200 times"`
	Unknown      []string   `json:"unknown" doc:"codes of reasons for which the system gives no figure"`
}

const nothingTimed = "Nothing was timed in this run: there was no request, no message and no webhook."

// hold adds seconds during which a reason held, and keeps the worst figure of the reason.
func hold(held map[string]*RunCause, reason verdict.Reason, seconds float64) {
	c := held[reason.Code]
	if c == nil {
		c = &RunCause{Code: reason.Code, Unit: reason.Unit, Number: -1}
		held[reason.Code] = c
	}
	c.Seconds += seconds
	if reason.Number > c.Number {
		c.Text, c.Number, c.Threshold = reason.Text, reason.Number, reason.Threshold
	}
}

// causes lists the causes, the longest first.
func causes(held map[string]*RunCause) []RunCause {
	all := make([]RunCause, 0, len(held))
	for _, c := range held {
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b RunCause) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Code, b.Code))
	})
	return all
}
