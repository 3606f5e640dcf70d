package listener

import (
	"fmt"
	"sort"

	"mockserver/config"
	"mockserver/config/syntax"
	"mockserver/listener/reply"
	"mockserver/listener/traffic"
	"mockserver/matcher"
	"mockserver/renderer"
)

// outcome is one of the ways that a request to an endpoint may go.
type outcome struct {
	answer  answer
	latency *traffic.Latency
	fault   *fault
	// What some requests are answered that the latency has fail, or time out; nil
	// without one.
	failing, timedOut *reply.Preset
}

// instead is what a request is answered in place of the answer; nil for nothing.
func (o *outcome) instead(w traffic.Wait) *reply.Preset {
	switch w.Instead {
	case &reply.InjectedFailure:
		return o.failing
	case &reply.InjectedTimeout:
		return o.timedOut
	}
	return nil
}

// preset makes what is answered in place of the answer.
func (o *outcome) preset() {
	if o.latency == nil {
		return
	}
	message := "the latency of " + o.answer.name + " declares that some requests fail so"
	o.failing, o.timedOut = reply.InjectedFailure.Preset(message), reply.InjectedTimeout.Preset(message)
}

// selection is how one of several outcomes is chosen.
type selection struct {
	// shares are the weights of the outcomes, each with those before it, as parts of
	// all; nil when they come in turn.
	shares []float64
	holds  bool // in turn, the last one stays
}

// outcomes compiles what may come of a request: the declared outcomes, or the one
// answer of the endpoint. What one leaves out is the endpoint's.
func (c *compiler) outcomes(e *config.Endpoint, a answer, scope *renderer.Scope) ([]outcome, syntax.Problems) {
	usual := outcome{answer: a, latency: traffic.NewLatency(e.Latency), fault: newFault(e.Fault)}
	if len(e.Responses) == 0 {
		usual.preset()
		return []outcome{usual}, nil
	}
	var problems syntax.Problems
	outcomes := make([]outcome, len(e.Responses))
	for i := range e.Responses {
		declared := &e.Responses[i]
		o := usual
		single := *e
		single.Response = declared.Response
		var wrong syntax.Problems
		o.answer, wrong = c.answer(&single, scope)
		problems = append(problems, wrong...)
		o.answer.name = fmt.Sprintf("%s responses[%d]", a.name, i)
		o.answer.hooks = a.hooks
		if declared.Webhooks != nil {
			single.Webhooks = declared.Webhooks
			o.answer.hooks, wrong = c.hooks(&single, o.answer.name, scope)
			problems = append(problems, wrong...)
		}
		if declared.Latency != nil {
			o.latency = traffic.NewLatency(declared.Latency)
		}
		if declared.Fault != nil {
			o.fault = newFault(declared.Fault)
		}
		o.preset()
		outcomes[i] = o
	}
	return outcomes, problems
}

// newSelection compiles how the outcomes of an endpoint are chosen.
func newSelection(e *config.Endpoint) selection {
	switch e.Select {
	case config.SelectSequence:
		return selection{}
	case config.SelectSequenceHold:
		return selection{holds: true}
	}
	shares := make([]float64, len(e.Responses))
	sum := 0.0
	for i := range e.Responses {
		sum += weight(&e.Responses[i])
		shares[i] = sum
	}
	for i := range shares {
		shares[i] /= sum
	}
	return selection{shares: shares}
}

func weight(o *config.Outcome) float64 {
	if o.Weighted {
		return o.Weight
	}
	return 1
}

// choose is the number of the outcome, of n, that the next request has.
func (s *selection) choose(n int, t *traffic.Counts, random *matcher.Random) int {
	switch {
	case n == 1:
		return 0
	case s.shares != nil:
		// The first share above the number: one of weight 0 has none of its own.
		part := random.Float64()
		return sort.Search(n-1, func(i int) bool { return part < s.shares[i] })
	case s.holds:
		return int(t.Turn(uint64(n-1), true))
	}
	return int(t.Turn(uint64(n), false))
}
