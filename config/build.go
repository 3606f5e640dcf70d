package config

import (
	"cmp"
	"slices"
	"strings"

	"mockserver/config/syntax"
)

// New returns a spec of endpoints that are declared in Go, in order:
//
//	spec := config.New(
//		config.Endpoint{
//			Path:     "/hello/:name",
//			Response: config.Response{Body: `{"hello": "{{path-params.name}}"}`},
//		},
//		config.Endpoint{
//			Method: "POST",
//			Path:   "/orders",
//			If:     "json-params.amount > 0",
//			Response: config.Response{
//				Status:  201,
//				Headers: config.Headers("Location", "/orders/{{uuid}}"),
//				Body:    map[string]any{"state": "paid", "amount": "{{json-params.amount}}"},
//			},
//		},
//	)
//
// The endpoints are checked like those of a file; Problems has the errors. They are copied, so that
// they may be modified and used again afterwards.
func New(endpoints ...Endpoint) *Spec {
	return declare("endpoint", endpoints, func(e *Endpoint) string { return e.Dir })
}

// NewWebSockets returns a spec of WebSockets that are declared in Go, in order:
//
//	spec := config.NewWebSockets(config.WebSocket{
//		Path:      "/rooms/:room",
//		OnConnect: &config.Message{Body: "welcome to {{path-params.room}}"},
//		OnMessage: []config.Exchange{{
//			Pattern:  map[string]any{"echo": "{{json-params.echo}}"},
//			Response: config.Message{Body: map[string]any{"echo": "{{json-params.echo}}"}},
//		}},
//	})
//
// Join combines such a spec with one of endpoints.
func NewWebSockets(sockets ...WebSocket) *Spec {
	return declare("websocket", sockets, func(*WebSocket) string { return "" })
}

// NewData returns a spec of sets of rows that are declared in Go:
//
//	spec := config.NewData(config.Data{
//		Name: "users",
//		Rows: []any{map[string]any{"id": "1", "name": "Ada"}},
//	})
//
// Join combines such a spec with one of endpoints.
func NewData(sets ...Data) *Spec {
	return declare("data", sets, func(s *Data) string { return s.Dir })
}

// Join combines several specs into one, with all their problems. The order of endpoints is kept,
// except that endpoints of resources come after the declared ones, and those of OpenAPI documents
// come last: if two endpoints match the same requests, the first one answers.
func Join(specs ...*Spec) *Spec {
	joined := &Spec{}
	for _, s := range specs {
		s = s.orNone()
		joined.join(&s.Items)
		joined.Broken.join(&s.Broken)
		joined.Problems = append(joined.Problems, s.Problems...)
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

// Validate returns all problems of the spec. It does not modify the spec.
func (s *Spec) Validate() syntax.Problems { return slices.Clone(s.orNone().Problems) }

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
