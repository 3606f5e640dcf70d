package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/address"
	"mockserver/internal/tags"
	"mockserver/internal/wording"
)

// Webhook is a request that the server sends some time after a response.
type Webhook struct {
	Pos syntax.Pos // left zero in Go
	Key string     // "[3].endpoint.webhook"; left "" in Go

	Method  string      // upper case; "" means DefaultWebhookMethod
	URL     syntax.Text // http or https; may contain placeholders, like all texts here
	Headers []Header
	Body    syntax.Text
	// BodyJSON reports that Body is the JSON text of a map or list.
	BodyJSON bool
	// Raw turns off templates in Headers and Body. Files cannot set it.
	Raw bool
	If  syntax.Text // a condition on the request; an empty text is always true

	Delay   time.Duration `key:"sleep-time"` // from the response; 0 means DefaultDelay, AtOnce means none
	Timeout time.Duration // for one attempt; 0 means DefaultWebhookTimeout
	Retry   *Retry        // nil for one attempt
	Sign    *Sign         // nil for no signature

	CA        syntax.Text `key:"ca"` // a file with the CAs to trust; empty for those of the system
	Cert      syntax.Text // a file with the certificate to show; empty for none
	ClientKey syntax.Text // a file with the key of that
	Insecure  bool        // TLS certificates are not verified
}

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
	DefaultWebhookTimeout = 10 * time.Second
	DefaultAttempts       = 5
	DefaultBackoff        = time.Second
	DefaultMaxBackoff     = time.Minute
	DefaultSignHeader     = "X-Signature"
)

const maxAttempts = 100

// SignSchemes are the signature schemes, the default first. It must not be modified.
var SignSchemes = []string{"hmac-sha256", "stripe"}

var (
	webhookFields = []table.Field[Webhook]{
		table.Of[Webhook](row{Key: "method", Doc: "the method of the request that is sent, POST when left out", Kinds: table.Texts, Enum: Methods, AnyCase: true}),
		table.Of[Webhook](row{Key: "url", Doc: "the http or https URL that it is sent to", Required: true, Kinds: table.Texts, Pattern: targetPattern}),
		table.With(row{Key: "headers", Doc: "its headers, name: value, or a list of values", Kinds: table.Maps, Name: headerName, Value: headerValue},
			func(d *decoder, v value, w *Webhook) { w.Headers = decodeHeaders(d, v) }),
		table.With(row{Key: "body", Doc: "its body: a text, or a map or list that is sent as JSON", Kinds: table.Bodies},
			func(d *decoder, v value, w *Webhook) { w.Body, w.BodyJSON = decodeBody(d, v, false) }),
		table.Of[Webhook](row{Key: "sleep-time", Doc: "how long after the answer it is sent, 60 seconds when left out", Kinds: table.Texts | table.Numbers, Length: table.FromZero, AtOnce: true}),
		table.Of[Webhook](row{Key: "if", Doc: "the condition under which it is sent", Kinds: table.Scalars | table.Nulls}),
		table.Of[Webhook](row{Key: "timeout", Doc: "how long one attempt may take, 10s when left out", Kinds: table.Texts | table.Numbers, Length: table.AboveZero}),
		table.Map[Webhook](row{Key: "retry", Doc: "what happens when it cannot be delivered; without it there is one attempt"}, retryFields),
		table.Map[Webhook](row{Key: "sign", Doc: "how its body is signed"}, signFields),
		table.Of[Webhook](row{Key: "ca", Doc: "a file with the CAs that an https URL is trusted by, those of the system when left out", Kinds: table.Texts, Filled: true}),
		table.Of[Webhook](row{Key: "cert", Doc: "a file with the certificate that is shown to an https URL", Kinds: table.Texts, Filled: true}),
		table.Of[Webhook](row{Key: "key", Of: "client-key", Doc: "a file with the key of cert", Kinds: table.Texts, Filled: true}),
		table.Of[Webhook](row{Key: "insecure", Doc: "true does not verify the TLS certificate of the URL", Kinds: table.Bools}),
	}
	retryFields = []table.Field[Retry]{
		table.Of[Retry](row{Key: "attempts", Doc: "how often it is tried at most, the first time among them, 5 when left out", Kinds: table.Numbers, Min: 1, Max: maxAttempts}),
		table.Of[Retry](row{Key: "backoff", Doc: "what is waited before the second attempt, doubled before each further one, 1s when left out", Kinds: table.Texts | table.Numbers, Length: table.AboveZero}),
		table.Of[Retry](row{Key: "max-backoff", Doc: "the most that is waited, 1m when left out", Kinds: table.Texts | table.Numbers, Length: table.AboveZero}),
	}
	signFields = []table.Field[Sign]{
		table.Of[Sign](row{Key: "secret", Doc: "the key", Required: true, Kinds: table.Texts, Filled: true}),
		table.With(row{Key: "header", Doc: "the header that carries the signature, X-Signature when left out", Kinds: table.Texts, Pattern: tokenPattern, Form: "the name of a header"}, setSignHeader),
		table.Of[Sign](row{Key: "scheme", Doc: "hmac-sha256 (the default) or stripe", Kinds: table.Texts, Enum: SignSchemes}),
	}
)

