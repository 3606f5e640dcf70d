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
	base     Response // the answer of the endpoint
	// responses are the document's answers, each compiled when it is first chosen: a document may
	// have tens of thousands, and most are never chosen.
	responses []atomic.Pointer[Response]
}

// operation compiles the operation of an endpoint with answer a; it returns nil for an endpoint
// without one.
func (c *Compiler) operation(e *item.Endpoint, a Response) *operation {
	if e.Operation == nil {
		return nil
	}
	return &operation{
		Operation: negotiate.New(e, negotiate.Options{
			Name: a.Name, Status: a.Status, External: a.Source != nil, Dynamic: c.Dynamic, MaxBody: c.MaxBody,
		}),
		document: e.Operation, base: a, responses: make([]atomic.Pointer[Response], len(e.Operation.Responses)),
	}
}

// hasNoContent reports whether the document declares no content for the answer of an endpoint.
func hasNoContent(e *item.Endpoint) bool {
	return e.Operation != nil && e.Response.Raw && e.Response.External == nil && e.Response.Body.Value == ""
}

// MayDiffer reports whether a request may get an answer other than the endpoint's own.
func (o *operation) MayDiffer(r *matcher.Request, p interface {
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
func (o *operation) Choose(r *matcher.Request, p *reply.Reply) (chosen *Response, done bool) {
	choice, ok := o.Operation.Choose(r, p)
	switch {
	case !ok:
		return nil, true
	case choice.Response != negotiate.Own:
		chosen = o.Response(choice.Response)
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

// Response returns one of the document's answers, compiled.
func (o *operation) Response(i int) *Response {
	if a := o.responses[i].Load(); a != nil {
		return a
	}
	d := &o.document.Responses[i]
	a := &Response{Name: o.base.Name, Static: d.Body, Hooks: o.base.Hooks, Lets: o.base.Lets}
	contentType, fields := negotiate.Head(d)
	a.ContentType = contentType
	for _, h := range fields {
		a.Headers = append(a.Headers, header{Name: h.Name, Value: h.Value})
	}
	a.setStatus(d.Status)
	o.responses[i].Store(a) // another goroutine may have stored the same answer
	return a
}

// setStatus sets the status of an answer. Webhooks report that something was done, so an error
// triggers only those that say so.
func (a *Response) setStatus(status int) {
	if a.Status = status; semantics.HasNoContent(status) {
		a.Template, a.Source = renderer.Ready{}, nil
		if !a.TypeDeclared {
			a.ContentType = ""
		}
	}
	a.Hooks = webhook.Following(a.Hooks, status)
}
