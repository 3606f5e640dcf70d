// Package webhook compiles the webhooks of endpoints, and renders their deliveries for the
// dispatcher.
package webhook

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/dispatcher"
	"mockserver/internal/address"
	"mockserver/internal/clienttls"
	"mockserver/internal/semantics"
	"mockserver/matcher"
	"mockserver/renderer"
)

// Hook is one compiled webhook. Once requests trigger it, it is immutable and safe for concurrent use.
type Hook struct {
	Shared *dispatcher.Webhook // what all deliveries have in common
	Own    bool                // it belongs to an outcome, and is sent with that one if it says nothing else
	Starts bool                // it is sent with the first item of a stream
	Delay  time.Duration

	when   *renderer.Condition
	on     item.Outcomes
	url    *renderer.Template // nil if it is the same for every request
	fields []field            // without a templated Host; nil if all are the same for every request
	host   *renderer.Template // the Host header; nil if it is fixed or not declared
	body   *renderer.Template // nil if it is fixed
}

// field is one header field.
type field struct {
	name     string
	value    string             // the value, if it is the same for every request
	template *renderer.Template // otherwise, the template
}

// MaxDepth is how many webhooks in a row may trigger each other.
const MaxDepth = 10

// maxKept is the size, in bytes, of the largest buffer that is kept for the next delivery.
const maxKept = 256 << 10

// Compile compiles webhooks. The name, followed by the position if there are several, is used in
// the log.
func Compile(all []item.Webhook, name string, scope *renderer.Scope) ([]Hook, syntax.Problems) {
	var problems syntax.Problems
	hooks := make([]Hook, 0, len(all))
	for i := range all {
		h, wrong := compile(&all[i], scope)
		h.Shared.Name = name
		if len(all) > 1 {
			h.Shared.Name += " webhooks[" + strconv.Itoa(i) + "]"
		}
		hooks = append(hooks, h)
		problems = append(problems, wrong...)
	}
	return hooks, problems
}

// Applies reports whether the condition of the webhook holds for a request.
func (h *Hook) Applies(r *matcher.Request) bool { return h.when.Always() || h.when.Holds(r) }

// Follows reports whether the webhook is sent with a status. A failure may have been injected in
// place of the response that is declared.
func (h *Hook) Follows(status int, injected bool) bool {
	switch {
	case h.on.Statuses != nil:
		return slices.Contains(h.on.Statuses, status)
	case h.on.Word == "" && h.Own:
		return !injected
	}
	return h.on.Word == item.OnAny || status < 400
}

// Following returns the webhooks that may be sent with a response whose status is fixed, or with a
// failure in its place.
func Following(all []Hook, status int) (some []Hook) {
	for i := range all {
		if h := &all[i]; h.on.Statuses != nil || h.Follows(status, false) {
			some = append(some, *h)
		}
	}
	return some
}

func compile(w *item.Webhook, scope *renderer.Scope) (Hook, syntax.Problems) {
	retry := w.Retry.Effective()
	h := Hook{
		Delay: w.EffectiveDelay(), Starts: w.At == item.AtStart, on: w.On,
		Shared: &dispatcher.Webhook{
			Method:  w.EffectiveMethod(),
			Timeout: cmp.Or(w.Timeout, item.DefaultWebhookTimeout),
			Retry:   dispatcher.Retry{Attempts: retry.Attempts, Backoff: retry.Backoff, MaxBackoff: retry.MaxBackoff},
		},
	}
	var problems syntax.Problems
	h.Shared.TLS, problems = filesOf(w)
	if s := w.Sign; s != nil {
		h.Shared.Sign = &dispatcher.Signature{Secret: s.Secret, Header: s.EffectiveHeader(), Scheme: s.Scheme}
	}
	var wrong syntax.Problems
	h.when, wrong = renderer.CompileCondition(w.If, scope)
	problems = append(problems, wrong...)
	var text string
	text, h.url, wrong = renderer.CompileText(w.URL, renderer.URL, scope)
	if what := address.URLFault([]byte(text)); what != "" && h.url == nil && wrong.Err() == nil && text != w.URL.Value {
		// Literal URLs were checked when they were read. This URL may have become fixed through
		// env.NAME.
		wrong = append(wrong, syntax.Problem{Pos: w.URL.Pos, Key: w.URL.Key, What: fmt.Sprintf("%q is not a valid URL: %s", address.Shown(text), what)})
	}
	h.Shared.URL, problems = text, append(problems, wrong...)
	form, wrong := h.compileHeaders(w, scope)
	problems = append(problems, wrong...)
	text, h.body, wrong = compileUnless(w.Raw, w.Body, form, scope)
	h.Shared.Body, problems = []byte(text), append(problems, wrong...)
	return h, problems
}

// compileHeaders compiles the headers of a webhook. It returns the form of the body, which they
// determine.
func (h *Hook) compileHeaders(w *item.Webhook, scope *renderer.Scope) (form renderer.Form, problems syntax.Problems) {
	form = renderer.JSON
	if !slices.ContainsFunc(w.Headers, func(d item.Header) bool { return strings.EqualFold(d.Name, "Content-Type") }) {
		h.fields = append(h.fields, field{name: "Content-Type", value: "application/json"})
	}
	templated := false
	for i := range w.Headers {
		d := &w.Headers[i]
		if semantics.SenderSets(d.Name) || w.Sign != nil && strings.EqualFold(d.Name, w.Sign.EffectiveHeader()) {
			continue // set by the dispatcher
		}
		text, t, wrong := compileUnless(w.Raw, d.Value, renderer.Header, scope)
		problems = append(problems, wrong...)
		if strings.EqualFold(d.Name, "Content-Type") {
			form = cmp.Or(t, renderer.Literal(text)).BodyForm()
		}
		templated = templated || t != nil
		if strings.EqualFold(d.Name, "Host") {
			if t != nil {
				h.host = t
				continue
			}
			if what := address.HostPortFault([]byte(text)); what != "" && wrong.Err() == nil && text != d.Value.Value { // as with the URL
				problems = append(problems, syntax.Problem{Pos: d.Value.Pos, Key: d.Value.Key, What: hostError([]byte(text), what).Error()})
			}
		}
		h.fields = append(h.fields, field{name: d.Name, value: text, template: t})
	}
	if !templated {
		h.Shared.Header = appendLines(nil, h.fields, nil)
		h.fields = nil
	}
	return form, problems
}

// compileUnless is renderer.CompileText, except that a raw text is not compiled.
func compileUnless(raw bool, text syntax.Text, form renderer.Form, scope *renderer.Scope) (string, *renderer.Template, syntax.Problems) {
	if raw {
		return text.Value, nil, nil
	}
	return renderer.CompileText(text, form, scope)
}

// filesOf returns how the URL of a webhook is reached over TLS. The files are read, so that
// errors in them are found now.
func filesOf(w *item.Webhook) (clienttls.Files, syntax.Problems) {
	dir := filepath.Dir(w.Pos.File)
	over := clienttls.Files{
		CA: clienttls.Find(dir, w.CA.Value), Cert: clienttls.Find(dir, w.Cert.Value), Key: clienttls.Find(dir, w.ClientKey.Value), Insecure: w.Insecure,
	}
	_, err := over.Config()
	if err == nil {
		return over, nil
	}
	at := map[string]*syntax.Text{"ca": &w.CA, "cert": &w.Cert, "key": &w.ClientKey}[err.(*clienttls.Error).Key]
	return over, syntax.Problems{{Pos: at.Pos, Key: at.Key, What: err.Error()}}
}
