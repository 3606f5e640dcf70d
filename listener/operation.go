package listener

import (
	"sync/atomic"

	"mockserver/config/item"
	"mockserver/config/openapi"
	"mockserver/internal/semantics"
	"mockserver/listener/serve/negotiate"
	"mockserver/renderer"
)

// operation is an operation of an OpenAPI document, with the answers that requests can choose.
type operation struct {
	*negotiate.Operation
	document *openapi.Operation
	base     answer // the answer of the endpoint
	// answers are the document's answers, each compiled when it is first chosen: a document may
	// have tens of thousands, and most are never chosen.
	answers []atomic.Pointer[answer]
}

// operation compiles the operation of an endpoint with answer a; it returns nil for an endpoint
// without one.
func (c *compiler) operation(e *item.Endpoint, a answer) *operation {
	if e.Operation == nil {
		return nil
	}
	return &operation{
		Operation: negotiate.New(e, negotiate.Options{
			Name: a.name, Status: a.status, External: a.source != nil, Dynamic: c.dynamic, MaxBody: c.maxBody,
		}),
		document: e.Operation, base: a, answers: make([]atomic.Pointer[answer], len(e.Operation.Answers)),
	}
}

// hasNoContent reports whether the document declares no content for the answer of an endpoint.
func hasNoContent(e *item.Endpoint) bool {
	return e.Operation != nil && e.Response.Raw && e.Response.External == nil && e.Response.Body.Value == ""
}

// asked reports whether a request may get an answer other than the endpoint's own.
func (o *operation) asked(c *call) bool {
	if o.MayChoose(&c.Request) {
		return true
	}
	prefers, accepts := c.peer.Chooses()
	return prefers && o.Prefers(&c.Request) || accepts && o.Accepts(&c.Request)
}

// choose returns the answer that a request asks for; nil for the endpoint's own. answered means
// that the reply is complete.
func (o *operation) choose(c *call) (chosen *answer, answered bool) {
	choice, ok := o.Choose(&c.Request, &c.reply)
	switch {
	case !ok:
		return nil, true
	case choice.Answer != negotiate.Own:
		chosen = o.answer(choice.Answer)
	case choice.Made:
		chosen = &o.base
	default:
		return nil, false
	}
	if choice.Made || choice.Status != chosen.status {
		other := *chosen
		chosen = &other
	}
	if choice.Status != chosen.status {
		chosen.setStatus(choice.Status)
	}
	if choice.Made {
		chosen.static, chosen.template = choice.Body, renderer.Ready{}
	}
	return chosen, false
}

// answer returns one of the document's answers, compiled.
func (o *operation) answer(i int) *answer {
	if a := o.answers[i].Load(); a != nil {
		return a
	}
	d := &o.document.Answers[i]
	a := &answer{name: o.base.name, static: d.Body, hooks: o.base.hooks, lets: o.base.lets}
	contentType, fields := negotiate.Head(d)
	a.contentType = contentType
	for _, h := range fields {
		a.headers = append(a.headers, header{name: h.Name, value: h.Value})
	}
	a.setStatus(d.Status)
	o.answers[i].Store(a) // another goroutine may have stored the same answer
	return a
}

// setStatus sets the status of an answer. Webhooks report that something was done, so an error
// triggers none.
func (a *answer) setStatus(status int) {
	if a.status = status; semantics.HasNoContent(status) {
		a.template, a.source = renderer.Ready{}, nil
		if !a.typeDeclared {
			a.contentType = ""
		}
	}
	if status >= 400 {
		a.hooks = nil
	}
}
