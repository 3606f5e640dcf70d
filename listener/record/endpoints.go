package record

import (
	"fmt"
	"hash/fnv"
	"io"
	"strconv"
	"strings"

	"mockserver/config"
)

// Served is one endpoint or WebSocket that is served.
type Served struct {
	ID   string // as that of EndpointCounts
	Name string // "GET /users/:id"
	// Endpoint is its declaration, and WebSocket that of a WebSocket: the other is nil.
	// Neither may be changed.
	Endpoint  *config.Endpoint
	WebSocket *config.WebSocket
	// Index is where it stands among the endpoints, or the WebSockets, of Spec.
	Index int
}

// Endpoints are the endpoints and WebSockets of a specification, whether it is served or
// not, as they are called when it is. It is one of Spec, or one that was read: an endpoint
// made in Go has its ID once it is served.
func Endpoints(spec *config.Spec) []Served {
	all := make([]Served, len(spec.Endpoints)+len(spec.WebSockets))
	for i, id := range identities(spec) {
		all[i] = Served{ID: id.id(), Name: id.name, Index: i}
		if n := len(spec.Endpoints); i < n {
			all[i].Endpoint = &spec.Endpoints[i]
		} else {
			all[i].Index, all[i].WebSocket = i-n, &spec.WebSockets[i-n]
		}
	}
	return all
}

// WebSocketKind is what messages call a WebSocket, in front of its path.
const WebSocketKind = "WebSocket"

// Name is what logs and messages call an endpoint.
func Name(e *config.Endpoint) string { return e.EffectiveMethod() + " " + e.Path.Value }

// identity is what tells an endpoint from the others across reloads. What it answers
// is no part of it: an endpoint that answers something else goes on being counted.
type identity struct {
	name, host, condition string
	nth                   int // of those that are alike in these, as they are declared
}

// id is a text for it that stands in a path: 16 hexadecimal digits, the same whenever
// and wherever the endpoint is served.
func (i identity) id() string {
	h := fnv.New64a()
	_, _ = io.WriteString(h, strings.Join([]string{i.name, i.host, i.condition, strconv.Itoa(i.nth)}, "\x00")) // never fails
	return fmt.Sprintf("%016x", h.Sum64())
}

// identities are those of the endpoints of a specification, and then of its WebSockets.
func identities(spec *config.Spec) []identity {
	all := make([]identity, 0, len(spec.Endpoints)+len(spec.WebSockets))
	add := func(i identity) { all = append(all, i) }
	for i := range spec.Endpoints {
		e := &spec.Endpoints[i]
		add(identity{name: Name(e), host: e.Host, condition: e.If.Value})
	}
	for i := range spec.WebSockets {
		w := &spec.WebSockets[i]
		add(identity{name: WebSocketKind + " " + w.Path.Value, host: w.Host, condition: w.If.Value})
	}
	// From the last: one that is put in front of another is not taken for it.
	alike := map[identity]int{}
	for i := len(all) - 1; i >= 0; i-- {
		one := all[i]
		alike[one]++
		all[i].nth = alike[one]
	}
	return all
}

// routeOf is the path of the i-th of the endpoints, and then the WebSockets, of a
// specification.
func routeOf(spec *config.Spec, i int) *route {
	if i < len(spec.Endpoints) {
		return &route{spec.Endpoints[i].Path.Value, spec.Endpoints[i].Template}
	}
	return &route{path: spec.WebSockets[i-len(spec.Endpoints)].Path.Value}
}
