package listener

import (
	"time"

	"mockserver/config"
	"mockserver/config/syntax"
	"mockserver/listener/reply"
	"mockserver/listener/traffic"
	"mockserver/listener/wire"
	"mockserver/renderer"
)

// behaviour is what an endpoint does beside giving its one answer: it admits a
// request or not, chooses among outcomes, waits, and fails. Most endpoints have none,
// and pay for none.
type behaviour struct {
	operation *operation // of an OpenAPI document; nil for none, as all of these
	limit     *traffic.Limiter
	capacity  *capacity
	outcomes  []outcome // at least one
	selection selection

	chance *traffic.Seed
	tally  *traffic.Counts // nil when nothing is counted
	host   string          // that the endpoint is declared for
	delays bool            // requests may wait, or their answers go wrong
	// always tells that it concerns every request, and not only those that choose an
	// answer of the operation.
	always bool
}

// concerns tells whether a request is to be served by it. Any other gets the answer of
// the endpoint.
func (b *behaviour) concerns(c *call) bool { return b.always || b.operation.asked(c) }

// isFixed tells whether plain requests get the answer of the endpoint unseen, unless they
// choose another.
func (b *behaviour) isFixed() bool { return !b.always && b.operation.isFixed() }

// behaviour compiles what an endpoint declares of it; nil when that is nothing. With a
// seed, whatever is not the same for every request has one, for its random numbers.
func (c *compiler) behaviour(e *config.Endpoint, a answer, t *traffic.Counts, scope *renderer.Scope) (*behaviour, syntax.Problems) {
	operation := c.operation(e, a)
	limit := traffic.NewLimiter(&c.kept, e, scope.Params, c.trustForwarded, c.log)
	declared := len(e.Responses) > 0 || e.Latency != nil || e.Fault != nil || e.Capacity != nil || limit != nil
	always := declared || c.chance.Seeded && !a.isFixed()
	if !always && operation == nil {
		return nil, nil
	}
	b := &behaviour{
		operation: operation, limit: limit, selection: newSelection(e),
		chance: &c.chance, tally: t, host: e.Host, always: always,
	}
	b.capacity = c.capacity(e)
	var problems syntax.Problems
	b.outcomes, problems = c.outcomes(e, a, scope)
	b.delays = b.capacity != nil
	for i := range b.outcomes {
		b.delays = b.delays || b.outcomes[i].latency != nil || b.outcomes[i].fault != nil
	}
	return b, problems
}

// behave serves a request to an endpoint with a behaviour. Its answer is made before
// the wait, so that the latency holds the work of making it.
func (s *Server) behave(b *behaviour, c *call, notify bool) {
	b.chance.Begin(b.tally, &c.Random)
	if b.limit != nil {
		standing, ok := b.limit.Admit(&c.Request, &c.reply)
		defer standing.Write(&c.reply) // whatever the answer is
		if !ok {
			c.trace.Limited = true
			return
		}
	}
	var chosen *answer
	if b.operation != nil {
		var answered bool
		if chosen, answered = b.operation.choose(c); answered {
			return
		}
	}
	begun := c.arrival()
	held := b.capacity
	if held != nil {
		if !held.enter(c) {
			return
		}
		defer func() {
			if held != nil {
				held.leave()
			}
		}()
		begun = time.Now() // what a place is held for is the latency, not what came before
	}
	o := &b.outcomes[b.selection.choose(len(b.outcomes), b.tally, &c.Random)]
	if chosen == nil {
		chosen = &o.answer
	}
	wait, struck := o.latency.Draw(&c.Random), o.fault.strikes(&c.Random) // before the answer, which may draw too
	given := s.give(chosen, o.instead(wait), c)
	if wait.Instead != nil {
		c.trace.Instead = wait.Instead.Code
	}
	if wait.Timed && !b.hold(c, begun, wait.Length) {
		return
	}
	if given && notify && len(chosen.hooks) > 0 {
		s.notify(chosen, c)
	}
	if struck && o.fault.strike(c, held) {
		held = nil // it is left later
	}
}

// give writes the answer that is chosen, or the failure to give instead. It tells
// whether it was the first, and could be had.
func (s *Server) give(chosen *answer, instead *reply.Preset, c *call) bool {
	if instead == nil {
		return s.respond(chosen, c)
	}
	instead.Fill(&c.reply)
	return false
}

// hold has a request wait until its latency is over, and tells whether it is to be
// answered.
func (b *behaviour) hold(c *call, begun time.Time, length time.Duration) bool {
	due := begun.Add(length)
	served := begun
	if t := c.In.Time; t.After(begun) {
		served = t // it came before: the part that passed meanwhile is none of its own
	}
	c.trace.Declared += length
	c.trace.Waited += max(due.Sub(served), 0)
	for end := c.peer.pause(due); end != wire.PauseDue; end = c.peer.pause(due) {
		if end == wire.PauseLeft {
			return false
		}
	}
	c.trace.Late, c.trace.Timed = max(time.Since(due), 0), true
	b.tally.Lateness().Add(c.trace.Late)
	return true
}
