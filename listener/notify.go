package listener

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"mockserver/config"
	"mockserver/config/syntax"
	"mockserver/dispatcher"
	"mockserver/internal/address"
	"mockserver/internal/wording"
	"mockserver/matcher"
	"mockserver/renderer"
)

// hook is one compiled webhook of an endpoint.
type hook struct {
	shared  *dispatcher.Webhook // what all deliveries have in common
	when    *renderer.Condition
	delay   time.Duration
	url     *renderer.Template // nil if it is the same for every request
	headers []header           // without Host; nil if all are the same for every request
	host    *renderer.Template // the Host header; nil if it is fixed or not declared
	body    *renderer.Template // nil if it is fixed
}

const (
	// maxDepth is how many webhooks in a row may trigger each other.
	maxDepth = 10
	// webhookLines is the maximum number of log lines about failed webhooks per second.
	webhookLines = 10
)

// answerHooks compiles the webhooks of an answer, whose texts know it.
func (c *compiler) answerHooks(all []config.Webhook, name string, scope *renderer.Scope) ([]hook, syntax.Problems) {
	within := *scope
	within.Response = true
	return c.hooks(all, name, &within)
}

// moved compiles the webhooks of rows that change by themselves.
func (c *compiler) moved(all []config.Webhook, name string, scope *renderer.Scope) (func(*matcher.Request, time.Time), syntax.Problems) {
	hooks, problems := c.hooks(all, name, scope)
	for i := range hooks {
		if all[i].Delay == 0 { // they leave when the row moves, unless something else is said
			hooks[i].delay = 0
		}
	}
	return func(r *matcher.Request, at time.Time) { c.send(hooks, r, at) }, problems
}

// hooks compiles webhooks. If webhooks are not sent, it only checks them, so that no request meets
// them.
func (c *compiler) hooks(all []config.Webhook, name string, scope *renderer.Scope) ([]hook, syntax.Problems) {
	var problems syntax.Problems
	hooks := make([]hook, 0, len(all))
	for i := range all {
		h, wrong := c.hook(&all[i], scope)
		h.shared.Name = name
		if len(all) > 1 {
			h.shared.Name += " webhooks[" + strconv.Itoa(i) + "]"
		}
		hooks = append(hooks, h)
		problems = append(problems, wrong...)
	}
	if c.noWebhooks {
		return nil, problems
	}
	return hooks, problems
}

func (c *compiler) hook(w *config.Webhook, scope *renderer.Scope) (hook, syntax.Problems) {
	retry := w.Retry.Effective()
	h := hook{
		delay: w.EffectiveDelay(),
		shared: &dispatcher.Webhook{
			Method:  w.EffectiveMethod(),
			Timeout: w.Timeout,
			Retry:   dispatcher.Retry{Attempts: retry.Attempts, Backoff: retry.Backoff, MaxBackoff: retry.MaxBackoff},
		},
	}
	if h.shared.Timeout == 0 {
		h.shared.Timeout = config.DefaultWebhookTimeout
	}
	var problems syntax.Problems
	h.shared.TLS, problems = hookTLS(w)
	if s := w.Sign; s != nil {
		h.shared.Sign = &dispatcher.Signature{Secret: s.Secret, Header: s.EffectiveHeader(), Scheme: s.Scheme}
	}
	var wrong syntax.Problems
	h.when, wrong = renderer.CompileCondition(w.If, scope)
	problems = append(problems, wrong...)
	var text string
	text, h.url, wrong = compileText(w.URL, renderer.URL, scope)
	if what := address.URLFault([]byte(text)); what != "" && h.url == nil && wrong.Err() == nil && text != w.URL.Value {
		// Fixed URLs were checked when they were read. This one may be fixed by env.NAME.
		wrong = append(wrong, syntax.Problem{Pos: w.URL.Pos, Key: w.URL.Key, What: fmt.Sprintf("%q is not a valid URL: %s", address.Shown(text), what)})
	}
	h.shared.URL, problems = text, append(problems, wrong...)
	form, wrong := c.hookHeaders(&h, w, scope)
	problems = append(problems, wrong...)
	text, h.body, wrong = compileUnless(w.Raw, w.Body, form, scope)
	h.shared.Body, problems = []byte(text), append(problems, wrong...)
	return h, problems
}

// hookHeaders compiles the headers of a webhook. It returns the form of the body, which they
// determine.
func (c *compiler) hookHeaders(h *hook, w *config.Webhook, scope *renderer.Scope) (form renderer.Form, problems syntax.Problems) {
	form = renderer.JSON
	if _, ok := declared(&config.Response{Headers: w.Headers}, "Content-Type"); !ok {
		h.headers = append(h.headers, header{name: "Content-Type", value: typeJSON})
	}
	templated := false
	for i := range w.Headers {
		d := &w.Headers[i]
		if config.SenderSets(d.Name) || w.Sign != nil && strings.EqualFold(d.Name, w.Sign.EffectiveHeader()) {
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
			if what := address.HostPortFault([]byte(text)); what != "" && wrong.Err() == nil && text != d.Value.Value { // like the URL
				problems = append(problems, syntax.Problem{Pos: d.Value.Pos, Key: d.Value.Key, What: hostError([]byte(text), what).Error()})
			}
		}
		h.headers = append(h.headers, header{name: d.Name, value: text, template: t})
	}
	if !templated {
		h.shared.Header = appendHeaderLines(nil, h.headers, nil)
		h.headers = nil
	}
	return form, problems
}

