package listener

import (
	"mockserver/config"
	"mockserver/matcher"
	"mockserver/renderer"
)

// behaviour is what an endpoint does beside giving its one answer: it admits a
// request or not, chooses among outcomes, waits, and fails. Most endpoints have none,
// and pay for none.
type behaviour struct {
	operation *operation // of an OpenAPI document; nil for none, as all of these
	limit     *limiter
	capacity  *capacity
	outcomes  []outcome // at least one
}

// outcome is one of the ways that a request to an endpoint may go.
type outcome struct {
	answer answer
	fault  *fault
}

// behaviour compiles what an endpoint declares of it; nil when that is nothing.
func (c *compiler) behaviour(e *config.Endpoint, a answer, scope *renderer.Scope) (*behaviour, config.Problems) {
	return nil, nil
}

// behave serves a request to an endpoint with a behaviour, and returns the answer
// that it gave: nil when it was not admitted.
func (s *Server) behave(b *behaviour, r *matcher.Request) *answer {
	return nil
}
