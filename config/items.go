package config

import (
	"slices"

	"mockserver/config/item"
)

// Items are declarations of each kind, in order.
type Items struct {
	Endpoints  []item.Endpoint
	WebSockets []item.WebSocket
	Data       []item.Data
	Scenarios  []item.Scenario
	Upstreams  []item.Upstream
}

// add adds the declaration of an item: for a resource or a model its operations, and its set if a
// resource declares it.
func (d *Items) add(it item.Decoded, dir string) {
	switch {
	case it.Endpoint != nil:
		it.Operations = []item.Endpoint{*it.Endpoint}
	case it.WebSocket != nil:
		d.WebSockets = append(d.WebSockets, *it.WebSocket)
	case it.Scenario != nil:
		d.Scenarios = append(d.Scenarios, *it.Scenario)
	case it.Upstream != nil:
		it.Upstream.Dir = dir
		d.Upstreams = append(d.Upstreams, *it.Upstream)
	case it.Resource != nil:
		it.Data = it.Resource.Data
	}
	if it.Data != nil {
		d.Data = append(d.Data, *it.Data)
		d.Data[len(d.Data)-1].Dir = dir
	}
	for _, e := range it.Operations {
		e.Dir = dir
		d.Endpoints = append(d.Endpoints, e)
	}
}

// join appends other declarations.
func (d *Items) join(other *Items) {
	d.Endpoints = append(d.Endpoints, other.Endpoints...)
	d.WebSockets = append(d.WebSockets, other.WebSockets...)
	d.Data = append(d.Data, other.Data...)
	d.Scenarios = append(d.Scenarios, other.Scenarios...)
	d.Upstreams = append(d.Upstreams, other.Upstreams...)
}

// has reports whether a file contains one of the declarations.
func (d *Items) has(file string) bool {
	return slices.ContainsFunc(d.Endpoints, func(e item.Endpoint) bool { return e.Pos.File == file }) ||
		slices.ContainsFunc(d.WebSockets, func(w item.WebSocket) bool { return w.Pos.File == file }) ||
		slices.ContainsFunc(d.Data, func(s item.Data) bool { return s.Pos.File == file }) ||
		slices.ContainsFunc(d.Scenarios, func(c item.Scenario) bool { return c.Pos.File == file }) ||
		slices.ContainsFunc(d.Upstreams, func(u item.Upstream) bool { return u.Pos.File == file })
}
