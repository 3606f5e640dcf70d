package item

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/address"
	"mockserver/internal/semantics"
	"mockserver/internal/tags"
	"mockserver/internal/wording"
)

// Webhook is a request that the server sends some time after a response.
type Webhook struct {
	Pos syntax.Pos
	Key string // "[3].endpoint.webhook"

	Method  string      // upper case; "" means DefaultWebhookMethod
	URL     syntax.Text // http or https; may contain placeholders, like all texts here
	Headers []Header
	Body    syntax.Text
	// BodyJSON reports that Body is the JSON text of a map or list.
	BodyJSON bool
	// Raw turns off templates in Headers and Body. Files cannot set it.
	Raw bool
	If  syntax.Text // a condition on the request; an empty text is always true
	On  Outcomes

	Delay   time.Duration `key:"sleep-time"` // from the response; 0 means DefaultDelay, AtOnce means none
	At      string        // AtStart, or "": a stream has ended when its webhooks are sent
	Timeout time.Duration // for one attempt; 0 means DefaultWebhookTimeout
	Retry   *Retry        // nil for one attempt
	Sign    *Sign         // nil for no signature

	CA        syntax.Text `key:"ca"` // a file with the CAs to trust; empty for those of the system
	Cert      syntax.Text // a file with the client certificate; empty for none
	ClientKey syntax.Text // a file with the key of Cert
	Insecure  bool        // TLS certificates are not verified
}

// Outcomes says with which statuses of the response a webhook is sent.
type Outcomes struct {
	// Word is OnAny, OnSuccess or "". OnSuccess stands for the statuses below 400. "" does too, except
	// for a webhook of an outcome, which is sent with that outcome.
	Word     string
	Statuses []int // in place of a word; nil if there is one
}

// The words of Outcomes.
const (
	OnAny     = "any"
	OnSuccess = "success"
)

// isDefault reports whether nothing was declared.
func (o *Outcomes) isDefault() bool { return o.Word == "" && o.Statuses == nil }

// Retry says how often a webhook is tried if its target cannot be reached, takes too long, or
// answers 429 or 5xx.
type Retry struct {
	Attempts   int           // 1..100, including the first; 0 means DefaultAttempts
	Backoff    time.Duration // before the second attempt, doubled before each further one; 0 means DefaultBackoff
	MaxBackoff time.Duration // the maximum wait; 0 means DefaultMaxBackoff
}

// Sign says how the body of a webhook is signed.
type Sign struct {
	Secret string
	Header string // "" means DefaultSignHeader
	Scheme string // "hmac-sha256" or "stripe"; "" means the former
}

// Defaults of webhooks.
const (
	DefaultWebhookMethod  = "POST"
	DefaultDelay          = time.Minute
	AtOnce                = table.AtOnce // Delay of a webhook that is sent immediately
	AtStart               = "start"      // At of a webhook that is sent with the first item of a stream
	DefaultWebhookTimeout = 10 * time.Second
	DefaultAttempts       = 5
	DefaultBackoff        = time.Second
	DefaultMaxBackoff     = time.Minute
	DefaultSignHeader     = "X-Signature"
)

const maxAttempts = 100

// SignSchemes are the signature schemes, the default first. The slice must not be modified.
var SignSchemes = []string{"hmac-sha256", "stripe"}

