package config

import (
	"slices"
	"strings"

	"mockserver/config/item"
	"mockserver/config/openapi"
	"mockserver/config/policy"
	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/list"
	"mockserver/internal/wording"
)

// givenMocks is a mocks file, or a file that may be one, as it was read.
type givenMocks struct {
	doc   *syntax.Node
	whole *syntax.Node // doc, or the document whose only item doc is
	dir   string
}

// mock is the declaration of a mocks file for one operation.
type mock struct {
	item.Endpoint
	responds bool // it has its own answers
	calls    bool // it has its own webhooks
}

// mockFields are the keys of an endpoint that a mocks file may use for an operation.
// None is required.
var mockFields = slices.DeleteFunc(list.Map(item.EndpointFields, func(f table.Field[item.Endpoint]) table.Field[item.Endpoint] {
	if f.Required {
		f.Required, f.Unless = false, ""
	}
	return f
}), func(f table.Field[item.Endpoint]) bool { return !slices.Contains(mockKeys, f.Key) })

// mockKeys are the names of the keys in mockFields.
var mockKeys = slices.Concat([]string{"if", "let", "response", "responses", "select", "webhook", "webhooks"},
	table.Keys(policy.ResponseKeys[item.Endpoint]()), table.Keys(policy.LimitKeys[item.Endpoint]("")))

// isMocks reports whether a document is a mocks file: it is a map of maps, and not an item outside
// a list.
func isMocks(doc *syntax.Node) bool {
	return mayBeMocks(doc) && !slices.ContainsFunc(doc.Entries, func(e syntax.Entry) bool { return e.Value.Kind != syntax.MapNode })
}

// mayBeMocks reports whether a document could be a mocks file in which some values are not maps;
// whether it is one depends on the names of operations.
func mayBeMocks(doc *syntax.Node) bool {
	return doc.Kind == syntax.MapNode && len(doc.Entries) > 0 && !mayBeItem(doc)
}

// isMapping reports whether a map of maps is a stub mapping of WireMock.
func isMapping(doc *syntax.Node) bool { return doc.Get("request") != nil && doc.Get("response") != nil }

// mayBeBareMocks is mayBeMocks for a map of EDN without brackets around it, which is read as the
// only item of a list.
func mayBeBareMocks(doc *syntax.Node) bool {
	return doc.Kind == syntax.ListNode && len(doc.Items) == 1 && doc.Items[0].Pos() == doc.Pos() && mayBeMocks(doc.Items[0])
}

// looksLikeMocks is mayBeMocks for a file that was given only by its directory: it also requires
// that one of its maps has a key for operations.
func looksLikeMocks(doc *syntax.Node) bool {
	if mayBeBareMocks(doc) {
		doc = doc.Items[0]
	}
	return mayBeMocks(doc) && slices.ContainsFunc(doc.Entries, func(e syntax.Entry) bool {
		return slices.ContainsFunc(e.Value.Entries, func(inner syntax.Entry) bool {
			key := inner.Key.Text.Value
			return slices.Contains(mockKeys, key) || slices.Contains(table.Keys(item.ResponseFields), key)
		})
	})
}

// mocks decodes the mocks files. It returns the mocks of each operation, and adds problems to s. A
// file that turns out not to be a mocks file is decoded like any other.
func (s *Spec) mocks(g *given, operations []operation) map[*openapi.Operation][]mock {
	found := map[*openapi.Operation][]mock{}
	for _, m := range g.mocks {
		if !isMocks(m.doc) && !namesOne(m.doc, operations) || isMapping(m.doc) && len(g.documents) == 0 {
			s.decodeFile([]*syntax.Node{m.whole}, m.dir, 0)
			continue
		}
		if len(g.documents) == 0 && lacksVersion(m.doc) {
			s.Problems = append(s.Problems, syntax.Problem{Pos: m.doc.Pos(), What: noVersion})
			continue
		}
		if len(g.documents) == 0 {
			s.Problems = append(s.Problems, syntax.Problem{Pos: m.doc.Pos(), What: "this map of maps is a mocks file, which needs an OpenAPI document " +
				"with the operations that it names, given with --config (-c); without a document, " + item.HintsOf(m.doc.Pos().File).List})
			continue
		}
		d := &table.Decoder{Hint: foreignHint, Dir: m.dir}
		for _, e := range m.doc.Entries {
			decodeMock(d, e, m.dir, operations, found)
		}
		s.Problems = append(s.Problems, d.Problems...)
		s.referenced = append(s.referenced, d.Files...)
	}
	return found
}

