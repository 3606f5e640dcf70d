package listener

import (
	"slices"
	"strings"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/internal/semantics"
	"mockserver/listener/reply"
	"mockserver/renderer"
)

// The header fields that a response declares are compiled in headers, and only there. So fixed and
// direct answers, HTTP/2 responses, and the responses of resources and proxies all have them.

// header is one line of an answer's headers.
type header struct {
	name     string
	value    string             // the value, if it is the same for every request
	template *renderer.Template // otherwise the template
}

// headers compiles what a response declares for its headers. It returns the form of the body, which
// the declared or default Content-Type determines. An external body is JSON unless a declared
// Content-Type says otherwise at compile time.
func (c *compiler) headers(a *answer, resp *item.Response, scope *renderer.Scope) (form renderer.Form, problems syntax.Problems) {
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
			a.contentType = text
		case static:
			a.headers = append(a.headers, header{name: declared.Name, value: text})
		default:
			a.headers = append(a.headers, header{name: declared.Name, template: t})
		}
	}
	return form, problems
}

// declaredHeader returns the first declared value of a header, as written.
func declaredHeader(resp *item.Response, name string) (string, bool) {
	for i := range resp.Headers {
		if strings.EqualFold(resp.Headers[i].Name, name) {
			return resp.Headers[i].Value.Value, true
		}
	}
	return "", false
}

// addHeaders adds the declared headers to a reply, whatever the rest of it was made from: the
// answer itself, a resource, an upstream or a recording.
func (a *answer) addHeaders(c *call) {
	for i := range a.headers {
		if h := &a.headers[i]; h.template == nil {
			c.reply.Add(h.name, h.value)
		} else {
			c.reply.AddTemplate(h.name, h.template, &c.Request)
		}
	}
}

// hasTemplates reports whether a header depends on the request.
func (a *answer) hasTemplates() bool {
	return slices.ContainsFunc(a.headers, func(h header) bool { return h.template != nil })
}

// hasSpecial reports whether there is a header that Reply.AppendHead cannot write as fasthttp does.
func (a *answer) hasSpecial() bool {
	return slices.ContainsFunc(a.headers, func(h header) bool { return reply.IsSpecial(h.name) })
}

// fieldNames returns the names of the declared headers, which replace those of an upstream.
func (a *answer) fieldNames() (names []string) {
	for i := range a.headers {
		names = append(names, a.headers[i].name)
	}
	if a.typeDeclared {
		names = append(names, "Content-Type")
	}
	return names
}