var webhookFields = []table.Field[Webhook]{
	table.Of[Webhook](table.Row{Key: "method", Doc: "the method of the request; POST by default", Kinds: table.Texts, Enum: semantics.Methods, AnyCase: true}),
	table.Of[Webhook](table.Row{Key: "url", Doc: "the http or https URL to send it to", Required: true, Kinds: table.Texts, Pattern: targetPattern}),
	table.By[Webhook](table.Row{Key: "headers", Doc: "its headers, name: value, or a list of values", Kinds: table.Maps, Name: headerName, Value: headerValue}, decodeHeaders),
	table.With(table.Row{Key: "body", Doc: "its body: a text, or a map or list that is sent as JSON", Kinds: table.Bodies},
		func(d *table.Decoder, v table.Value, w *Webhook) { w.Body, w.BodyJSON = decodeBody(d, v, false) }),
	table.Of[Webhook](table.Row{Key: "sleep-time", Doc: "how long after the answer it is sent; 60 seconds by default", Kinds: table.Texts | table.Numbers, Length: table.FromZero, AtOnce: true}),
	table.Of[Webhook](table.Row{Key: "at", Doc: "start sends it with the first item of a stream; when the stream has ended by default", Kinds: table.Texts, Enum: []string{AtStart}}),
	table.Of[Webhook](table.Row{Key: "if", Doc: "the condition under which it is sent", Kinds: table.Scalars | table.Nulls}),
	table.By[Webhook](table.Row{Key: "on", Doc: "the statuses of the answer with which it is sent: success, which are those below 400, any, or a list; success by default, and any in an outcome", Kinds: table.Texts | table.Lists, Pattern: "^(success|any)$", Form: "success, any, or a list of statuses, such as [201, 500]", Filled: true, Item: &table.Row{Kinds: table.Numbers, Min: 200, Max: 599}}, decodeOn),
	table.Of[Webhook](table.Row{Key: "timeout", Doc: "how long one attempt may take; 10s by default", Kinds: table.Texts | table.Numbers, Length: table.AboveZero}),
	table.Map[Webhook](table.Row{Key: "retry", Doc: "how it is retried if it cannot be delivered; one attempt by default"}, retryFields),
	table.Map[Webhook](table.Row{Key: "sign", Doc: "how its body is signed"}, signFields),
	table.Of[Webhook](table.Row{Key: "ca", Doc: "a file with the CAs to trust for an https URL; those of the system by default", Kinds: table.Texts, Filled: true}),
	table.Of[Webhook](table.Row{Key: "cert", Doc: "a file with the client certificate for an https URL", Kinds: table.Texts, Filled: true}),
	table.Of[Webhook](table.Row{Key: "key", Of: "client-key", Doc: "a file with the key of cert", Kinds: table.Texts, Filled: true}),
	table.Of[Webhook](table.Row{Key: "insecure", Doc: "true skips the verification of the TLS certificate of the URL", Kinds: table.Bools}),
}

var retryFields = []table.Field[Retry]{
	table.Of[Retry](table.Row{Key: "attempts", Doc: "the maximum number of attempts, including the first; 5 by default", Kinds: table.Numbers, Min: 1, Max: maxAttempts}),
	table.Of[Retry](table.Row{Key: "backoff", Doc: "the wait before the second attempt, doubled before each further one; 1s by default", Kinds: table.Texts | table.Numbers, Length: table.AboveZero}),
	table.Of[Retry](table.Row{Key: "max-backoff", Doc: "the longest wait; 1m by default", Kinds: table.Texts | table.Numbers, Length: table.AboveZero}),
}

var signFields = []table.Field[Sign]{
	table.Of[Sign](table.Row{Key: "secret", Doc: "the key", Required: true, Kinds: table.Texts, Filled: true}),
	table.Of[Sign](table.Row{Key: "header", Doc: "the header that carries the signature; X-Signature by default", Kinds: table.Texts, Pattern: tokenPattern, Form: "the name of a header", Is: isSignHeader}),
	table.Of[Sign](table.Row{Key: "scheme", Doc: "hmac-sha256 (the default) or stripe", Kinds: table.Texts, Enum: SignSchemes}),
}

