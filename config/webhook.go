package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mockserver/config/syntax"
	"mockserver/internal/address"
	"mockserver/internal/tags"
	"mockserver/internal/wording"
)

// Webhook is a request of the server's own, some time after an answer.
type Webhook struct {
	Pos syntax.Pos // left zero in Go
	Key string     // "[3].endpoint.webhook"; left "" in Go

	Method  string      // upper case; "" means DefaultWebhookMethod
	URL     syntax.Text // http or https; may hold placeholders, as all texts here
	Headers []Header
	Body    syntax.Text
	// BodyJSON tells that Body is the JSON text of a map or list.
	BodyJSON bool
	// Raw switches the template language off in Headers and Body, which no file can.
	Raw bool
	If  syntax.Text // a condition over the request; an empty text always holds

	Delay   time.Duration `key:"sleep-time"` // from the answer; 0 means DefaultDelay, AtOnce none
	Timeout time.Duration // of one attempt; 0 means DefaultWebhookTimeout
	Retry   *Retry        // nil for one attempt
	Sign    *Sign         // nil for no signature
}

// Retry says how often a webhook is tried when its target cannot be reached, takes
// too long, or answers 429 or 5xx.
type Retry struct {
	Attempts   int           // 1..100, the first among them; 0 means DefaultAttempts
	Backoff    time.Duration // before the second attempt, doubled before each further; 0 means DefaultBackoff
	MaxBackoff time.Duration // the most that is waited; 0 means DefaultMaxBackoff
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
	AtOnce                = time.Duration(-1) // the Delay of a webhook that is sent without one
	DefaultWebhookTimeout = 10 * time.Second
	DefaultAttempts       = 5
	DefaultBackoff        = time.Second
	DefaultMaxBackoff     = time.Minute
	DefaultSignHeader     = "X-Signature"
)

const maxAttempts = 100

// SignSchemes are the schemes of signatures, the default first. Nobody may change it.
var SignSchemes = []string{"hmac-sha256", "stripe"}

var (
	webhookFields = []field[Webhook]{
		fieldOf[Webhook](row{key: "method", doc: "the method of the request that is sent, POST when left out", kinds: texts, enum: Methods, anyCase: true}),
		fieldOf[Webhook](row{key: "url", doc: "the http or https URL that it is sent to", required: true, kinds: texts, pattern: targetPattern}),
		{row{key: "headers", doc: "its headers, name: value, or a list of values", kinds: maps, name: headerName, value: headerValue},
			func(d *decoder, v value, w *Webhook) { w.Headers = d.headers(v) }},
		{row{key: "body", doc: "its body: a text, or a map or list that is sent as JSON", kinds: bodies},
			func(d *decoder, v value, w *Webhook) { w.Body, w.BodyJSON = d.body(v, false) }},
		fieldOf[Webhook](row{key: "sleep-time", doc: "how long after the answer it is sent, 60 seconds when left out", kinds: texts | numbers, length: fromZero, atOnce: true}),
		fieldOf[Webhook](row{key: "if", doc: "the condition under which it is sent", kinds: scalars | nulls}),
		fieldOf[Webhook](row{key: "timeout", doc: "how long one attempt may take, 10s when left out", kinds: texts | numbers, length: aboveZero}),
		{row{key: "retry", doc: "what happens when it cannot be delivered; without it there is one attempt", kinds: maps, table: rowsOf(retryFields)}, setRetry},
		{row{key: "sign", doc: "how its body is signed", kinds: maps, table: rowsOf(signFields)}, setSign},
	}
	retryFields = []field[Retry]{
		fieldOf[Retry](row{key: "attempts", doc: "how often it is tried at most, the first time among them, 5 when left out", kinds: numbers, min: 1, max: maxAttempts}),
		fieldOf[Retry](row{key: "backoff", doc: "what is waited before the second attempt, doubled before each further one, 1s when left out", kinds: texts | numbers, length: aboveZero}),
		fieldOf[Retry](row{key: "max-backoff", doc: "the most that is waited, 1m when left out", kinds: texts | numbers, length: aboveZero}),
	}
	signFields = []field[Sign]{
		fieldOf[Sign](row{key: "secret", doc: "the key", required: true, kinds: texts, filled: true}),
		{row{key: "header", doc: "the header that carries the signature, X-Signature when left out", kinds: texts, pattern: tokenPattern, form: "the name of a header"}, setSignHeader},
		fieldOf[Sign](row{key: "scheme", doc: "hmac-sha256 (the default) or stripe", kinds: texts, enum: SignSchemes}),
	}
)

