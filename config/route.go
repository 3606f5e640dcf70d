package config

import (
	"mockserver/config/table"
	"mockserver/internal/wording"
)

// Unsaid reports whether the endpoint has a key that OpenAPI cannot express. The content of its
// response is not considered.
func (e *Endpoint) Unsaid() bool { return table.Unsaid(endpointFields, e) }

// Routes returns the first endpoints and WebSockets of a spec in the form that people use, and how
// many more there are: "GET /users/:id", "GET api.example.com/users", "WebSocket /rooms/:id".
func (s *Spec) Routes(most int) (routes []string, more int) {
	for i := range s.Endpoints[:min(most, len(s.Endpoints))] {
		e := &s.Endpoints[i]
		routes = append(routes, wording.Label(e.EffectiveMethod())+" "+wording.Label(e.Host+e.Path.Value))
	}
	for i := range s.WebSockets[:min(most-len(routes), len(s.WebSockets))] {
		w := &s.WebSockets[i]
		routes = append(routes, "WebSocket "+wording.Label(w.Host+w.Path.Value))
	}
	return routes, len(s.Endpoints) + len(s.WebSockets) - len(routes)
}
