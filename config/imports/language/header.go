package language

import (
	"slices"
	"strconv"
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/config/syntax"
	"mockserver/internal/semantics"
)

// Headers are the headers of a response that is being built. The zero value is an empty list.
type Headers struct {
	names  []string
	values [][]*Template
}

// own are headers that the server writes itself, or that described the transfer of the original body.
var own = []string{"Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Date", "Content-Encoding", "Trailer", "Upgrade",
	"Proxy-Connection", "TE"}

// OwnHeader reports whether the server writes a header itself, or whether the header described the
// transfer of the original body.
func OwnHeader(name string) bool { return folds(own, name) }

func folds(list []string, name string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, name) })
}

// Add adds a header, unless OwnHeader reports true for it. differs says what else was left out, or
// is "".
func (h *Headers) Add(name string, value *Template) (differs string) {
	at := slices.IndexFunc(h.names, func(s string) bool { return strings.EqualFold(s, name) })
	switch {
	case OwnHeader(name):
	case !semantics.IsToken(name):
		return "the header " + strconv.Quote(name) + " has no valid name and is left out"
	case strings.ContainsFunc(value.String(), semantics.ForbiddenInValue):
		return "the header " + name + " has a control character and is left out"
	case at < 0:
		h.names = append(h.names, name)
		h.values = append(h.values, []*Template{value})
	case semantics.StandsOnce(name):
		return "only the first value of the header " + name + " is sent"
	default:
		h.values[at] = append(h.values[at], value)
	}
	return ""
}

// Has reports whether the headers contain a name.
func (h *Headers) Has(name string) bool { return folds(h.names, name) }

// SetTexts sets headers and body of a response, or of a webhook. If one of the texts has tags, all
// are templates; otherwise, templates are switched off if one of the texts would not render as
// itself.
func SetTexts(response *syntax.Node, h *Headers, body *Template) {
	all := append(slices.Concat(h.values...), body)
	tags := slices.ContainsFunc(all, (*Template).Tags)
	if tags {
		for _, t := range all {
			t.Use()
		}
	}
	if headers := h.Node(); headers.Len() > 0 {
		response.Set("headers", headers)
	}
	if !tags && slices.ContainsFunc(all, func(t *Template) bool { return draft.HasTags(t.String()) }) {
		response.Set("template", draft.Of(false))
	}
	if text := body.render(h.json(body)); text != "" {
		response.Set("body", draft.Of(text))
	}
}

// Node returns the headers as a map, in which repeated ones are lists.
func (h *Headers) Node() *syntax.Node {
	m := syntax.NewMap()
	for i, name := range h.names {
		list := syntax.NewList()
		for _, v := range h.values[i] {
			list.Append(draft.Of(v.String()))
		}
		if m.Set(name, list.Items[0]); list.Len() > 1 {
			m.Set(name, draft.Flow(list))
		}
	}
	return m
}

// json reports whether values of the body may be written in the form of JSON.
func (h *Headers) json(body *Template) bool {
	at := slices.IndexFunc(h.names, func(s string) bool { return strings.EqualFold(s, "Content-Type") })
	if at >= 0 {
		kind := strings.ToLower(h.values[at][0].String())
		return strings.Contains(kind, "json") || draft.HasTags(kind)
	}
	if len(body.parts) == 0 || body.parts[0].tag {
		return len(body.parts) > 0
	}
	text := strings.TrimLeft(body.parts[0].text, " \t\r\n")
	return text == "" || strings.IndexByte(`{["`, text[0]) >= 0
}
