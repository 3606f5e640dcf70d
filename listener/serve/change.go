package serve

import (
	"fmt"
	"runtime"

	"mockserver/listener/compile"
	"mockserver/listener/reply"
)

// maxAnew limits how often a request is processed again because the rows that it read have changed.
// Each time, another change to the rows has succeeded in the meantime.
const maxAnew = 10_000

// change applies the changes of an answer. It returns the answer to send, or nil if the reply is
// complete. If the rows that the request read have changed, this is the answer of the endpoint that
// matches now.
func (s *Server) change(a *compile.Response, c *call) *compile.Response {
	var drawn map[int]*compile.Response // by endpoint; nil before a conflict
	for range maxAnew {
		if a.Changes == nil {
			return a
		}
		failed := a.Changes.Apply(&c.Request)
		switch {
		case failed == nil:
			return a
		case failed.Conflict && c.direct: // the endpoint that matches now may wait
			c.again = true
			return nil
		case failed.Conflict:
			runtime.Gosched()
			if drawn == nil {
				drawn = map[int]*compile.Response{}
			}
			drawn[c.matched] = a
			if a = s.chooseAnew(drawn, c); a == nil {
				return nil
			}
			c.values = a.Lets.Make(c.values, &c.Request)
		case failed.Else >= 0:
			s.write(&a.Elses[failed.Else], c)
			return nil
		default:
			failed.Failure.Write(&c.Reply, a.Name+": "+failed.Message)
			return nil
		}
	}
	reply.StateBusy.Write(&c.Reply, fmt.Sprintf("%s: the rows that the request had read changed before each of %d attempts to write", a.Name, maxAnew))
	return nil
}

// chooseAnew returns the answer of the endpoint that matches a request now. It draws the outcome of
// that endpoint unless it is already drawn, and ignores the endpoint's latency and limits. It
// returns nil if no endpoint matches, or if the outcome is a failure; the reply is then complete.
func (s *Server) chooseAnew(drawn map[int]*compile.Response, c *call) *compile.Response {
	sn := c.world
	i := sn.Table.Match(&c.Request, methodOf(&c.Request))
	if i == c.matched {
		return drawn[i]
	}
	if c.matched = i; i < 0 {
		c.Trace.Endpoint, c.Trace.Counters = "", nil
		s.fallBack(sn, c)
		return nil
	}
	now := &sn.Responses[i]
	c.Trace.Endpoint, c.Trace.Counters = now.Name, now.Counters
	if before := drawn[i]; before != nil {
		return before
	}
	if now.Outcomes == nil {
		return now
	}
	outcome := now.Rules.Draw(&c.Request)
	if outcome.Instead != nil {
		outcome.Instead.Fill(&c.Reply)
		c.Trace.Instead = outcome.Instead.Refusal.Code
		return nil
	}
	return &now.Outcomes[outcome.Outcome]
}

// serveRows makes the reply of an operation of a resource. It reports whether the operation
// succeeded; if not, the reply says why.
func (s *Server) serveRows(a *compile.Response, c *call) bool {
	if failed := a.Resource.Serve(&c.Request, &c.Reply); failed != nil {
		failed.Failure.Preset(a.Resource.Name + ": " + failed.Message).Fill(&c.Reply)
		return false
	}
	if a.Declared != 0 {
		c.Reply.Status = a.Declared
	}
	a.Declare(&c.Reply, &c.Request)
	return true
}
