package negotiate

import (
	"mockserver/internal/semantics"
	"mockserver/listener/reply"
	"mockserver/matcher"
)

// Own is the value of Choice.Response for the response of the endpoint.
const Own = -1

// Choice is the answer that a request chooses.
type Choice struct {
	Response int    // its index in the document, or Own
	Status   int    // its status
	Body     []byte // if Made
	Made     bool   // the body is made for the request
}

// Choose returns the answer that a request asks for. ok is false if to is already the response,
// because there is no such answer, or because the document does not allow the request.
func (o *Operation) Choose(r *matcher.Request, to *reply.Reply) (chosen Choice, ok bool) {
	chosen = Choice{Response: Own, Status: o.status}
	if o.refuse(r, to) {
		return chosen, false
	}
	p := readPreferences(r)
	p.imply(o.dynamic)
	if o.own && p.allow(o.status) {
		return chosen, true
	}
	i, status, ok := o.picked(&p, r, to)
	if !ok {
		return chosen, false
	}
	fresh := o.document.Responses[i].Fresh
	byDefault := i == o.document.Default && status == o.status && !o.own
	if byDefault && (!p.dynamic || p.implied && fresh == nil) {
		chosen.Body, chosen.Made = o.cut(r, &p)
		return chosen, true
	}
	chosen = Choice{Response: i, Status: status}
	// An example is preferred even if bodies are dynamic.
	if p.dynamic && fresh != nil && len(p.example) == 0 && !semantics.HasNoContent(status) {
		chosen.Body, chosen.Made = fresh(r.Random.Uint64()), true
		if byDefault {
			if n, ok := o.limit(r); ok {
				chosen.Body = o.document.List.CutFresh(chosen.Body, n)
			}
			chosen.Body = o.fill(r, chosen.Body)
		}
	}
	return chosen, true
}

// picked is like pick, but also answers a request for an answer that does not exist.
func (o *Operation) picked(p *preferences, r *matcher.Request, to *reply.Reply) (index, status int, ok bool) {
	f, why := reply.ResponseNotFound, ""
	switch {
	case p.wrong != "":
		f, why = reply.BadPreference, p.wrong
	case len(o.document.Responses) == 0:
		why = o.name + " has one answer, which its document does not declare, so no answer can be chosen"
	default:
		index, status, why = o.pick(p, r.In.Header)
	}
	if why != "" {
		f.Write(to, why)
	}
	return index, status, why == ""
}