// webhookKeys returns the keys webhook and webhooks of a T. An empty list is not decoded as nil: in
// an outcome, it means that not even the webhooks of the endpoint are sent.
func webhookKeys[T any](doc string, of func(*T) *[]Webhook) []table.Field[T] {
	return []table.Field[T]{
		table.With(table.Row{Key: "webhook", Unless: "webhooks", Doc: doc, Kinds: table.Maps, Table: table.Rows(webhookFields)},
			func(d *table.Decoder, v table.Value, t *T) { addWebhooks(d, of(t), v) }),
		table.With(table.Row{Key: "webhooks", Doc: "several of them; [] for none", Kinds: table.Lists, Item: &table.Row{Kinds: table.Maps, Table: table.Rows(webhookFields)}},
			func(d *table.Decoder, v table.Value, t *T) {
				*of(t) = append([]Webhook{}, *of(t)...)
				addWebhooks(d, of(t), v.Parts()...)
			}),
	}
}

// addWebhooks decodes maps, each of which declares a webhook.
func addWebhooks(d *table.Decoder, into *[]Webhook, maps ...table.Value) {
	for _, one := range maps {
		if d.Take(one) {
			w := Webhook{Pos: one.Pos(), Key: one.Key}
			table.Fill(d, one.Node, one.Key, webhookFields, &w)
			*into = append(*into, w)
		}
	}
}

// decodeOn decodes the value of on.
func decodeOn(d *table.Decoder, v table.Value) (on Outcomes) {
	if v.Kind == syntax.TextNode {
		if on.Word = v.Text.Value; on.Word != OnAny && on.Word != OnSuccess {
			d.Refuse(v)
		}
		return on
	}
	for one := range d.Items(v) {
		status, err := strconv.Atoi(one.Number)
		if err != nil || status < one.Row.Min || status > one.Row.Max {
			d.Refuse(one)
			continue
		}
		on.Statuses = append(on.Statuses, status)
	}
	if len(v.Items) == 0 {
		d.Refuse(v)
	}
	return on
}

// warnOfErrors warns that the webhooks of an endpoint are not sent with an answer whose status is 400
// or above, unless the endpoint says when they are.
func warnOfErrors(c *table.Checker, all []Webhook, status int, response string) {
	if status < 400 || c.Full() {
		return
	}
	for i := range all {
		if w := &all[i]; w.On.isDefault() {
			c.Warn(fmt.Sprintf("is not sent with %s, whose status is %d; expected on: any to send it, or on: success to say so", response, status), w.keyIn(c, nil))
			return
		}
	}
}

// isSignHeader reports whether a header can carry a signature: it must have no other meaning.
func isSignHeader(name string) bool {
	return semantics.IsToken(name) && !semantics.SenderSets(name) &&
		!slices.ContainsFunc([]string{"Host", "Date", "Content-Type", "Idempotency-Key"}, func(h string) bool { return strings.EqualFold(h, name) })
}

// EffectiveMethod returns the method of the request: POST if none is declared.
func (w *Webhook) EffectiveMethod() string { return cmp.Or(w.Method, DefaultWebhookMethod) }

// EffectiveDelay returns how long after the response the webhook is sent.
func (w *Webhook) EffectiveDelay() time.Duration { return max(cmp.Or(w.Delay, DefaultDelay), 0) }

// Effective returns the retry with its defaults filled in; a nil r means one attempt.
func (r *Retry) Effective() Retry {
	if r == nil {
		return Retry{Attempts: 1}
	}
	e := *r
	e.Attempts = cmp.Or(e.Attempts, DefaultAttempts)
	e.MaxBackoff = cmp.Or(e.MaxBackoff, max(DefaultMaxBackoff, e.Backoff))
	e.Backoff = cmp.Or(e.Backoff, min(DefaultBackoff, e.MaxBackoff))
	return e
}

// EffectiveHeader returns the header that carries the signature.
func (s *Sign) EffectiveHeader() string { return cmp.Or(s.Header, DefaultSignHeader) }