// addWebhooks decodes maps, each of which is a webhook.
func addWebhooks(d *decoder, into *[]Webhook, maps ...value) {
	for _, one := range maps {
		if d.Take(one) {
			w := Webhook{Pos: one.Pos(), Key: one.Key}
			table.Fill(d, one.Node, one.Key, webhookFields, &w)
			*into = append(*into, w)
		}
	}
}

func setSignHeader(d *decoder, v value, s *Sign) {
	if !isSignHeader(v.Text.Value) {
		d.Refuse(v)
		return
	}
	s.Header = v.Text.Value
}

// isSignHeader reports whether a header can carry a signature, because it has no other meaning.
func isSignHeader(name string) bool {
	return isToken(name) && !SenderSets(name) &&
		!slices.ContainsFunc([]string{"Host", "Date", "Content-Type", "Idempotency-Key"}, func(h string) bool { return strings.EqualFold(h, name) })
}

// senderSet are the headers that the sender of webhooks writes itself. It must not be modified.
var senderSet = []string{"Content-Length", "Transfer-Encoding", "Connection", "X-Mockserver-Webhook-Depth"}

// SenderSets reports whether the sender of webhooks writes a header itself: those that frame the
// message, and the depth. A declared one is never sent.
func SenderSets(name string) bool {
	return slices.ContainsFunc(senderSet, func(f string) bool { return strings.EqualFold(f, name) })
}

// EffectiveMethod returns the method of the request: POST if none is declared.
func (w *Webhook) EffectiveMethod() string {
	if w.Method == "" {
		return DefaultWebhookMethod
	}
	return w.Method
}

// EffectiveDelay returns how long after the response the webhook is sent.
func (w *Webhook) EffectiveDelay() time.Duration {
	switch {
	case w.Delay == 0:
		return DefaultDelay
	case w.Delay < 0:
		return 0
	}
	return w.Delay
}

// Effective returns the retry with its defaults; nil means one attempt.
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

// webhooks checks the webhooks of the endpoint or outcome at the given keys. Their keys end with
// the way they were given: a single one as webhook, several as webhooks.
func (c *checker) webhooks(all []Webhook, place []string) {
	around := c.path(place)
	for i := range all {
		w := &all[i]
		c.webhook(w, below(place, strings.TrimPrefix(strings.TrimPrefix(w.Key, around), ".")))
	}
}

func (c *checker) webhook(w *Webhook, place []string) {
	at := func(keys ...string) []string { return below(place, keys...) }
	inBounds(c, webhookFields, w, place)
	c.target(&w.URL, at("url")...)
	c.clientTLS(&w.Cert, &w.ClientKey, place)
	if address.Scheme(w.URL.Value) == "http" {
		c.notForURL("https URLs; this one begins with http://", place, tlsKeys(&w.CA, &w.Cert, &w.ClientKey, w.Insecure)...)
	}
	c.webhookHeaders(w, at("headers"))
	c.webhookBody(w, at("body"))
	if r := w.Retry; r != nil && inBounds(c, retryFields, r, at("retry")) && r.MaxBackoff != 0 && r.MaxBackoff < r.Backoff {
		c.wrong(fmt.Sprintf("is below the back-off of %v; expected as much or more", r.Backoff), at("retry", "max-backoff")...)
	}
	if s := w.Sign; s != nil && inBounds(c, signFields, s, at("sign")) && s.Header != "" && !isSignHeader(s.Header) {
		c.wrong(fmt.Sprintf("%q is not the name of a header that can carry a signature", wording.Clip(s.Header)), at("sign", "header")...)
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

// webhookBody warns about a fixed text that is sent as JSON but is not valid.
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
	format := "the body is sent as " + strings.ReplaceAll(wording.Clip(sent), "%", "%%") + ", but it is not JSON: %s"
	if !ok {
		format += "; declare its Content-Type under headers"
	}
	c.noJSON(&w.Body, holdsMany(MediaType(sent)), format, keys)
}

// EffectiveHeader returns the header that carries the signature.
func (s *Sign) EffectiveHeader() string {
	if s.Header == "" {
		return DefaultSignHeader
	}
	return s.Header
}
