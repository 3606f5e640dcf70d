package language

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/config/syntax"
	"mockserver/internal/semantics"
)

// Webhook returns a webhook, or says why it cannot be sent. Its texts are always templates.
func Webhook(method string, target, body *Template, headers *Headers) (hook *syntax.Node, why string) {
	method = strings.ToUpper(cmp.Or(method, "GET"))
	for _, t := range append(slices.Concat(headers.values...), target, body) {
		t.Use()
	}
	text := target.String()
	u, err := url.Parse(text)
	fixed := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && !strings.ContainsAny(text, " \t\n") &&
		!strings.ContainsAny(u.Host, "{}|\\^`\"<>")
	tagged := strings.Contains(text, "{{") && (strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "{{"))
	switch {
	case !fixed && !tagged:
		return nil, "its URL is " + text
	case !slices.Contains(semantics.Methods, method):
		return nil, "its method is " + method
	}
	hook = draft.NewMap("method", method, "url", text)
	SetTexts(hook, headers, body)
	return hook, ""
}

// WithErrors makes webhooks be sent whatever the status of a response is, if it may be 400 or above: the
// other tools do not look at it.
func WithErrors(hooks []*syntax.Node, response *syntax.Node) {
	status, err := strconv.Atoi(cmp.Or(Text(response.Get("status")), "200"))
	if response.Get("proxy") == nil && err == nil && status < 400 {
		return
	}
	for _, hook := range hooks {
		hook.Set("on", syntax.NewText("any"))
	}
}