func setWebhook(d *decoder, v value, e *Endpoint) {
	e.Webhooks = append(e.Webhooks, d.webhook(v))
}

func setWebhooks(d *decoder, v value, e *Endpoint) {
	for _, one := range v.parts() {
		if d.take(one) {
			e.Webhooks = append(e.Webhooks, d.webhook(one))
		}
	}
}

func (d *decoder) webhook(v value) Webhook {
	w := Webhook{Pos: v.Pos(), Key: v.key}
	fill(d, v.Node, v.key, webhookFields, &w)
	return w
}

func setRetry(d *decoder, v value, w *Webhook) {
	w.Retry = &Retry{}
	fill(d, v.Node, v.key, retryFields, w.Retry)
}

func setSign(d *decoder, v value, w *Webhook) {
	w.Sign = &Sign{}
	fill(d, v.Node, v.key, signFields, w.Sign)
}

func setSignHeader(d *decoder, v value, s *Sign) {
	if !isSignHeader(v.Text.Value) {
		d.refuse(v)
		return
	}
	s.Header = v.Text.Value
}

// isSignHeader tells whether a header can carry a signature: none that says
// something else.
func isSignHeader(name string) bool {
	return isToken(name) && !SenderSets(name) &&
		!slices.ContainsFunc([]string{"Host", "Date", "Content-Type", "Idempotency-Key"}, func(h string) bool { return strings.EqualFold(h, name) })
}

// senderSet are the headers that the sender of webhooks writes itself. Nobody may
// change it.
var senderSet = []string{"Content-Length", "Transfer-Encoding", "Connection", "X-Mockserver-Webhook-Depth"}

// SenderSets tells whether a header of a webhook is one that the sender writes
// itself: those that frame the message, and the depth. A declared one is never sent.
func SenderSets(name string) bool {
	return slices.ContainsFunc(senderSet, func(f string) bool { return strings.EqualFold(f, name) })
}

// EffectiveMethod is the method of the request that is sent: POST when none is declared.
func (w *Webhook) EffectiveMethod() string {
	if w.Method == "" {
		return DefaultWebhookMethod
	}
	return w.Method
}

// EffectiveDelay is how long after the answer the webhook is sent.
func (w *Webhook) EffectiveDelay() time.Duration {
	switch {
	case w.Delay == 0:
		return DefaultDelay
	case w.Delay < 0:
		return 0
	}
	return w.Delay
}

// Effective is the retry with its defaults; nil is one attempt.
func (r *Retry) Effective() Retry {
	if r == nil {
		return Retry{Attempts: 1}
	}
	e := *r
	if e.Attempts == 0 {
		e.Attempts = DefaultAttempts
	}
	if e.MaxBackoff == 0 {
		e.MaxBackoff = max(DefaultMaxBackoff, e.Backoff)
	}
	if e.Backoff == 0 {
		e.Backoff = min(DefaultBackoff, e.MaxBackoff)
	}
	return e
}

// webhooks checks the webhooks of what the keys lead to: the endpoint, or an outcome.
// Their keys end with how they were given: one as webhook, or several as webhooks.
func (c *checker) webhooks(all []Webhook, place []string) {
	if len(all) == 0 {
		return
	}
	c.twice(c.at(place), place, "webhook", "webhooks")
	around := c.path(place)
	for i := range all {
		w := &all[i]
		c.webhook(w, below(place, strings.TrimPrefix(strings.TrimPrefix(w.Key, around), ".")))
	}
}

