package item

import (
	"fmt"

	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/wording"
)

// check returns the problems of an endpoint. Its map, node, provides the positions.
func check(e *Endpoint, key string, node *syntax.Node, reported map[string]bool) syntax.Problems {
	c := table.Check(e.Pos, key, node, reported)
	finds := len(e.Find) > 0
	checkRequest(c, e)
	checkResponse(c, &e.Response, finds, []string{"response"})
	checkStream(c, &e.Response, e.Latency, []string{"response"})
	checkChanges(c, e.Do, finds, nil)
	with := []*Response{&e.Response}
	warnOfErrors(c, e.Webhooks, e.Response.Status, "the response")
	for i := range e.Responses {
		if o := &e.Responses[i]; o.Webhooks == nil {
			with = append(with, &o.Response)
			warnOfErrors(c, e.Webhooks, o.Response.Status, fmt.Sprintf("responses[%d]", i))
		}
	}
	checkWebhooks(c, e.Webhooks, nil, with...)
	if e.Resource == nil { // a resource checks its own policies and outcomes
		checkUnseen(c, e.Fault, []string{"response"})
		checkFault(c, e.Fault, formOf(e.Responses, &e.Response), []string{"fault"})
		checkOutcomes(c, selection{outcomes: e.Responses, by: e.Select, per: e.Per, fault: e.Fault, latency: e.Latency, finds: finds})
		e.Group.Check(c, e.Path.Value, nil)
	}
	return c.Problems
}

// checkRequest checks the keys that select the requests of an endpoint or WebSocket.
func checkRequest(c *table.Checker, e *Endpoint) {
	switch path := e.Path.Value; {
	case path == "":
		c.Wrong("the path is empty; expected a text that begins with /", "path")
	case path[0] != '/':
		c.Wrong(fmt.Sprintf("%q does not begin with /", wording.Clip(path)), "path")
	}
}

// Finish checks the rules of a decoded endpoint that involve more than one field, and removes from
// its answers the headers that the server sets itself.
func Finish(d *table.Decoder, e *Endpoint, key string, n *syntax.Node) {
	d.AddAll(check(e, key, n, d.Reported))
	e.Response.dropServerSet()
	for i := range e.Responses {
		e.Responses[i].Response.dropServerSet()
	}
}
