// Package item defines the items of a configuration: their types, which package config also
// exports, the tables of their keys, and the rules across keys. Package config reads files and
// makes a specification from their items.
package item

import (
	"slices"
	"strings"

	"mockserver/config/model"
	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/wording"
)

// Decoded is one item of a document. One of the fields is set, for a resource or a model also Operations; none
// is set if the item could not be decoded.
type Decoded struct {
	Endpoint  *Endpoint
	WebSocket *WebSocket
	Data      *Data
	Scenario  *Scenario
	Upstream  *Upstream

	Resource   *Resource
	LLM        *model.LLM
	Operations []Endpoint // of Resource or LLM
}

// Names are the keys of items, in messages: endpoint, websocket ... or upstream.
var Names = strings.Join(table.Keys(Fields[:len(Fields)-1]), ", ") + " or " + Fields[len(Fields)-1].Key

// Fields are the keys of items; each item has one of them. The slice must not be modified.
var Fields = []table.Field[Decoded]{
	table.With(table.Row{Key: "endpoint", Doc: "a method and path, and its response", Kinds: table.Maps, Table: table.Rows(EndpointFields)}, setEndpoint),
	table.With(table.Row{Key: "websocket", Doc: "a path that becomes a WebSocket connection, and the messages on it", Kinds: table.Maps, Table: table.Rows(webSocketFields)},
		func(d *table.Decoder, v table.Value, into *Decoded) { into.WebSocket = decodeWebSocket(d, v) }),
	table.Map[Decoded](table.Row{Key: "data", Doc: "a set of rows that endpoints find and change"}, dataFields),
	table.Map[Decoded](table.Row{Key: "scenario", Doc: "a state that requests depend on and change"}, scenarioFields),
	table.With(table.Row{Key: "resource", Doc: "a REST collection over a set of rows", Kinds: table.Maps, Table: table.Rows(resourceFields)},
		func(d *table.Decoder, v table.Value, into *Decoded) {
			into.Resource, into.Operations = decodeResource(d, v)
		}),
	table.With(table.Row{Key: "llm", Doc: "the API of a language model", Kinds: table.Maps, Table: table.Rows(llmFields)},
		func(d *table.Decoder, v table.Value, into *Decoded) { into.LLM, into.Operations = decodeLLM(d, v) }),
	table.Map[Decoded](table.Row{Key: "upstream", Doc: "another server that requests can be passed on to"}, upstreamFields),
}

// Decode decodes one item as far as possible, given its key path. It returns an empty item if the
// node is not an item.
func Decode(d *table.Decoder, n *syntax.Node, key string) Decoded {
	if n.Kind != syntax.MapNode || len(n.Entries) == 0 {
		what := n.Shown()
		if n.Kind == syntax.MapNode {
			what = "an empty map"
		}
		d.About(table.Value{Node: n, Key: key}, "is %s; expected a map with one key, "+Names, what)
		return Decoded{}
	}
	first := n.Entries[0]
	if second := n.Entries[len(n.Entries)-1].Key; len(n.Entries) > 1 && slices.Contains(table.Keys(Fields), first.Key.Text.Value) {
		if first.Value.Kind == syntax.NullNode {
			second = n.Entries[1].Key
			d.Wrong(second.Pos(), key, "%s is next to %s; "+HintsOf(n.Pos().File).Beside, wording.Label(second.Text.Value), first.Key.Text.Value, first.Key.Text.Value)
			return Decoded{}
		}
		if slices.Contains(table.Keys(Fields), second.Text.Value) {
			d.Wrong(second.Pos(), key, "%s is next to %s; expected one of them", second.Text.Value, first.Key.Text.Value)
			return Decoded{}
		}
	}
	if !HasKey(n) && slices.Contains(table.Keys(EndpointFields), first.Key.Text.Value) {
		d.Wrong(first.Key.Pos(), key, "%s is a key of an endpoint; %s", first.Key.Text.Value, HintsOf(n.Pos().File).Bare)
		return Decoded{}
	}
	var it Decoded
	table.Fill(d, n, key, Fields, &it)
	return it
}

// HasKey reports whether a map has a key of an item.
func HasKey(n *syntax.Node) bool {
	return slices.ContainsFunc(table.Keys(Fields), func(key string) bool { return n.Get(key) != nil })
}

func setEndpoint(d *table.Decoder, v table.Value, into *Decoded) {
	if strayWebSocket(d, v) {
		return
	}
	e := &Endpoint{Pos: v.Pos(), Key: v.Key}
	table.Fill(d, v.Node, v.Key, EndpointFields, e)
	Finish(d, e, v.Key, v.Node)
	into.Endpoint = e
}

// strayWebSocket reports whether an endpoint contains a WebSocket or keys of one, and adds a
// problem that says where the WebSocket belongs. The rest of such an endpoint is not checked,
// because keys missing from it do not matter.
func strayWebSocket(d *table.Decoder, v table.Value) bool {
	for _, e := range v.Entries {
		name, what := e.Key.Text.Value, ""
		switch {
		case name == "websocket":
			what = "a WebSocket is not part of an endpoint"
		case slices.Contains(table.Keys(webSocketFields), name) && !slices.Contains(table.Keys(EndpointFields), name):
			what = "belongs to a WebSocket, which is not an endpoint"
		default:
			continue
		}
		d.About(table.Value{Node: e.Key, Key: table.Under(v.Key, name)}, "%s but an item of its own, %s", what, HintsOf(e.Key.Pos().File).Socket)
		return true
	}
	return false
}