func (c *checker) webhook(w *Webhook, place []string) {
	at := func(keys ...string) []string { return below(place, keys...) }
	c.wrong(methodFault(w.Method), at("method")...)
	c.target(&w.URL, at("url")...)
	c.webhookHeaders(w, at("headers"))
	c.webhookBody(w, at("body"))
	if w.Timeout < 0 {
		c.wrong("the timeout is below 0; a duration above 0 is accepted, or 0 for the default", at("timeout")...)
	}
	c.retry(w.Retry, at)
	c.sign(w.Sign, at)
}

func (c *checker) retry(r *Retry, at func(keys ...string) []string) {
	if r != nil {
		switch {
		case r.Attempts < 0 || r.Attempts > maxAttempts:
			c.wrong(fmt.Sprintf("%d attempts; 1 to %d are accepted", r.Attempts, maxAttempts), at("retry", "attempts")...)
		case r.Backoff < 0:
			c.wrong("the back-off is below 0; a duration above 0 is accepted", at("retry", "backoff")...)
		case r.MaxBackoff < 0 || r.MaxBackoff != 0 && r.MaxBackoff < r.Backoff:
			c.wrong(fmt.Sprintf("is below the back-off of %v; as much or more is accepted", r.Backoff), at("retry", "max-backoff")...)
		}
	}
}

func (c *checker) sign(s *Sign, at func(keys ...string) []string) {
	if s != nil {
		switch {
		case s.Secret == "":
			c.wrong("the secret is empty; a text is accepted", at("sign", "secret")...)
		case s.Header != "" && !isSignHeader(s.Header):
			c.wrong(fmt.Sprintf("%q is no name of a header that can carry a signature", wording.Clip(s.Header)), at("sign", "header")...)
		case s.Scheme != "" && !slices.Contains(SignSchemes, s.Scheme):
			c.wrong(fmt.Sprintf("the scheme is %q; %s is accepted", wording.Clip(s.Scheme), wording.OneOf(SignSchemes)), at("sign", "scheme")...)
		}
	}
}

// webhookHeaders checks the headers of a webhook.
func (c *checker) webhookHeaders(w *Webhook, keys []string) {
	c.headers(w.Headers, SenderSets, keys...)
	signed := false
	for i := range w.Headers {
		h := &w.Headers[i]
		switch {
		case strings.EqualFold(h.Name, "Host"):
			if !tags.In(h.Value.Value) && address.HostPortFault([]byte(h.Value.Value)) != "" {
				c.wrong(fmt.Sprintf("%q is not the name of a host, with or without a port", wording.Clip(h.Value.Value)), append(keys, h.Name)...)
			}
		case w.Sign != nil && !signed && strings.EqualFold(h.Name, w.Sign.EffectiveHeader()):
			signed = true
			at := append(keys, h.Name)
			c.report(c.place(true, at), "is left out: the signature is written into this header", at, true)
		}
	}
}

// webhookBody warns of a fixed text that is sent as JSON and is none.
func (c *checker) webhookBody(w *Webhook, keys []string) {
	text := w.Body.Value
	sent := "application/json"
	declared, ok := contentType(w.Headers)
	if ok {
		sent = declared
	}
	if w.BodyJSON || text == "" || tags.In(text) || tags.In(sent) || !IsJSON(sent) {
		return
	}
	offset, what := jsonFault(text, holdsMany(MediaType(sent)))
	if what == "" {
		return
	}
	pos := w.Body.At(offset)
	if pos.Line == 0 {
		pos = c.Pos
	}
	if ok {
		what = "the body is sent as " + wording.Clip(sent) + ", but it is no JSON: " + what
	} else {
		what = "the body is sent as application/json, but it is no JSON: " + what + "; declare its Content-Type under headers"
	}
	c.report(pos, what, keys, true)
}

// EffectiveHeader is the header that carries the signature.
func (s *Sign) EffectiveHeader() string {
	if s.Header == "" {
		return DefaultSignHeader
	}
	return s.Header
}
