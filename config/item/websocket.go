package item

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/address"
	"mockserver/internal/semantics"
	"mockserver/internal/wording"
)

// WebSocket is a path where a handshake request opens a WebSocket connection, and the messages on
// that connection.
type WebSocket struct {
	Pos  syntax.Pos // where the declaration begins
	Key  string     // "[3].websocket"
	Host string     // like Host of an Endpoint
	Path syntax.Text
	If   syntax.Text // a condition on the handshake request; an empty text is always true

	Subprotocols []string // the supported ones, the preferred first

	OnConnect *Message   `key:"on-connect.response"` // sent once the connection is open; nil for none
	OnMessage []Exchange // the first one whose pattern matches a message answers it
	Send      []Send     // messages that are sent unasked
	Close     *Close     // ends the connection; if nil, the client does

	MaxMessage int // the largest accepted message in bytes; 0 means the limit of the server
	Doc        Doc `key:""`
}

// Exchange answers the messages that match a pattern.
type Exchange struct {
	// Pattern is the text itself, a JSON object whose members the message must have, or an RE2
	// expression for the whole message.
	Pattern  syntax.Text
	Response Message
}

// Send is a message that is sent unasked, once or repeatedly.
type Send struct {
	After    time.Duration // since the connection was opened; 0 means as long as Every, AtOnce means none
	Every    time.Duration // the interval, at least a millisecond; 0 sends it once
	Times    int           // the maximum number of times; 0 means as long as the connection lasts
	Response Message
}

var webSocketFields = []table.Field[WebSocket]{
	table.Of[WebSocket](table.Row{Key: "path", Doc: "the path to answer, such as /rooms/:id", Required: true, Kinds: table.Texts, Pattern: "^/"}),
	table.By[WebSocket](table.Row{Key: "host", Doc: "the host to answer for; any by default", Kinds: table.Texts, Form: address.NameForm, Pattern: address.NamePattern}, decodeHost),
	table.Of[WebSocket](table.Row{Key: "if", Doc: "the condition under which a request becomes a connection", Kinds: table.Scalars | table.Nulls}),
	table.Of[WebSocket](table.Row{Key: "subprotocols", Doc: "the subprotocols that may be agreed on, the preferred first", Kinds: table.Lists,
		Item: &table.Row{Kinds: table.Texts, Pattern: tokenPattern, Form: "the name of a subprotocol", Is: semantics.IsToken}}),
	table.With(table.Row{Key: "on-connect", Doc: "what is sent once the connection is open", Kinds: table.Maps, Form: "a map with response", Table: table.Rows(connectFields)}, setConnect),
	table.With(table.Row{Key: "on-message", Doc: "what answers messages: the first whose pattern matches", Kinds: table.Lists, Form: "a list of maps with pattern and response",
		Item: &table.Row{Kinds: table.Maps, Table: table.Rows(exchangeFields)}}, func(d *table.Decoder, v table.Value, w *WebSocket) { w.OnMessage = decodeList(d, v, exchangeFields) }),
	table.With(table.Row{Key: "send", Doc: "messages that the server sends on its own", Kinds: table.Lists, Form: "a list of maps with response, after and every", Item: &table.Row{Kinds: table.Maps, Table: table.Rows(sendFields)}},
		func(d *table.Decoder, v table.Value, w *WebSocket) { w.Send = decodeList(d, v, sendFields) }),
	table.With(table.Row{Key: "close", Doc: "how the server ends the connection, and when", Kinds: table.Numbers | table.Maps, Form: closeForm, Table: table.Rows(endFields)},
		func(d *table.Decoder, v table.Value, w *WebSocket) { w.Close = decodeClose(d, v, endFields) }),
	table.By[WebSocket](table.Row{Key: "max-message", Doc: "the largest accepted message; the limit of the server by default", Kinds: table.Numbers | table.Texts, Form: table.SizeForm, Pattern: table.SizePattern}, (*table.Decoder).Size),
	table.With(table.Row{Key: "tag", Doc: "documents the tags of the connection", Kinds: table.Texts | table.Lists | table.Nulls, Item: &table.Row{Kinds: table.Texts}},
		func(d *table.Decoder, v table.Value, w *WebSocket) { w.Doc.Tags = d.Strings(v) }),
	table.Of[WebSocket](table.Row{Key: "summary", Doc: "documents the connection in one line", Kinds: table.Scalars | table.Nulls}),
	table.Of[WebSocket](table.Row{Key: "description", Doc: "documents the connection at length", Kinds: table.Scalars | table.Nulls}),
}

