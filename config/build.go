package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mockserver/config/syntax"
	"mockserver/internal/wording"
)

// New returns a spec of endpoints that are declared in Go, in order:
//
//	spec := config.New(
//		config.Endpoint{
//			Path:     config.Plain("/hello/:name"),
//			Response: config.Response{Body: config.Plain(`{"hello": "{{path-params.name}}"}`)},
//		},
//		config.Endpoint{
//			Method: "POST",
//			Path:   config.Plain("/orders"),
//			If:     config.Plain("json-params.amount > 0"),
//			Response: config.Response{
//				Status:  201,
//				Headers: config.Headers("Location", "/orders/{{uuid}}"),
//				Body:    config.JSON(map[string]any{"state": "paid", "amount": "{{json-params.amount}}"}),
//			},
//		},
//	)
//
// The zero value of a field is what a file says by leaving a key out. New itself
// finds no mistakes: Validate does, and so does the server before it serves the
// spec. The endpoints may be changed and used again afterwards. One that was read
// from a file, and changed since, is checked as any other; it has no place then.
func New(endpoints ...Endpoint) *Spec {
	spec := &Spec{Endpoints: make([]Endpoint, len(endpoints))}
	for i := range endpoints {
		spec.Endpoints[i] = endpoints[i].unplaced()
	}
	return spec
}

// unplaced returns a copy that shares nothing with e and has no place in a file.
func (e *Endpoint) unplaced() Endpoint {
	c := *e
	c.Pos, c.Key = syntax.Pos{}, ""
	c.Path, c.If = e.Path.Unplaced(), e.If.Unplaced()
	c.Doc.Query, c.Doc.Tags = slices.Clone(e.Doc.Query), slices.Clone(e.Doc.Tags)
	c.Response = e.Response.unplaced()
	c.Webhooks = unplacedHooks(e.Webhooks)
	c.Responses = slices.Clone(e.Responses)
	for i := range c.Responses {
		o := &c.Responses[i]
		o.Key, o.Response, o.Webhooks = "", o.Response.unplaced(), unplacedHooks(o.Webhooks)
		o.Latency, o.Fault = o.Latency.unplaced(), o.Fault.unplaced()
	}
	c.Latency, c.Fault = e.Latency.unplaced(), e.Fault.unplaced()
	if e.RateLimit != nil {
		limit := *e.RateLimit
		limit.Pos, limit.Key = syntax.Pos{}, ""
		c.RateLimit = &limit
	}
	if e.Capacity != nil {
		capacity := *e.Capacity
		capacity.Pos, capacity.Key = syntax.Pos{}, ""
		c.Capacity = &capacity
	}
	return c
}

func (r *Response) unplaced() Response {
	c := *r
	c.Pos, c.Body = syntax.Pos{}, r.Body.Unplaced()
	c.Headers = slices.Clone(r.Headers)
	for i := range c.Headers {
		c.Headers[i].Value = c.Headers[i].Value.Unplaced()
	}
	if r.External != nil {
		x := *r.External
		x.Pos, x.Key, x.Path, x.Sheet = syntax.Pos{}, "", x.Path.Unplaced(), x.Sheet.Unplaced()
		c.External = &x
	}
	return c
}

func (l *Latency) unplaced() *Latency {
	if l == nil {
		return nil
	}
	c := *l
	c.Pos, c.Key, c.Curve = syntax.Pos{}, "", slices.Clone(l.Curve)
	return &c
}

func (f *Fault) unplaced() *Fault {
	if f == nil {
		return nil
	}
	c := *f
	c.Pos, c.Key = syntax.Pos{}, ""
	return &c
}

func unplacedHooks(hooks []Webhook) []Webhook {
	c := slices.Clone(hooks)
	for i := range c {
		c[i] = c[i].unplaced()
	}
	return c
}

func (w *Webhook) unplaced() Webhook {
	c := *w
	c.Pos, c.Key = syntax.Pos{}, ""
	c.URL, c.If, c.Body = w.URL.Unplaced(), w.If.Unplaced(), w.Body.Unplaced()
	c.Headers = slices.Clone(w.Headers)
	for i := range c.Headers {
		c.Headers[i].Value = c.Headers[i].Value.Unplaced()
	}
	if w.Retry != nil {
		retry := *w.Retry
		c.Retry = &retry
	}
	if w.Sign != nil {
		sign := *w.Sign
		c.Sign = &sign
	}
	return c
}

// Join returns the endpoints of several specs as one, in order but that those of OpenAPI
// documents come last, with all their problems: of two endpoints that match the same
// requests the first answers.
func Join(specs ...*Spec) *Spec {
	joined := &Spec{}
	for _, s := range specs {
		s = s.orNone()
		joined.Endpoints = append(joined.Endpoints, s.Endpoints...)
		joined.Problems = append(joined.Problems, s.Problems...)
		joined.Broken = append(joined.Broken, s.Broken...)
		joined.WebSockets = append(joined.WebSockets, s.WebSockets...)
		joined.BrokenWebSockets = append(joined.BrokenWebSockets, s.BrokenWebSockets...)
		joined.files = append(joined.files, s.files...)
		joined.leftOut = append(joined.leftOut, s.leftOut...)
		joined.documents = append(joined.documents, s.documents...)
		joined.referenced = append(joined.referenced, s.referenced...)
	}
	slices.SortStableFunc(joined.Endpoints, func(a, b Endpoint) int { return cmp.Compare(a.rank(), b.rank()) })
	return joined
}

