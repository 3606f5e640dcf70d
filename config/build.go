package config

import (
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
// The zero value of a field means the same as a missing key in a file. New itself does not check
// anything: Validate does, and so does the server before it serves the spec. The endpoints may be
// modified and used again afterwards. An endpoint that was read from a file and then modified is
// checked like any other, but has no position any more.
func New(endpoints ...Endpoint) *Spec {
	return &Spec{Endpoints: unplaced(endpoints)}
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
// Join combines it with a spec of endpoints. Like New, it copies its arguments.
func NewWebSockets(sockets ...WebSocket) *Spec {
	return &Spec{WebSockets: unplaced(sockets)}
}

// NewData returns a spec of sets of rows that are declared in Go:
//
//	spec := config.NewData(config.Data{
//		Name: "users",
//		Rows: []config.Text{config.JSON(map[string]any{"id": "1", "name": "Ada"})},
//	})
//
// Join combines it with a spec of endpoints. Like New, it copies its arguments.
func NewData(sets ...Data) *Spec {
	return &Spec{Data: unplaced(sets)}
}

// unplaced copies declarations without their positions in files.
func unplaced[T any](all []T) []T {
	c := copier{text: func(t syntax.Text, _ string) syntax.Text { return t.Unplaced() }}
	copies := make([]T, len(all))
	for i := range all {
		copies[i] = copied(c, &all[i], "")
	}
	return copies
}

// Join returns the endpoints of several specs as one, with all their problems. The order is kept,
// except that those of OpenAPI documents come last: if two endpoints match the same requests, the
// first one answers.
func Join(specs ...*Spec) *Spec {
	joined := &Spec{}
	for _, s := range specs {
		s = s.orNone()
		joined.Endpoints = append(joined.Endpoints, s.Endpoints...)
		joined.Problems = append(joined.Problems, s.Problems...)
		joined.Broken = append(joined.Broken, s.Broken...)
		joined.WebSockets = append(joined.WebSockets, s.WebSockets...)
		joined.BrokenWebSockets = append(joined.BrokenWebSockets, s.BrokenWebSockets...)
		joined.Data = append(joined.Data, s.Data...)
		joined.BrokenData = append(joined.BrokenData, s.BrokenData...)
		joined.Scenarios = append(joined.Scenarios, s.Scenarios...)
		joined.BrokenScenarios = append(joined.BrokenScenarios, s.BrokenScenarios...)
		joined.Upstreams = append(joined.Upstreams, s.Upstreams...)
		joined.BrokenUpstreams = append(joined.BrokenUpstreams, s.BrokenUpstreams...)
		joined.files = append(joined.files, s.files...)
		joined.leftOut = append(joined.leftOut, s.leftOut...)
		joined.documents = append(joined.documents, s.documents...)
		joined.referenced = append(joined.referenced, s.referenced...)
	}
	joined.inRank()
	return joined
}

// inRank brings the endpoints into the order in which they answer: those that are declared, then those
// of resources, then those of OpenAPI documents.
func (s *Spec) inRank() {
	rank := func(e *Endpoint) int {
		switch {
		case e.Operation != nil:
			return 2
		case e.Resource != nil:
			return 1
		}
		return 0
	}
	if !slices.IsSortedFunc(s.Endpoints, func(a, b Endpoint) int { return rank(&a) - rank(&b) }) {
		s.Endpoints = slices.Clone(s.Endpoints)
		slices.SortStableFunc(s.Endpoints, func(a, b Endpoint) int { return rank(&a) - rank(&b) })
	}
}

// Without returns the spec without one of its endpoints, by index, and without the problems of that
// endpoint. If the endpoint was added by Join, nothing of it remains.
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

// has reports whether an endpoint or a WebSocket is declared in a file.
func (s *Spec) has(file string) bool {
	return slices.ContainsFunc(s.Endpoints, func(e Endpoint) bool { return e.Pos.File == file }) ||
		slices.ContainsFunc(s.WebSockets, func(w WebSocket) bool { return w.Pos.File == file }) ||
		slices.ContainsFunc(s.Data, func(d Data) bool { return d.Pos.File == file })
}

// orNone returns s or, if s is nil, a spec with that as its problem.
func (s *Spec) orNone() *Spec {
	if s != nil {
		return s
	}
	return &Spec{Problems: syntax.Problems{{What: "there is no spec, nil was given; config.New() is one without endpoints"}}}
}

// Plain returns a text as it is: a path, a condition, or the template of a body or a header value.
func Plain(text string) syntax.Text { return syntax.Text{Value: text} }

// JSON returns a body that is the JSON text of a Go value, as written by encoding/json, but with
// only the escapes that JSON requires. As in a map in a file, its strings may contain placeholders,
// which are rendered inside the quotes. A value that encoding/json refuses is a problem of the
// endpoint.
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

// Headers returns headers from alternating names and values, in order: Headers("Location", "/a",
// "Set-Cookie", "b=1", "Set-Cookie", "c=2"). Values may contain placeholders. A name without a
// value is a problem of the endpoint.
func Headers(namesAndValues ...string) []Header {
	headers := make([]Header, 0, (len(namesAndValues)+1)/2)
	for pair := range slices.Chunk(namesAndValues, 2) {
		h := Header{Name: pair[0], Value: syntax.Faulty("the name has no value after it; Headers takes names and values in turn")}
		if len(pair) == 2 {
			h.Value = Plain(pair[1])
		}
		headers = append(headers, h)
	}
	return headers
}

// Complete returns s with the endpoints made in Go, which have no Key, as if they had been read
// from a file: each with a key, "[2].endpoint" for the third one, their errors in Problems, and the
// invalid ones in Broken. It does not modify s, and returns s itself if all endpoints were read
// from files.
func (s *Spec) Complete() *Spec {
	s = s.orNone()
	if !slices.ContainsFunc(s.Endpoints, func(e Endpoint) bool { return e.Key == "" }) &&
		!slices.ContainsFunc(s.WebSockets, func(w WebSocket) bool { return w.Key == "" }) &&
		!slices.ContainsFunc(s.Data, func(d Data) bool { return d.Key == "" }) {
		return s
	}
	c := &Spec{Problems: slices.Clone(s.Problems), files: s.files, documents: s.documents, referenced: s.referenced}
	c.Endpoints, c.Broken = completed("endpoint", s.Endpoints, s.Broken, &c.Problems)
	c.WebSockets, c.BrokenWebSockets = completed("websocket", s.WebSockets, s.BrokenWebSockets, &c.Problems)
	c.Scenarios, c.BrokenScenarios = s.Scenarios, s.BrokenScenarios
	c.Upstreams, c.BrokenUpstreams = s.Upstreams, s.BrokenUpstreams
	c.Data, c.BrokenData = completed("data", s.Data, s.BrokenData, &c.Problems)
	return c
}

// declared is what New and NewWebSockets take.
type declared[T any] interface {
	*T
	madeInGo() bool
	complete()
	faults(reported map[string]bool) syntax.Problems
	Claim(ps syntax.Problems) syntax.Problems
}

// completed completes the declarations of one kind that were made in Go. It separates the valid
// ones from the broken ones, which come after those that were already known.
func completed[T any, P declared[T]](kind string, all, were []T, problems *syntax.Problems) (sound, broken []T) {
	sound, broken = make([]T, 0, len(all)), slices.Clone(were)
	number := 0
	for _, one := range all {
		if !P(&one).madeInGo() {
			sound = append(sound, one)
			continue
		}
		p := newPlacer(number)
		one = copied(p.copier, &one, fmt.Sprintf("[%d].%s", number, kind))
		number++
		P(&one).complete()
		found := P(&one).Claim(append(p.problems, P(&one).faults(p.faulty)...))
		*problems = append(*problems, found...)
		if found.Err() == nil {
			sound = append(sound, one)
		} else {
			broken = append(broken, one)
		}
	}
	return sound, broken
}

func (e *Endpoint) madeInGo() bool  { return e.Key == "" }
func (w *WebSocket) madeInGo() bool { return w.Key == "" }

func (e *Endpoint) faults(reported map[string]bool) syntax.Problems {
	return check(e, e.Key, nil, reported)
}

func (w *WebSocket) faults(reported map[string]bool) syntax.Problems { return w.check(nil, reported) }

// Claim sets the endpoint's method and path in those problems that have no position in a file. It
// modifies ps and returns it.
func (e *Endpoint) Claim(ps syntax.Problems) syntax.Problems {
	name := wording.Label(e.EffectiveMethod())
	if e.Path.Value != "" {
		name += " " + wording.Label(e.Path.Value)
	}
	return claim(ps, e.Pos, name)
}

// claim names the declaration at pos in those problems that have no position in a file.
func claim(ps syntax.Problems, pos syntax.Pos, name string) syntax.Problems {
	for i := range ps {
		if ps[i].Pos.File == "" && pos.Line == 0 {
			ps[i].Endpoint = name
		}
	}
	return ps
}

// placer gives a declaration made in Go, and its texts, their positions.
type placer struct {
	copier
	problems syntax.Problems // found when the texts were made
	faulty   map[string]bool // the keys of these problems
}

// newPlacer returns the placer of a declaration, given its number among those made in Go.
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

// complete fills in what a file expresses differently from Go.
func (e *Endpoint) complete() {
	e.Response.complete()
	completeRest(e.Webhooks, e.Latency, e.Fault)
	for i := range e.Responses {
		o := &e.Responses[i]
		o.Weighted = o.Weighted || o.Weight != 0
		o.Response.complete()
		completeRest(o.Webhooks, o.Latency, o.Fault)
		completeDo(o.Do)
	}
	completeDo(e.Do)
	for i := range e.Let {
		e.Let[i].Value.complete()
	}
}

func completeDo(all []Do) {
	for i := range all {
		o := &all[i]
		o.Row.complete()
		o.With.complete()
		for j := range o.Set {
			o.Set[j].Value.complete()
		}
		if o.Else != nil {
			o.Else.complete()
		}
	}
}

func (m *Made) complete() { m.Text, m.JSON = completeBody(m.Text, m.JSON, false) }

func (r *Response) complete() { r.Body, r.BodyJSON = completeBody(r.Body, r.BodyJSON, r.Raw) }

func completeRest(hooks []Webhook, l *Latency, f *Fault) {
	for i := range hooks {
		hooks[i].Body, hooks[i].BodyJSON = completeBody(hooks[i].Body, hooks[i].BodyJSON, false)
	}
	l.complete(false)
	if f != nil {
		f.Rated = f.Rated || f.Rate != 0
	}
}

// completeBody returns a body made in Go, and whether it is JSON text.
func completeBody(body syntax.Text, isJSON, raw bool) (syntax.Text, bool) {
	if raw {
		body = body.Raw()
	}
	return body, isJSON || body.IsJSON()
}

// complete does the same for a WebSocket.
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
