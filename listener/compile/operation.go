package compile

import (
	"sync/atomic"

	"mockserver/config/item"
	"mockserver/config/openapi"
	"mockserver/internal/semantics"
	"mockserver/listener/compile/negotiate"
	"mockserver/listener/compile/webhook"
	"mockserver/listener/reply"
	"mockserver/matcher"
	"mockserver/renderer"
)

// operation is an operation of an OpenAPI document, with the answers that requests can choose.
type operation struct {
	*negotiate.Operation
	document *openapi.Operation
	base     Answer // the answer of the endpoint
	// answers are the document's answers, each compiled when it is first chosen: a document may
	// have tens of thousands, and most are never chosen.
	answers []atomic.Pointer[Answer]
}

// operation compiles the operation of an endpoint with answer a; it returns nil for an endpoint
// without one.
func (c *Compiler) operation(e *item.Endpoint, a Answer) *operation {
	if e.Operation == nil {
		return nil
	}
	return &operation{
		Operation: negotiate.New(e, negotiate.Options{
			Name: a.Name, Status: a.Status, External: a.Source != nil, Dynamic: c.Dynamic, MaxBody: c.MaxBody,
		}),
		document: e.Operation, base: a, answers: make([]atomic.Pointer[Answer], len(e.Operation.Answers)),
	}
}

// hasNoContent reports whether the document declares no content for the answer of an endpoint.
func hasNoContent(e *item.Endpoint) bool {
	return e.Operation != nil && e.Response.Raw && e.Response.External == nil && e.Response.Body.Value == ""
}

// Asked reports whether a request may get an answer other than the endpoint's own.
func (o *operation) Asked(r *matcher.Request, p interface {
	Chooses() (prefers, accepts bool)
}) bool {
	if o.MayChoose(r) {
		return true
	}
	prefers, accepts := p.Chooses()
	return prefers && o.Prefers(r) || accepts && o.Accepts(r)
}

// Choose returns the answer that a request asks for; nil for the endpoint's own. answered means
// that the reply is complete.
func (o *operation) Choose(r *matcher.Request, p *reply.Reply) (chosen *Answer, answered bool) {
	choice, ok := o.Operation.Choose(r, p)
	switch {
	case !ok:
		return nil, true
	case choice.Answer != negotiate.Own:
		chosen = o.Answer(choice.Answer)
	case choice.Made:
		chosen = &o.base
	default:
		return nil, false
	}
	if choice.Made || choice.Status != chosen.Status {
		other := *chosen
		chosen = &other
	}
	if choice.Status != chosen.Status {
		chosen.setStatus(choice.Status)
	}
	if choice.Made {
		chosen.Static, chosen.Template = choice.Body, renderer.Ready{}
	}
	return chosen, false
}

// Answer returns one of the document's answers, compiled.
func (o *operation) Answer(i int) *Answer {
	if a := o.answers[i].Load(); a != nil {
		return a
	}
	d := &o.document.Answers[i]
	a := &Answer{Name: o.base.Name, Static: d.Body, Hooks: o.base.Hooks, Lets: o.base.Lets}
	contentType, fields := negotiate.Head(d)
	a.ContentType = contentType
	for _, h := range fields {
		a.Headers = append(a.Headers, header{Name: h.Name, Value: h.Value})
	}
	a.setStatus(d.Status)
	o.answers[i].Store(a) // another goroutine may have stored the same answer
	return a
}

// setStatus sets the status of an answer. Webhooks report that something was done, so an error
// triggers only those that say so.
func (a *Answer) setStatus(status int) {
	if a.Status = status; semantics.HasNoContent(status) {
		a.Template, a.Source = renderer.Ready{}, nil
		if !a.TypeDeclared {
			a.ContentType = ""
		}
	}
	a.Hooks = webhook.Following(a.Hooks, status)
}
