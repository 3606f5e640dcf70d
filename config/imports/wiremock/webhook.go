package wiremock

import (
	"cmp"
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
	"mockserver/config/syntax"
)

// webhooks adds the webhooks that are sent after the answer.
func (m *made) webhooks(e *syntax.Node) {
	var all []*syntax.Node
	run := func(name string, parameters *syntax.Node) {
		if name != "webhook" {
			m.Note("the action " + name + " is not run")
		} else if hook := m.webhook(parameters); hook != nil {
			all = append(all, hook)
		}
	}
	for _, key := range []string{"postServeActions", "serveEventListeners"} {
		for _, item := range get(m.Node, key).List() {
			run(text(get(item, "name")), get(item, "parameters"))
		}
		for name, parameters := range get(m.Node, key).Members() {
			run(name, parameters)
		}
	}
	language.WithErrors(all, e.Get("response"))
	switch len(all) {
	case 0:
	case 1:
		e.Set("webhook", draft.Of(all[0]))
	default:
		e.Set("webhooks", draft.Of(all))
	}
}

// webhook returns one webhook; nil if it cannot be sent.
func (m *made) webhook(n *syntax.Node) *syntax.Node {
	d := &dialect{made: m, parameters: n, root: "originalRequest", Notes: &language.Notes{}}
	translate := func(source string) *language.Template { return language.Translate(source, d) }
	headers := &language.Headers{}
	for name, value := range get(n, "headers").Members() {
		m.Note(headers.Add(name, translate(text(value))))
	}
	body := text(get(n, "body"))
	if json := get(n, "jsonBody"); json != nil {
		body = language.JSON(json)
	}
	if encoded := get(n, "base64Body"); encoded != nil {
		data, err := base64.StdEncoding.DecodeString(text(encoded))
		if err != nil || !utf8.Valid(data) {
			m.Note("the webhook is sent without its body, which is not text")
		} else {
			body = string(data)
		}
	}
	if trimmed := strings.TrimSpace(body); !headers.Has("Content-Type") && trimmed != "" && trimmed[0] != '{' && trimmed[0] != '[' {
		headers.Add("Content-Type", translate("text/plain"))
	}
	hook, why := language.Webhook(text(get(n, "method")), translate(text(get(n, "url"))), translate(body), headers)
	for _, note := range d.Differ {
		m.Note("the webhook: " + note)
	}
	if why != "" {
		m.Note("the webhook is left out: " + why)
		return nil
	}
	return hook.Set("sleep-time", draft.Of(m.sleep(get(n, "delay"))))
}

// sleep returns how long the server waits before it sends a webhook.
func (m *made) sleep(n *syntax.Node) string {
	latency, _ := delay(n, 0)
	if latency != nil && text(get(n, "type")) != "fixed" {
		m.Note("the webhook has a fixed delay instead of a distribution")
	}
	return cmp.Or(latency.Get("median").AsText(), latency.Get("min").AsText(), "0s")
}
