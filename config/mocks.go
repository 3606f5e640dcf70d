package config

import (
	"slices"
	"strings"

	"mockserver/config/openapi"
	"mockserver/internal/wording"
)

// givenMocks is what is a mocks file, or may be one, as it was read.
type givenMocks struct {
	doc   *node
	whole *node // the document that it is, or the only item of
	dir   string
}

// mock is what a mocks file says of one operation.
type mock struct {
	Endpoint
	answers bool // it has answers of its own
	calls   bool // it has webhooks of its own
}

// mockFields are the keys of an endpoint that a mocks file may give an operation.
var mockFields = slices.DeleteFunc(slices.Clone(endpointFields), func(f field[Endpoint]) bool {
	return !slices.Contains(mockKeys, f.key)
})

// mockKeys are all of an endpoint that the document does not say.
var mockKeys = []string{
	"if", "response", "responses", "select", "latency", "fault", "rate-limit", "capacity", "webhook", "webhooks",
}

// isMocks tells whether a document of a file says what operations answer: it is a map of
// maps, and no item that lacks its list.
func isMocks(doc *node) bool {
	return mayBeMocks(doc) && !slices.ContainsFunc(doc.entries, func(e entry) bool { return e.value.kind != mapNode })
}

// mayBeMocks tells whether a document is one that says so, but for values that are no
// maps: the names of operations tell then.
func mayBeMocks(doc *node) bool {
	return doc.kind == mapNode && len(doc.entries) > 0 && !mayBeItem(doc)
}

// isMapping reports whether a map of maps is what WireMock answers a request with.
func isMapping(doc *node) bool { return doc.get("request") != nil && doc.get("response") != nil }

// mayBeBareMocks tells the same of a map of EDN without brackets around it, which is read
// as the one item of a list.
func mayBeBareMocks(doc *node) bool {
	return doc.kind == listNode && len(doc.items) == 1 && doc.items[0].pos() == doc.pos() && mayBeMocks(doc.items[0])
}

// looksLikeMocks tells the same of a file that nobody named, but lies in a directory that
// was: one of its maps has a key that operations are given.
func looksLikeMocks(doc *node) bool {
	if mayBeBareMocks(doc) {
		doc = doc.items[0]
	}
	return mayBeMocks(doc) && slices.ContainsFunc(doc.entries, func(e entry) bool {
		return slices.ContainsFunc(e.value.entries, func(inner entry) bool {
			key := inner.key.text.Value
			return slices.Contains(mockKeys, key) || slices.Contains(keysOf(responseFields), key)
		})
	})
}

// mocks decodes the mocks files: what they say of each operation. What is wrong with
// them becomes problems of s.
func (s *Spec) mocks(g *given, operations []operation) map[*openapi.Operation][]mock {
	found := map[*openapi.Operation][]mock{}
	for _, m := range g.mocks {
		if !isMocks(m.doc) && !namesOne(m.doc, operations) || isMapping(m.doc) && len(g.documents) == 0 {
			s.decodeFile([]*node{m.whole}, m.dir, 0)
			continue
		}
		if len(g.documents) == 0 && lacksVersion(m.doc) {
			s.Problems = append(s.Problems, Problem{Pos: m.doc.pos(), What: noVersion})
			continue
		}
		if len(g.documents) == 0 {
			s.Problems = append(s.Problems, Problem{Pos: m.doc.pos(), What: "this map of maps is a mocks file, which says what the operations of an " +
				"OpenAPI document answer, and there is no such document; it is given with --config (-c), and " + hintsOf(m.doc.pos().File).list})
			continue
		}
		d := decoder{}
		for _, e := range m.doc.entries {
			d.mock(e, m.dir, operations, found)
		}
		s.Problems = append(s.Problems, d.problems...)
	}
	return found
}