// checkWebhooks checks the webhooks of the endpoint or outcome at the given keys, which are sent with some responses.
// The key of each webhook says whether it was declared as webhook or in the list webhooks.
func checkWebhooks(c *table.Checker, all []Webhook, place []string, with ...*Response) {
	for i := range all {
		w := &all[i]
		at := table.Below(place, w.keyIn(c, place))
		checkWebhook(c, w, at)
		switch {
		case w.At != "" && !slices.ContainsFunc(with, (*Response).HasStream):
			c.Wrong("is for a stream; expected a response with stream", table.Below(at, "at")...)
		case w.At == "" && !c.Faulty(at...) && slices.ContainsFunc(with, func(r *Response) bool { return hasForever(r.Items) }):
			c.Warn("is sent when the stream has ended, and it has no end of its own; expected at: start", at...)
		}
	}
}

// keyIn returns the key of a webhook within the place that declares it: webhook or webhooks[1].
func (w *Webhook) keyIn(c *table.Checker, place []string) string {
	return strings.TrimPrefix(strings.TrimPrefix(w.Key, c.KeyPath(place)), ".")
}

func checkWebhook(c *table.Checker, w *Webhook, place []string) {
	at := func(keys ...string) []string { return table.Below(place, keys...) }
	checkTarget(c, &w.URL, at("url")...)
	checkClientTLS(c, &w.Cert, &w.ClientKey, place)
	if address.Scheme(w.URL.Value) == "http" {
		checkNotForURL(c, "https URLs; this one begins with http://", place, tlsKeys(&w.CA, &w.Cert, &w.ClientKey, w.Insecure)...)
	}
	checkWebhookHeaders(c, w, at("headers"))
	checkWebhookBody(c, w, at("body"))
	if r := w.Retry; r != nil && r.MaxBackoff != 0 && r.MaxBackoff < r.Backoff {
		c.Wrong(fmt.Sprintf("is below the backoff of %v; expected at least as much", r.Backoff), at("retry", "max-backoff")...)
	}
	if s := w.Sign; s != nil && s.Header != "" && !isSignHeader(s.Header) {
		c.Wrong(fmt.Sprintf("%q is not the name of a header that can carry a signature", wording.Clip(s.Header)), at("sign", "header")...)
	}
}

// checkWebhookHeaders checks the headers of a webhook.
func checkWebhookHeaders(c *table.Checker, w *Webhook, keys []string) {
	checkHeaders(c, w.Headers, semantics.SenderSets, keys...)
	checkCharset(c, w.Headers, w.Body.Value, w.Raw, keys...)
	signed := false
	for i := range w.Headers {
		h := &w.Headers[i]
		switch {
		case strings.EqualFold(h.Name, "Host"):
			if !tags.In(h.Value.Value) && address.HostPortFault([]byte(h.Value.Value)) != "" {
				c.Wrong(fmt.Sprintf("%q is not the name of a host, with or without a port", wording.Clip(h.Value.Value)), append(keys, h.Name)...)
			}
		case w.Sign != nil && !signed && strings.EqualFold(h.Name, w.Sign.EffectiveHeader()):
			signed = true
			at := append(keys, h.Name)
			c.Report(c.Place(true, at), "is left out: the signature is written into this header", at, true)
		}
	}
}

// checkWebhookBody warns about a fixed text that is sent as JSON but is not valid.
func checkWebhookBody(c *table.Checker, w *Webhook, keys []string) {
	text := w.Body.Value
	sent := "application/json"
	declared, ok := contentType(w.Headers)
	if ok {
		sent = declared
	}
	if w.BodyJSON || text == "" || tags.In(text) || tags.In(sent) || !semantics.IsJSON(sent) {
		return
	}
	format := "the body is sent as " + strings.ReplaceAll(wording.Clip(sent), "%", "%%") + ", but it is not JSON: %s"
	if !ok {
		format += "; declare its Content-Type under headers"
	}
	checkJSON(c, &w.Body, semantics.HoldsMany(semantics.MediaType(sent)), format, keys)
}
