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
		spec.Endpoints[i] = copied(unplaced, &endpoints[i], "")
	}
	return spec
}

// NewWebSockets returns a spec of WebSockets that are declared in Go, in order:
//
//	spec := config.NewWebSockets(config.WebSocket{
//		Path:      config.Plain("/rooms/:room"),
//		OnConnect: &config.Message{Body: config.Plain("welcome to {{path-params.room}}")},
//		OnMessage: []config.Exchange{{
//			Pattern:  config.JSON(map[string]any{"echo": "{{json-params.echo}}"}),
//			Response: config.Message{Body: config.JSON(map[string]any{"echo": "{{json-params.echo}}"})},
//		}},
//	})
//
// Join makes one spec of it and one of endpoints. As New does, it copies what it is given.
func NewWebSockets(sockets ...WebSocket) *Spec {
	spec := &Spec{WebSockets: make([]WebSocket, len(sockets))}
	for i := range sockets {
		spec.WebSockets[i] = copied(unplaced, &sockets[i], "")
	}
	return spec
}

// unplaced copies declarations that have no place in a file.
var unplaced = copier{text: func(t syntax.Text, _ string) syntax.Text { return t.Unplaced() }}

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
		p := newPlacer(number)
		e = copied(p.copier, &e, fmt.Sprintf("[%d].endpoint", number))
		e.complete()
		problems := e.Claim(append(p.problems, check(&e, e.Key, nil, p.faulty)...))
		c.Problems = append(c.Problems, problems...)
		if problems.Err() == nil {
			c.Endpoints = append(c.Endpoints, e)
		} else {
			c.Broken = append(c.Broken, e)
		}
		number++
	}
	number = 0
	for i := range s.WebSockets {
		w := s.WebSockets[i]
		if w.Key != "" {
			c.WebSockets = append(c.WebSockets, w)
			continue
		}
		p := newPlacer(number)
		w = copied(p.copier, &w, fmt.Sprintf("[%d].websocket", number))
		w.complete()
		problems := w.Claim(append(p.problems, w.check(nil, p.faulty)...))
		c.Problems = append(c.Problems, problems...)
		if problems.Err() == nil {
			c.WebSockets = append(c.WebSockets, w)
		} else {
			c.BrokenWebSockets = append(c.BrokenWebSockets, w)
		}
		number++
	}
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

// placer gives a declaration made in Go, and the texts in it, their places.
type placer struct {
	copier
	problems syntax.Problems // that were found when the texts were made
	faulty   map[string]bool // the keys of those
}

// newPlacer returns the placer of a declaration by its number among those made in Go.
func newPlacer(number int) *placer {
	p := &placer{faulty: map[string]bool{}}
	p.copier = copier{pos: syntax.Pos{Column: number + 1}, keys: true, text: func(t syntax.Text, key string) syntax.Text {
		t.Pos, t.Key = p.pos, key
		if fault := t.Fault(); fault != "" {
			p.problems = append(p.problems, syntax.Problem{Pos: t.Pos, Key: key, What: fault})
			p.faulty[key] = true
		}
		return t
	}}
	return p
}

// complete gives an endpoint made in Go what a file says in another way.
func (e *Endpoint) complete() {
	e.Response.complete()
	completeWebhooks(e.Webhooks)
	e.Latency.complete(false)
	e.Fault.complete()
	for i := range e.Responses {
		o := &e.Responses[i]
		o.Weighted = o.Weighted || o.Weight != 0
		o.Response.complete()
		completeWebhooks(o.Webhooks)
		o.Latency.complete(false)
		o.Fault.complete()
	}
}

func (r *Response) complete() { r.Body, r.BodyJSON = completeBody(r.Body, r.BodyJSON, r.Raw) }

func completeWebhooks(hooks []Webhook) {
	for i := range hooks {
		hooks[i].Body, hooks[i].BodyJSON = completeBody(hooks[i].Body, hooks[i].BodyJSON, false)
	}
}

// completeBody returns a body made in Go, and whether it is JSON text.
func completeBody(body syntax.Text, isJSON, raw bool) (syntax.Text, bool) {
	if raw {
		body = body.Raw()
	}
	return body, isJSON || body.IsJSON()
}

func (f *Fault) complete() {
	if f != nil {
		f.Rated = f.Rated || f.Rate != 0
	}
}

// complete is that of an endpoint for a WebSocket.
func (w *WebSocket) complete() {
	if w.OnConnect != nil {
		w.OnConnect.complete()
	}
	for i := range w.OnMessage {
		w.OnMessage[i].Pattern = w.OnMessage[i].Pattern.Raw()
		w.OnMessage[i].Response.complete()
	}
	for i := range w.Send {
		w.Send[i].Response.complete()
	}
}

func (m *Message) complete() { m.Body, m.BodyJSON = completeBody(m.Body, m.BodyJSON, m.Raw) }