// mock decodes what is said of one operation: of all that have its name.
func (d *decoder) mock(e entry, dir string, operations []operation, found map[*openapi.Operation][]mock) {
	name := e.key.text.Value
	var meant []operation
	for _, o := range operations {
		if o.is(name) {
			meant = append(meant, o)
		}
	}
	if len(meant) == 0 {
		if len(operations) > 0 { // else the documents have mistakes, which come first
			of, some := "operationId", operations[0]
			if strings.Contains(name, "/") {
				of = "method and path"
			}
			d.about(value{node: e.key, key: wording.Label(name)}, "there is no operation of that %s%s; the operationId of one is accepted, or its method and path as they are served, such as %s %s",
				of, wording.DidYouMean(name, namesOf(operations)), some.Method, wording.Clip(some.Path))
		}
		return
	}
	if e.value.kind != mapNode {
		d.refuse(value{node: e.value, key: wording.Label(name), row: row{kinds: maps, form: "a map with keys of an answer, such as body,"}})
		return
	}
	for _, o := range meant {
		d.reported = nil
		m := d.mockOf(e.value, wording.Label(name), o)
		m.Dir = dir
		if d.reported == nil {
			found[o.Operation] = append(found[o.Operation], m)
		}
	}
}

// is tells whether an operation has a name: its operationId, or its method and path.
func (o *operation) is(name string) bool {
	return o.ID == name || o.Method+" "+o.Path == name
}

// namesOne tells whether a key of a document is the name of an operation.
func namesOne(doc *node, operations []operation) bool {
	names := map[string]bool{}
	for _, name := range namesOf(operations) {
		names[name] = true
	}
	return slices.ContainsFunc(doc.entries, func(e entry) bool { return names[e.key.text.Value] })
}

// namesOf are all names that a mocks file may call operations by.
func namesOf(operations []operation) []string {
	names := make([]string, 0, 2*len(operations))
	for _, o := range operations {
		if o.ID != "" {
			names = append(names, o.ID)
		}
		names = append(names, o.Method+" "+o.Path)
	}
	return names
}

// mockOf decodes what is said of an operation: the keys of a response, or those of an
// endpoint, or both.
func (d *decoder) mockOf(n *node, key string, o operation) mock {
	n = nested(n)
	e := Endpoint{Pos: n.pos(), Key: key, Method: o.Method, Path: Text{Value: o.Path, Pos: o.pos(), Key: o.Pointer, folded: true}}
	optional := slices.Clone(mockFields)
	for i := range optional {
		optional[i].required = false
	}
	fill(d, n, key, optional, &e)
	d.finish(&e, key, n)
	return mock{
		Endpoint: e, answers: n.get("response") != nil || n.get("responses") != nil, calls: n.get("webhook") != nil || n.get("webhooks") != nil,
	}
}

// nested puts the keys of a response that stand beside those of an endpoint into one.
func nested(n *node) *node {
	var own, inner []entry
	for _, e := range n.entries {
		if slices.Contains(keysOf(responseFields), e.key.text.Value) {
			inner = append(inner, e)
		} else {
			own = append(own, e)
		}
	}
	if len(inner) == 0 || n.get("response") != nil {
		return n
	}
	place := Text{Pos: n.pos(), folded: true}
	name := place
	name.Value = "response"
	response := &node{kind: mapNode, text: place, entries: inner}
	return &node{kind: mapNode, text: n.text, entries: append(own, entry{key: &node{kind: textNode, text: name}, value: response})}
}

// over is a generated endpoint with what the mock says in place of what the document
// does.
func (m *mock) over(e Endpoint) Endpoint {
	if m.answers {
		e.Response, e.Responses, e.Select = m.Response, m.Responses, m.Select
		e.Pos, e.Dir = m.Pos, m.Dir
		e.Key = m.Key
	}
	if m.calls {
		e.Webhooks = m.Webhooks
	}
	e.If = m.If
	if m.Latency != nil {
		e.Latency = m.Latency
	}
	if m.Fault != nil {
		e.Fault = m.Fault
	}
	if m.RateLimit != nil {
		e.RateLimit = m.RateLimit
	}
	if m.Capacity != nil {
		e.Capacity = m.Capacity
	}
	return e
}