// Without is the spec without one of its endpoints, by its index, and what was said of it:
// nothing is left of one that Join put there.
func (s *Spec) Without(i int) *Spec {
	e, c := &s.Endpoints[i], *s
	c.Endpoints = slices.Delete(slices.Clone(s.Endpoints), i, i+1)
	c.Problems = slices.DeleteFunc(slices.Clone(s.Problems), func(p syntax.Problem) bool {
		return p.Pos.File == e.Pos.File && (p.Key == e.Key || strings.HasPrefix(p.Key, e.Key+"."))
	})
	if !c.has(e.Pos.File) {
		c.files = slices.DeleteFunc(slices.Clone(s.files), func(file string) bool { return file == e.Pos.File })
	}
	return &c
}

// has tells whether an endpoint or a WebSocket is declared in a file.
func (s *Spec) has(file string) bool {
	return slices.ContainsFunc(s.Endpoints, func(e Endpoint) bool { return e.Pos.File == file }) ||
		slices.ContainsFunc(s.WebSockets, func(w WebSocket) bool { return w.Pos.File == file })
}

// rank is 1 for endpoints of documents, 0 for others.
func (e *Endpoint) rank() int {
	if e.Operation != nil {
		return 1
	}
	return 0
}

// orNone is s, or for nil a spec whose problem is that it is none.
func (s *Spec) orNone() *Spec {
	if s != nil {
		return s
	}
	return &Spec{Problems: syntax.Problems{{What: "there is no spec, nil was given; config.New() is one without endpoints"}}}
}

// Plain is a text as it stands: a path, a condition, the template of a body or of
// a header's value.
func Plain(text string) syntax.Text { return syntax.Text{Value: text} }

// JSON is a body that is the JSON text of a Go value, as encoding/json writes it,
// with no more escapes than JSON needs. Like those of a map in a file its texts may
// hold placeholders, which are rendered inside the quotes. A value that
// encoding/json refuses is a problem of the endpoint.
func JSON(value any) syntax.Text {
	data, err := json.Marshal(value)
	if err != nil {
		return syntax.Faulty("the value cannot be written as JSON: " + err.Error())
	}
	text, err := syntax.JSONText(data)
	if err != nil {
		return syntax.Faulty("the value cannot be written as JSON: " + err.Error())
	}
	return text
}

// Headers are headers of names and values in turn, in order: Headers("Location",
// "/a", "Set-Cookie", "b=1", "Set-Cookie", "c=2"). Values may hold placeholders. A
// name without a value is a problem of the endpoint.
func Headers(namesAndValues ...string) []Header {
	headers := make([]Header, 0, (len(namesAndValues)+1)/2)
	for pair := range slices.Chunk(namesAndValues, 2) {
		h := Header{Name: pair[0], Value: syntax.Faulty("the name has no value behind it; Headers takes names and values in turn")}
		if len(pair) == 2 {
			h.Value = Plain(pair[1])
		}
		headers = append(headers, h)
	}
	return headers
}

// Complete returns s with its endpoints that were made in Go, which have no Key,
// as if they had been read from a file: with a key each, "[2].endpoint" for the
// third of them, the mistakes among Problems, and those that have one among Broken.
// It changes nothing of s, and is s when all of its endpoints were read.
func (s *Spec) Complete() *Spec {
	s = s.orNone()
	if s.wasRead() {
		return s
	}
	c := &Spec{
		Problems: slices.Clone(s.Problems), Broken: slices.Clone(s.Broken), BrokenWebSockets: slices.Clone(s.BrokenWebSockets),
		files: s.files, documents: s.documents, referenced: s.referenced,
	}
	c.Endpoints = make([]Endpoint, 0, len(s.Endpoints))
	number := 0
	for i := range s.Endpoints {
		e := s.Endpoints[i]
		if e.Key != "" {
			c.Endpoints = append(c.Endpoints, e)
			continue
		}
		p := placer{number: number, endpoint: &e}
		p.place()
		problems := e.Claim(append(p.problems, check(&e, e.Key, nil, p.faulty)...))
		c.Problems = append(c.Problems, problems...)
		if problems.Err() == nil {
			c.Endpoints = append(c.Endpoints, e)
		} else {
			c.Broken = append(c.Broken, e)
		}
		number++
	}
	s.completeWebSockets(c)
	return c
}

// wasRead tells whether all endpoints and WebSockets of s were read from files.
func (s *Spec) wasRead() bool {
	if slices.ContainsFunc(s.WebSockets, func(w WebSocket) bool { return w.Key == "" }) {
		return false
	}
	for i := range s.Endpoints {
		if s.Endpoints[i].Key == "" {
			return false
		}
	}
	return true
}

