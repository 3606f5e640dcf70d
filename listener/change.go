package listener

import (
	"fmt"
	"runtime"

	"mockserver/listener/reply"
)

// maxAnew limits how often a request is processed again because the rows that it read have changed.
// Each time, another change to the rows has succeeded in the meantime.
const maxAnew = 10_000

// change applies the changes of an answer. It returns the answer to send, or nil if the reply is
// complete. If the rows that the request read have changed, this is the answer of the endpoint that
// matches now.
func (s *Server) change(a *answer, c *call) *answer {
	var drawn map[int]*answer // by endpoint; nil before a conflict
	for range maxAnew {
		if a.changes == nil {
			return a
		}
		failed := a.changes.Apply(&c.Request)
		switch {
		case failed == nil:
			return a
		case failed.Conflict:
			runtime.Gosched()
			if drawn == nil {
				drawn = map[int]*answer{}
			}
			drawn[c.matched] = a
			if a = s.chooseAnew(drawn, c); a == nil {
				return nil
			}
			c.values = a.lets.Make(c.values, &c.Request)
		case failed.Else >= 0:
			s.write(&a.elses[failed.Else], c)
			return nil
		default:
			failed.Failure.Write(&c.reply, a.name+": "+failed.Message)
			return nil
		}
	}
	reply.StateBusy.Write(&c.reply, fmt.Sprintf("%s: the rows that the request had read changed before each of %d attempts to write", a.name, maxAnew))
	return nil
}

// chooseAnew returns the answer of the endpoint that matches a request now. It draws the outcome of
// that endpoint unless it is already drawn, and ignores the endpoint's latency and limits. It
// returns nil if no endpoint matches, or if the outcome is a failure; the reply is then complete.
func (s *Server) chooseAnew(drawn map[int]*answer, c *call) *answer {
	sn := c.world
	i := sn.table.Match(&c.Request, methodOf(&c.Request))
	if i == c.matched {
		return drawn[i]
	}
	if c.matched = i; i < 0 {
		s.fallBack(sn, c)
		return nil
	}
	now := &sn.answers[i]
	c.trace.Endpoint, c.trace.Counters = now.name, now.counters
	if before := drawn[i]; before != nil {
		return before
	}
	if now.outcomes == nil {
		return now
	}
	outcome := now.rules.Draw(&c.Request)
	if outcome.Instead != nil {
		outcome.Instead.Fill(&c.reply)
		c.trace.Instead = outcome.Instead.Refusal.Code
		return nil
	}
	return &now.outcomes[outcome.Outcome]
}

// serveRows makes the reply of an operation of a resource. It reports whether the operation
// succeeded; if not, the reply says why.
func (s *Server) serveRows(a *answer, c *call) bool {
	if failed := a.resource.Serve(&c.Request, &c.reply); failed != nil {
		failed.Failure.Preset(a.resource.Name + ": " + failed.Message).Fill(&c.reply)
		return false
	}
	if a.declared != 0 {
		c.reply.Status = a.declared
	}
	a.addHeaders(c)
	if a.typeDeclared {
		c.reply.ContentType = a.contentType
	}
	return true
}
