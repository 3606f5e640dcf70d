package export

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/internal/address"
	"mockserver/internal/secret"
	"mockserver/internal/semantics"
	"mockserver/internal/tags"
)

// callbacks writes webhooks as callbacks if OpenAPI can express their URLs: those that consist of
// text and values of the request.
func (x *exporter) callbacks(op *syntax.Node, o *exported) {
	for _, e := range o.endpoints {
		for i := range e.Webhooks {
			w := &e.Webhooks[i]
			url, ok := runtimeURL(address.WithoutUsers(w.URL.Value))
			if !ok {
				continue // it is recorded in the declaration of the endpoint
			}
			all := op.Make("callbacks")
			name := "webhook" + strconv.Itoa(all.Len()+1)
			all.Set(name, syntax.NewMap().Set(url, syntax.NewMap().Set(strings.ToLower(w.EffectiveMethod()), callback(w, circumstanceOf(e)))))
		}
	}
}

// callback returns the operation of a webhook.
func callback(w *item.Webhook, when circumstance) *syntax.Node {
	op := syntax.NewMap()
	delay := cmp.Or(w.Delay, item.DefaultDelay)
	if delay == item.AtOnce {
		delay = 0
	}
	op.Set("x-sleep-time", syntax.NewNumber(strconv.FormatFloat(delay.Seconds(), 'f', -1, 64)))
	conditions := slices.DeleteFunc([]string{when.condition, secret.Condition(w.If.Value)}, func(c string) bool { return c == "" })
	if len(conditions) == 2 {
		conditions = []string{"(" + conditions[0] + ") and (" + conditions[1] + ")"}
	}
	op.SetText("x-mockserver-host", when.host).SetText("x-mockserver-if", strings.Join(conditions, ""))
	if body := secret.Text(w.Body.Value); body != "" {
		typ, json := "application/json", true
		for _, h := range w.Headers {
			if strings.EqualFold(h.Name, "Content-Type") && !tags.In(h.Value.Value) {
				typ, json = h.Value.Value, semantics.IsJSON(h.Value.Value)
			}
		}
		media := syntax.NewMap()
		if tags.In(body) {
			addTemplate(media, body)
		} else {
			media.Set("example", bodyTree(body, json))
		}
		op.Set("requestBody", syntax.NewMap().Set("content", syntax.NewMap().Set(typ, media)))
	}
	received := syntax.NewMap().SetText("description", "received")
	return op.Set("responses", syntax.NewMap().Set("2XX", received))
}

// placeholder matches a placeholder that a runtime expression of OpenAPI can express: a value of
// the request, without filters.
var placeholder = regexp.MustCompile(`\{\{\s*(json-params|query-params|path-params|header-params)((?:\.[A-Za-z0-9_-]+)+)\s*\}\}`)

// runtimeURL returns a URL with its placeholders replaced with runtime expressions. It returns
// false when the URL has placeholders that runtime expressions cannot express.
func runtimeURL(text string) (url string, ok bool) {
	url = placeholder.ReplaceAllStringFunc(text, func(found string) string {
		parts := placeholder.FindStringSubmatch(found)
		kind, name := strings.TrimSuffix(parts[1], "-params"), parts[2]
		if kind == "json" {
			kind, name = "body#", strings.ReplaceAll(name, ".", "/")
		}
		return "{$request." + kind + name + "}"
	})
	return url, !tags.In(url)
}