// compileText compiles a text. It returns the text itself if it is the same for every request, and
// a template otherwise.
func compileText(text syntax.Text, form renderer.Form, scope *renderer.Scope) (string, *renderer.Template, syntax.Problems) {
	t, problems := renderer.Compile(text, form, scope)
	if t == nil {
		return "", nil, problems
	}
	if same, ok := t.Static(); ok {
		return same, nil, problems
	}
	return "", t, problems
}

// compileUnless is compileText, except that a raw text is not compiled.
func compileUnless(raw bool, text syntax.Text, form renderer.Form, scope *renderer.Scope) (string, *renderer.Template, syntax.Problems) {
	if raw {
		return text.Value, nil, nil
	}
	return compileText(text, form, scope)
}

// appendHeaderLines appends headers in the form that the dispatcher expects.
func appendHeaderLines(dst []byte, headers []header, r *matcher.Request) []byte {
	for i := range headers {
		h := &headers[i]
		dst = append(append(dst, h.name...), ": "...)
		if h.template == nil {
			dst = append(dst, h.value...)
		} else {
			dst = h.template.Append(dst, r)
		}
		dst = append(dst, "\r\n"...)
	}
	return dst
}

// notify schedules the webhooks of an answer whose conditions are true. Their content is rendered
// now, from the request; their delay starts when the response has been written.
func (s *Server) notify(a *answer, c *call) {
	if len(a.hooks) == 0 {
		return
	}
	r := &c.Request
	r.Answer = &c.reply
	depth := depthOf(r)
	if depth >= maxDepth {
		if suppressed, ok := s.webhookPace.Pass(time.Now()); ok {
			s.log.Warn("no webhook: too many webhooks led to this request", "endpoint", a.name, "depth", depth, "suppressed", suppressed)
		}
		return
	}
	s.accepted(a.hooks, r, depth, func(d dispatcher.Delivery) {
		if c.peer == nobody { // nobody can say when the response is written
			s.webhooks.Start(d, time.Now())
			return
		}
		f := s.followingOf(c.peer)
		f.deliveries = append(f.deliveries, d)
		c.peer.AfterWrite(f.start)
	})
}

// notifyMoved schedules the webhooks of a row that has changed by itself at a time.
func (s *Server) notifyMoved(hooks []hook, r *matcher.Request, at time.Time) {
	r.MaxText = s.opts.MaxResponse
	s.accepted(hooks, r, 0, func(d dispatcher.Delivery) { s.webhooks.Start(d, at) })
}

// accepted renders those of the webhooks whose conditions are true, and calls start for each that the
// dispatcher accepts.
func (s *Server) accepted(hooks []hook, r *matcher.Request, depth int, start func(dispatcher.Delivery)) {
	for i := range hooks {
		h := &hooks[i]
		if !h.when.Always() && !h.when.Holds(r) {
			continue
		}
		d, err := h.delivery(r, depth+1)
		switch {
		case r.Stopped == renderer.ErrLeft:
			return
		case r.Stopped != nil:
			_, err = s.unfinished(r.Stopped)
			r.Stopped = nil
		}
		if err != nil {
			s.unsendable.Add(1)
			s.tellFailed(dispatcher.Failure{Webhook: h.shared, Attempt: 1, Final: true, Err: err})
			continue
		}
		if err := s.webhooks.Accept(&d); err != nil {
			s.tellRefused(h, err)
			continue
		}
		start(d)
	}
}

// following holds the webhooks of a peer whose delay starts when the response has been
// written.
type following struct {
	deliveries []dispatcher.Delivery
	start      func(written time.Time)
}

func (s *Server) followingOf(p peer) *following {
	f, _ := (*p.Kept()).(*following)
	if f == nil {
		f = &following{}
		f.start = func(written time.Time) {
			for i := range f.deliveries {
				s.webhooks.Start(f.deliveries[i], written)
			}
			clear(f.deliveries)
			f.deliveries = f.deliveries[:0]
		}
		*p.Kept() = f
	}
	return f
}

// texts are buffers for rendering the parts of a delivery, which are then copied.
var texts = sync.Pool{New: func() any { return new([]byte) }}

