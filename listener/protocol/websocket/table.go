package websocket

import (
	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/listener/observe/record"
	"mockserver/matcher"
	"mockserver/matcher/nearest"
)

// Table holds the compiled WebSockets of a specification. A nil Table has none.
type Table struct {
	routes  *matcher.Table
	index   *nearest.Index // index of the same routes
	sockets []Socket       // indexed by the results of routes
}

// Compile compiles the WebSockets of a specification. The Table is nil if there are none or if some
// have errors.
func (c *Compiler) Compile(declared []item.WebSocket) (*Table, syntax.Problems) {
	var problems syntax.Problems
	routes, sockets := make([]matcher.Route, len(declared)), make([]Socket, len(declared))
	for i := range declared {
		var wrong syntax.Problems
		routes[i], sockets[i], wrong = c.compile(&declared[i])
		problems = append(problems, wrong...)
	}
	if len(declared) == 0 || problems.Err() != nil {
		return nil, problems
	}
	table, shadowed := matcher.Compile(routes)
	return &Table{table, nearest.New(routes), sockets}, append(problems, shadowed...)
}

// Count sets the counters of the WebSockets, in the order of the specification.
func (t *Table) Count(counters []*record.Counters) {
	for i := range counters {
		t.sockets[i].Counters = counters[i]
	}
}

// Find returns the WebSocket that a request asks for, or nil.
func (t *Table) Find(r *matcher.Request) *Socket {
	if t == nil || !Asks(r) {
		return nil
	}
	i := t.routes.Match(r, "GET")
	if i < 0 {
		return nil
	}
	return &t.sockets[i]
}

// Declares reports whether a WebSocket is declared for the host and path of a request, regardless
// of conditions.
func (t *Table) Declares(r *matcher.Request) bool {
	return t != nil && len(t.routes.Methods(r)) > 0
}

// Nearest returns at most limit WebSockets that are most like a request, with the reasons why they
// do not match it.
func (t *Table) Nearest(r *matcher.Request, limit int) []nearest.Near {
	if t == nil {
		return nil
	}
	found := t.index.Find(r, limit)
	for i := range found {
		found[i].Name = t.sockets[found[i].Index].name
	}
	return found
}
