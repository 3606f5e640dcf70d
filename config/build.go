package config

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"mockserver/config/item"
	"mockserver/config/syntax"
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
// checked like any other, but no longer has a position.
func New(endpoints ...Endpoint) *Spec {
	return &Spec{Endpoints: item.Unplaced(endpoints)}
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
// Join combines such a spec with one of endpoints. Like New, NewWebSockets copies its arguments.
func NewWebSockets(sockets ...WebSocket) *Spec {
	return &Spec{WebSockets: item.Unplaced(sockets)}
}

// NewData returns a spec of sets of rows that are declared in Go:
//
//	spec := config.NewData(config.Data{
//		Name: "users",
//		Rows: []config.Text{config.JSON(map[string]any{"id": "1", "name": "Ada"})},
//	})
//
// Join combines such a spec with one of endpoints. Like New, NewData copies its arguments.
func NewData(sets ...Data) *Spec {
	return &Spec{Data: item.Unplaced(sets)}
}

// Join combines several specs into one, with all their problems. The order of endpoints is kept,
// except that endpoints of resources come after the declared ones, and those of OpenAPI documents
// come last: if two endpoints match the same requests, the first one answers.
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

// Without returns a copy of the spec without the endpoint at index i and its problems. If nothing
// else is declared in the file of the endpoint, the copy no longer contains that file either.
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

// Plain returns a text with the given content: a path, a condition, or the template of a body or a
// header value.
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

// Complete returns s with the endpoints, WebSockets and sets of rows that were made in Go, which
// have no Key, as if they had been read from a file: each with a key, such as "[2].endpoint" for
// the third endpoint, their problems in Problems, and the invalid ones in Broken, BrokenWebSockets
// and BrokenData. It does not modify s, and returns s itself if nothing was made in Go.
func (s *Spec) Complete() *Spec {
	s = s.orNone()
	if !slices.ContainsFunc(s.Endpoints, func(e Endpoint) bool { return e.Key == "" }) &&
		!slices.ContainsFunc(s.WebSockets, func(w WebSocket) bool { return w.Key == "" }) &&
		!slices.ContainsFunc(s.Data, func(d Data) bool { return d.Key == "" }) {
		return s
	}
	c := &Spec{Problems: slices.Clone(s.Problems), files: s.files, documents: s.documents, referenced: s.referenced}
	c.Endpoints, c.Broken = item.Complete("endpoint", s.Endpoints, s.Broken, &c.Problems)
	c.WebSockets, c.BrokenWebSockets = item.Complete("websocket", s.WebSockets, s.BrokenWebSockets, &c.Problems)
	c.Scenarios, c.BrokenScenarios = s.Scenarios, s.BrokenScenarios
	c.Upstreams, c.BrokenUpstreams = s.Upstreams, s.BrokenUpstreams
	c.Data, c.BrokenData = item.Complete("data", s.Data, s.BrokenData, &c.Problems)
	return c
}

// Validate returns all problems of the spec: those found when it was read, and those of items made
// in Go. It does not modify the spec.
func (s *Spec) Validate() syntax.Problems {
	return slices.Clone(s.Complete().Problems)
}

// InOrder sorts problems into the order of the files of the spec; those of other files come last.
// It modifies ps and returns it.
func (s *Spec) InOrder(ps syntax.Problems) syntax.Problems {
	rank := make(map[string]int, len(s.files))
	for i, file := range slices.Backward(s.files) {
		rank[file] = i - len(s.files)
	}
	slices.SortStableFunc(ps, func(p, q syntax.Problem) int { return cmp.Compare(rank[p.Pos.File], rank[q.Pos.File]) })
	return ps
}