// delivery renders one delivery. It returns an error if the URL or Host is invalid.
func (h *hook) delivery(r *matcher.Request, depth int) (dispatcher.Delivery, error) {
	if h.url == nil && h.headers == nil && h.body == nil {
		return dispatcher.NewDelivery(h.shared, h.delay, depth, dispatcher.Parts{}), nil
	}
	room := texts.Get().(*[]byte)
	b := (*room)[:0]
	var ends [3]int
	if h.url != nil {
		b = h.url.Append(b, r)
	}
	ends[0] = len(b)
	if h.headers != nil {
		b = appendHeaderLines(b, h.headers, r)
	}
	var host []byte
	if h.host != nil {
		b = append(b, "Host: "...)
		begin := len(b)
		b = h.host.Append(b, r)
		host = b[begin:]
		b = append(b, "\r\n"...)
	}
	ends[1] = len(b)
	if h.body != nil {
		b = h.body.Append(b, r)
	}
	ends[2] = len(b)
	var p dispatcher.Parts
	if h.url != nil {
		p.URL = b[:ends[0]:ends[0]]
	}
	if h.headers != nil {
		p.Header = b[ends[0]:ends[1]:ends[1]]
	}
	if h.body != nil {
		p.Body = b[ends[1]:ends[2]:ends[2]]
	}
	var d dispatcher.Delivery
	err := r.Stopped
	if err == nil {
		err = h.renderedError(p.URL, host)
	}
	if err == nil {
		d = dispatcher.NewDelivery(h.shared, h.delay, depth, p)
	}
	if cap(b) <= keptBody {
		*room = b
		texts.Put(room)
	}
	return d, err
}

// renderedError returns why a rendered URL or Host is invalid. If Host is empty, that of the URL is
// used.
func (h *hook) renderedError(url, host []byte) error {
	if h.url != nil {
		if what := address.URLFault(url); what != "" {
			return fmt.Errorf("%q is not a valid URL: %s", address.Shown(string(url)), what)
		}
	}
	if host = bytes.TrimSpace(host); len(host) > 0 {
		if what := address.HostPortFault(host); what != "" {
			return hostError(host, what)
		}
	}
	return nil
}

func hostError(host []byte, what string) error {
	return fmt.Errorf("%q is not the Host of a request: %s", address.Shown(string(host)), what)
}

// depthOf returns how many webhooks in a row led to a request.
func depthOf(r *matcher.Request) int {
	value, ok := r.Header(dispatcher.DepthHeader)
	if !ok {
		return 0
	}
	depth, err := strconv.Atoi(string(value))
	switch {
	case errors.Is(err, strconv.ErrRange):
		return maxDepth
	case err != nil:
		return 0
	}
	return max(depth, 0)
}

// tellRefused logs that a webhook was not accepted, at most once a second.
func (s *Server) tellRefused(h *hook, err error) {
	if suppressed, ok := s.refusedPace.Pass(time.Now()); ok {
		s.log.Error("webhook refused", "webhook", h.shared.Name, "error", err.Error(), "suppressed", suppressed)
	}
}

// tellFailed logs a failed attempt. The dispatcher calls it.
func (s *Server) tellFailed(f dispatcher.Failure) {
	suppressed, ok := s.webhookPace.Pass(time.Now())
	if !ok {
		return
	}
	attrs := []slog.Attr{slog.String("webhook", f.Webhook.Name), slog.Int("attempt", f.Attempt), slog.Bool("final", f.Final)}
	if f.Err != nil {
		attrs = append(attrs, slog.String("error", wording.Bounded(f.Err.Error())))
	} else {
		attrs = append(attrs, slog.Int("status", f.Status))
	}
	if suppressed > 0 {
		attrs = append(attrs, slog.Int("suppressed", suppressed))
	}
	s.log.LogAttrs(context.Background(), slog.LevelWarn, "webhook failed", attrs...)
}

// openWebhooks starts the queue. If webhooks are not sent, stored ones are not sent either.
func (s *Server) openWebhooks() error {
	store := s.opts.WebhookStore
	if s.opts.NoWebhooks {
		store = ""
	}
	var err error
	s.webhooks, err = dispatcher.Open(dispatcher.Options{
		MaxPending: s.opts.MaxPendingWebhooks,
		Store:      store,
		Logger:     s.log,
		Failed:     s.tellFailed,
	})
	return err
}

// closeWebhooks sends what falls due before ctx ends, and logs what became of all webhooks.
func (s *Server) closeWebhooks(ctx context.Context) error {
	if s.webhooks == nil { // it was never started
		return nil
	}
	stats, err := s.webhooks.Close(ctx)
	stats.Dead += s.unsendable.Load()
	if errors.Is(err, dispatcher.ErrClosed) {
		return nil
	}
	if stats.Lag.Count > 0 || stats.Pending+stats.Dead+stats.Refused > 0 {
		level := slog.LevelInfo
		if stats.Abandoned > 0 {
			level = slog.LevelWarn
		}
		s.log.LogAttrs(context.Background(), level, "webhooks",
			slog.Int64("delivered", stats.Delivered), slog.Int64("retried", stats.Retried),
			slog.Int64("dead", stats.Dead), slog.Int64("refused", stats.Refused),
			slog.Int64("abandoned", stats.Abandoned), slog.Int64("kept", stats.Kept),
			slog.Duration("lag_p50", stats.Lag.Quantile(0.5)), slog.Duration("lag_p99", stats.Lag.Quantile(0.99)),
			slog.Duration("lag_max", stats.Lag.Max))
	}
	return err
}

// Webhooks returns what became of the webhooks so far.
func (s *Server) Webhooks() dispatcher.Stats {
	stats := s.webhooks.Stats()
	stats.Dead += s.unsendable.Load()
	return stats
}
