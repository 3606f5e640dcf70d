package compile

import (
	"slices"
	"strings"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/internal/semantics"
	"mockserver/listener/reply"
	"mockserver/matcher"
	"mockserver/renderer"
)

// The header fields that a response declares are compiled in headers, and only there. So fixed and
// direct answers, HTTP/2 responses, and the responses of resources and proxies all have them.

// header is one line of an answer's headers.
type header struct {
	Name     string
	Value    string             // the value, if it is the same for every request
	Template *renderer.Template // otherwise the template
}

// headers compiles what a response declares for its headers. It returns the form of the body, which
// the declared or default Content-Type determines. An external body is JSON unless a declared
// Content-Type says otherwise at compile time.
func (c *Compiler) headers(a *Response, resp *item.Response, scope *renderer.Scope) (form renderer.Form, problems syntax.Problems) {
	form = renderer.FormOf(defaultContentType(resp))
	for i := range resp.Headers {
		declared := &resp.Headers[i]
		if semantics.ServerSets(declared.Name) {
			continue
		}
		t := renderer.Literal(declared.Value.Value)
		if !resp.Raw {
			var wrong syntax.Problems
			t, wrong = renderer.Compile(declared.Value, renderer.Header, scope)
			problems = append(problems, wrong...)
			if t == nil {
				continue
			}
		}
		if strings.EqualFold(declared.Name, "Content-Type") && (resp.External == nil || t.BodyForm() != renderer.Inferred) {
			form = t.BodyForm()
		}
		text, static := t.Static()
		switch {
		case static && strings.EqualFold(declared.Name, "Content-Type"):
			a.ContentType = text
		case static:
			a.Headers = append(a.Headers, header{Name: declared.Name, Value: text})
		default:
			a.Headers = append(a.Headers, header{Name: declared.Name, Template: t})
		}
	}
	return form, problems
}

// AddHeaders adds the declared headers to a reply, whatever the rest of it was made from: the
// answer itself, a resource, an upstream or a recording.
func (a *Response) AddHeaders(p *reply.Reply, r *matcher.Request) {
	for i := range a.Headers {
		a.Headers[i].AddTo(p, r)
	}
}

// AddTo adds the line to a reply.
func (h *header) AddTo(p *reply.Reply, r *matcher.Request) {
	if h.Template == nil {
		p.Add(h.Name, h.Value)
	} else {
		p.AddTemplate(h.Name, h.Template, r)
	}
}

// Declare adds what the answer declares to a reply that was made from something else: a resource, an
// upstream or a recording.
func (a *Response) Declare(p *reply.Reply, r *matcher.Request) {
	a.AddHeaders(p, r)
	if a.TypeDeclared {
		p.ContentType = a.ContentType
	}
}

// hasTemplates reports whether a header depends on the request.
func (a *Response) hasTemplates() bool {
	return slices.ContainsFunc(a.Headers, func(h header) bool { return h.Template != nil })
}

// hasSpecial reports whether there is a header that Reply.AppendHead cannot write as fasthttp does.
func (a *Response) hasSpecial() bool {
	return slices.ContainsFunc(a.Headers, func(h header) bool { return reply.IsSpecial(h.Name) })
}

// fieldNames returns the names of the declared headers, which replace those of an upstream.
func (a *Response) fieldNames() (names []string) {
	for i := range a.Headers {
		names = append(names, a.Headers[i].Name)
	}
	if a.TypeDeclared {
		names = append(names, "Content-Type")
	}
	return names
}
