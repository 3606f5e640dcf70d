package record

import (
	"fmt"
	"hash/fnv"
	"io"
	"strconv"
	"strings"

	"mockserver/config"
	"mockserver/config/item"
	"mockserver/internal/secret"
)

// Served is one endpoint or WebSocket being served.
type Served struct {
	ID   string // as in EndpointCounts
	If   string // as in EndpointCounts
	Name string // "GET /users/:id"
	// Endpoint is the declaration of an endpoint, and WebSocket is the declaration of a WebSocket;
	// one of the two is nil. Neither declaration may be changed.
	Endpoint  *item.Endpoint
	WebSocket *item.WebSocket
	// Index is the position of the declaration among the endpoints, or the WebSockets, of the
	// specification.
	Index int
}

// Endpoints returns the endpoints and WebSockets of a specification with the IDs that they have
// when it is served. The specification must come from Server.Spec, or must have been loaded: an
// endpoint made in Go gets its ID when it is served.
func Endpoints(spec *config.Spec) []Served {
	all := make([]Served, len(spec.Endpoints)+len(spec.WebSockets))
	ids := identities(spec)
	for i, id := range ids {
		all[i] = Served{ID: id.id(), If: secret.Condition(id.condition), Name: id.name, Index: i}
		if n := len(spec.Endpoints); i < n {
			all[i].Endpoint = &spec.Endpoints[i]
		} else {
			all[i].Index, all[i].WebSocket = i-n, &spec.WebSockets[i-n]
		}
	}
	return all
}

// WebSocketKind precedes the path of a WebSocket in messages.
const WebSocketKind = "WebSocket"

// Name returns the name of an endpoint in logs and messages: its method and path.
func Name(e *item.Endpoint) string { return e.EffectiveMethod() + " " + e.Path.Value }

// identity identifies an endpoint across reloads. The response is not part of the identity: the
// counters of an endpoint continue when its response changes.
type identity struct {
	name, host, condition string
	nth                   int // position, from the last, among those that agree in the other fields
}

// id returns 16 hexadecimal digits that are the same at every start.
func (i identity) id() string {
	h := fnv.New64a()
	_, _ = io.WriteString(h, strings.Join([]string{i.name, i.host, i.condition, strconv.Itoa(i.nth)}, "\x00")) // never fails
	return fmt.Sprintf("%016x", h.Sum64())
}

// identities returns the identities of the endpoints of a specification, followed by those of its
// WebSockets.
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
	// Equal endpoints are counted from the last, so that an endpoint added in front of an equal one
	// does not take its counters.
	alike := map[identity]int{}
	for i := len(all) - 1; i >= 0; i-- {
		one := all[i]
		alike[one]++
		all[i].nth = alike[one]
	}
	return all
}

// routeOf returns the path of the i-th endpoint or, after the endpoints, of a WebSocket.
func routeOf(spec *config.Spec, i int) route {
	if i < len(spec.Endpoints) {
		return route{spec.Endpoints[i].Path.Value, spec.Endpoints[i].Template}
	}
	return route{path: spec.WebSockets[i-len(spec.Endpoints)].Path.Value}
}