// decodeMock decodes the declaration for an operation name, for all operations with that name.
func decodeMock(d *table.Decoder, e syntax.Entry, dir string, operations []operation, found map[*openapi.Operation][]mock) {
	name := e.Key.Text.Value
	var meant []operation
	for _, o := range operations {
		if o.ID == name || o.Method+" "+o.Path == name {
			meant = append(meant, o)
		}
	}
	if len(meant) == 0 {
		if len(operations) > 0 { // otherwise the documents have errors to correct first
			of, some := "operationId", operations[0]
			if strings.Contains(name, "/") {
				of = "method and path"
			}
			d.About(table.Value{Node: e.Key, Key: wording.Label(name)}, "there is no operation with that %s%s; expected an operationId, or a method and path as they are served, such as %s %s",
				of, wording.DidYouMean(name, namesOf(operations)), some.Method, wording.Clip(some.Path))
		}
		return
	}
	if e.Value.Kind != syntax.MapNode {
		d.Refuse(table.Value{Node: e.Value, Key: wording.Label(name), Row: table.Row{Kinds: table.Maps, Form: "a map with keys of an answer, such as body"}})
		return
	}
	for _, o := range meant {
		d.Reported = nil
		m := mockOf(d, e.Value, wording.Label(name), o)
		m.Dir = dir
		if d.Reported == nil {
			found[o.Operation] = append(found[o.Operation], m)
		}
	}
}

// namesOne reports whether a key of a document is the name of an operation.
func namesOne(doc *syntax.Node, operations []operation) bool {
	names := map[string]bool{}
	for _, name := range namesOf(operations) {
		names[name] = true
	}
	return slices.ContainsFunc(doc.Entries, func(e syntax.Entry) bool { return names[e.Key.Text.Value] })
}

// namesOf returns all names that mocks files may use for operations.
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

// mockOf decodes the declaration for an operation: the keys of a response, of an endpoint, or both.
func mockOf(d *table.Decoder, n *syntax.Node, key string, o operation) mock {
	n = nested(n)
	e := item.Endpoint{Pos: n.Pos(), Key: key, Method: o.Method, Path: syntax.Text{Value: o.Path, Pos: o.Pos, Key: o.Pointer, Folded: true}}
	table.Fill(d, n, key, mockFields, &e)
	item.Finish(d, &e, key, n)
	return mock{
		Endpoint: e, responds: n.Get("response") != nil || n.Get("responses") != nil, calls: n.Get("webhook") != nil || n.Get("webhooks") != nil,
	}
}

// nested returns a map in which the keys of a response are moved into a response, unless the map
// already has one.
func nested(n *syntax.Node) *syntax.Node {
	var own, inner []syntax.Entry
	for _, e := range n.Entries {
		if slices.Contains(table.Keys(item.ResponseFields), e.Key.Text.Value) {
			inner = append(inner, e)
		} else {
			own = append(own, e)
		}
	}
	if len(inner) == 0 || n.Get("response") != nil {
		return n
	}
	response := &syntax.Node{Kind: syntax.MapNode, Text: syntax.Text{Pos: n.Pos(), Folded: true}, Entries: inner}
	return &syntax.Node{Kind: syntax.MapNode, Text: n.Text, Entries: append(own, syntax.NewEntry("response", response))}
}

// over returns a generated endpoint with the declarations of the mock in place of those of the
// document.
func (m *mock) over(e item.Endpoint) item.Endpoint {
	if m.responds {
		e.Response, e.Responses, e.Select = m.Response, m.Responses, m.Select
		e.Pos, e.Dir = m.Pos, m.Dir
		e.Key = m.Key
	}
	if len(m.Let) > 0 {
		e.Let = m.Let
	}
	if m.calls {
		e.Webhooks = m.Webhooks
	}
	if e.If.Value != "" && m.If.Value != "" {
		e.If.Value = "(" + e.If.Value + ") and (" + m.If.Value + ")"
	} else if m.If.Value != "" {
		e.If = m.If
	}
	e.Group = m.Group.Over(e.Group)
	return e
}