var connectFields = []table.Field[WebSocket]{
	table.With(responseRow, func(d *table.Decoder, v table.Value, w *WebSocket) { decodeMessage(d, v, w.OnConnect) }),
}

var exchangeFields = []table.Field[Exchange]{
	table.With(table.Row{Key: "pattern", Doc: "the text, the JSON object or the RE2 expression that a message must match", Required: true, Kinds: table.Scalars | table.Maps, Filled: true},
		setPattern),
	table.With(responseRow, func(d *table.Decoder, v table.Value, x *Exchange) { decodeMessage(d, v, &x.Response) }),
}

var sendFields = []table.Field[Send]{
	table.Of[Send](table.Row{Key: "after", Doc: "how long after the connection was opened it is sent; the same as every by default", Kinds: table.Texts | table.Numbers, Length: table.FromZero, AtOnce: true}),
	table.Of[Send](table.Row{Key: "every", Doc: "the interval at which it is sent; once by default", Kinds: table.Texts | table.Numbers, Length: table.AboveZero}),
	table.Of[Send](table.Row{Key: "times", Doc: "the maximum number of times it is sent; as long as the connection lasts by default", Kinds: table.Numbers, Min: 1, Max: maxTimes}),
	table.With(responseRow, func(d *table.Decoder, v table.Value, s *Send) { decodeMessage(d, v, &s.Response) }),
}

func decodeWebSocket(d *table.Decoder, v table.Value) *WebSocket {
	w := &WebSocket{Pos: v.Pos(), Key: v.Key}
	table.Fill(d, v.Node, v.Key, webSocketFields, w)
	d.AddAll(w.check(v.Node, d.Reported))
	return w
}

func setConnect(d *table.Decoder, v table.Value, w *WebSocket) {
	w.OnConnect = &Message{}
	table.Fill(d, v.Node, v.Key, connectFields, w)
}

// decodeList decodes maps by their table. An invalid map keeps its place, so that the indexes of
// the others do not change.
func decodeList[T any](d *table.Decoder, v table.Value, fields []table.Field[T]) (all []T) {
	for _, one := range v.Parts() {
		var t T
		if d.Take(one) {
			table.Fill(d, one.Node, one.Key, fields, &t)
		}
		all = append(all, t)
	}
	return all
}

func setPattern(d *table.Decoder, v table.Value, x *Exchange) {
	if v.Kind == syntax.MapNode {
		x.Pattern = decodeJSON(d, v, true)
		return
	}
	x.Pattern = v.AsText()
}

// First returns how long after the connection was opened the message is sent for the first time.
func (s *Send) First() time.Duration { return max(cmp.Or(s.After, s.Every), 0) }

// Asking returns the WebSocket as an endpoint that answers its handshake request, for matching.
func (w *WebSocket) Asking() *Endpoint {
	return &Endpoint{Pos: w.Pos, Key: w.Key, Host: w.Host, Path: w.Path, If: w.If}
}

// check returns the problems of w. Its map, node, provides the positions.
func (w *WebSocket) check(node *syntax.Node, reported map[string]bool) syntax.Problems {
	c := table.Check(w.Pos, w.Key, node, reported)
	checkRequest(c, w.Asking())
	for i, name := range w.Subprotocols {
		if slices.Contains(w.Subprotocols[:i], name) {
			c.Warn(fmt.Sprintf("%s is given twice", wording.Label(name)), fmt.Sprintf("subprotocols[%d]", i))
		}
	}
	if w.OnConnect != nil {
		checkMessage(c, w.OnConnect, "on-connect", "response")
	}
	for i := range w.OnMessage {
		x, at := &w.OnMessage[i], fmt.Sprintf("on-message[%d]", i)
		if reported[table.Under(w.Key, at)] {
			continue // the value is not a map
		}
		if x.Pattern.Value == "" {
			c.Wrong("the pattern is empty; expected a text, a JSON object or an RE2 expression", at, "pattern")
		}
		checkMessage(c, &x.Response, at, "response")
	}
	for i := range w.Send {
		if at := fmt.Sprintf("send[%d]", i); !reported[table.Under(w.Key, at)] {
			checkSend(c, &w.Send[i], at)
		}
	}
	if w.Close != nil {
		checkClose(c, w.Close, "close")
	}
	return c.Problems
}

func checkSend(c *table.Checker, s *Send, at string) {
	switch {
	case 0 < s.Every && s.Every < minEvery:
		c.Wrong(fmt.Sprintf("%v is too short; expected a duration of at least %v", s.Every, minEvery), at, "every")
	case s.Times > 0 && s.Every == 0:
		c.Wrong("times is for repeated messages; every is missing", at, "times")
	}
	checkMessage(c, &s.Response, at, "response")
}