// Claim puts the endpoint's method and path into those of its problems that have
// no place in a file. It changes ps and returns it.
func (e *Endpoint) Claim(ps syntax.Problems) syntax.Problems {
	for i := range ps {
		if ps[i].Pos.File == "" && e.Pos.Line == 0 {
			ps[i].Endpoint = wording.Label(e.EffectiveMethod())
			if e.Path.Value != "" {
				ps[i].Endpoint += " " + wording.Label(e.Path.Value)
			}
		}
	}
	return ps
}

// placer gives an endpoint made in Go, and the texts in it, their keys.
type placer struct {
	number   int // among those made in Go, from 0
	endpoint *Endpoint
	problems syntax.Problems // that were found when the texts were made
	faulty   map[string]bool // the keys of those
}

// place does it without changing what the endpoint shares with its origin.
func (p *placer) place() {
	e := p.endpoint
	e.Key = fmt.Sprintf("[%d].endpoint", p.number)
	e.Pos = syntax.Pos{Column: p.number + 1}
	p.text(&e.Path, ".path")
	p.text(&e.If, ".if")
	p.response(&e.Response, ".response")
	e.Webhooks = p.webhooks(e.Webhooks, "")
	e.Latency, e.Fault = p.latency(e.Latency, ".latency"), p.fault(e.Fault, ".fault")
	e.Responses = slices.Clone(e.Responses)
	for i := range e.Responses {
		o := &e.Responses[i]
		at := fmt.Sprintf(".responses[%d]", i)
		o.Key, o.Weighted = e.Key+at, o.Weighted || o.Weight != 0
		p.response(&o.Response, at)
		o.Webhooks = p.webhooks(o.Webhooks, at)
		o.Latency, o.Fault = p.latency(o.Latency, at+".latency"), p.fault(o.Fault, at+".fault")
	}
	if e.RateLimit != nil {
		limit := *e.RateLimit
		limit.Pos, limit.Key = e.Pos, e.Key+".rate-limit"
		e.RateLimit = &limit
	}
	if e.Capacity != nil {
		capacity := *e.Capacity
		capacity.Pos, capacity.Key = e.Pos, e.Key+".capacity"
		e.Capacity = &capacity
	}
}

// response gives a response its place, and its texts.
func (p *placer) response(r *Response, at string) {
	r.Pos = p.endpoint.Pos
	r.Headers = slices.Clone(r.Headers)
	for i := range r.Headers {
		p.text(&r.Headers[i].Value, under(at+".headers", r.Headers[i].Name))
	}
	if r.Body.IsJSON() {
		r.BodyJSON = true
		if r.Raw {
			r.Body = r.Body.Raw()
		}
	}
	p.text(&r.Body, at+".body")
	if r.External == nil {
		return
	}
	x := *r.External
	r.External = &x
	x.Pos, x.Key = p.endpoint.Pos, p.endpoint.Key+at+".external-body"
	p.text(&x.Path, at+".external-body.path")
	p.text(&x.Sheet, at+".external-body.sheet-name")
}

// latency is a copy of l that has a place, and the bounds that it leaves out.
func (p *placer) latency(l *Latency, at string) *Latency {
	if l == nil {
		return nil
	}
	c := *l
	c.Pos, c.Key, c.Curve = p.endpoint.Pos, p.endpoint.Key+at, slices.Clone(l.Curve)
	c.complete(false)
	return &c
}

func (p *placer) fault(f *Fault, at string) *Fault {
	if f == nil {
		return nil
	}
	c := *f
	c.Pos, c.Key = p.endpoint.Pos, p.endpoint.Key+at
	c.Rated = c.Rated || c.Rate != 0
	return &c
}

// webhooks are copies of hooks that have places, in the endpoint or in an outcome.
func (p *placer) webhooks(hooks []Webhook, around string) []Webhook {
	e := p.endpoint
	hooks = slices.Clone(hooks)
	for i := range hooks {
		w := &hooks[i]
		at := fmt.Sprintf("%s.webhooks[%d]", around, i)
		w.Pos, w.Key = e.Pos, e.Key+at
		p.text(&w.URL, at+".url")
		p.text(&w.If, at+".if")
		w.Headers = slices.Clone(w.Headers)
		for j := range w.Headers {
			p.text(&w.Headers[j].Value, under(at+".headers", w.Headers[j].Name))
		}
		if w.Body.IsJSON() {
			w.BodyJSON = true
		}
		p.text(&w.Body, at+".body")
	}
	return hooks
}

// text gives one text its place, and reports what was wrong with it when it was made.
func (p *placer) text(t *syntax.Text, key string) {
	t.Pos, t.Key = p.endpoint.Pos, p.endpoint.Key+key
	if t.Fault() == "" {
		return
	}
	p.problems = append(p.problems, syntax.Problem{Pos: t.Pos, Key: t.Key, What: t.Fault()})
	if p.faulty == nil {
		p.faulty = map[string]bool{}
	}
	p.faulty[t.Key] = true
}
