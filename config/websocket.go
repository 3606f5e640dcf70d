package config

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/address"
	"mockserver/internal/flags"
	"mockserver/internal/tags"
	"mockserver/internal/wording"
)

// WebSocket is a path that becomes a WebSocket connection when a request asks for it, and the
// messages on that connection.
type WebSocket struct {
	Pos  syntax.Pos // where the declaration begins; left zero in Go
	Key  string     // "[3].websocket"; left "" in Go
	Host string     // as that of an Endpoint
	Path syntax.Text
	If   syntax.Text // a condition on the handshake request; an empty text is always true

	Subprotocols []string // the supported ones, the preferred first

	OnConnect *Message   `key:"on-connect.response"` // sent once the connection is open; nil for none
	OnMessage []Exchange // the first whose pattern matches a message answers it
	Send      []Send     // messages that are sent unasked
	Close     *Close     // ends the connection; if nil, the client does

	MaxMessage int // the largest accepted message in bytes; 0 means that of the server
	Doc        Doc `key:""`
}

// Exchange answers the messages that match a pattern.
type Exchange struct {
	// Pattern is the text itself, a JSON object whose members the message must have, or an RE2
	// expression for the whole message. JSON makes one from a Go value.
	Pattern  syntax.Text
	Response Message
}

// Send is a message that is sent unasked, once or repeatedly.
type Send struct {
	After    time.Duration // since the connection was opened; 0 means as long as Every, AtOnce means none
	Every    time.Duration // the interval, at least a millisecond; 0 sends it once
	Times    int           // the maximum number; 0 for as long as the connection lasts
	Response Message
}

// Message is what the server sends on a WebSocket connection: a message, the end of the connection,
// or both.
type Message struct {
	Pos syntax.Pos
	// Body may contain placeholders. Without a body, a message with Close is not sent, and any
	// other is empty.
	Body     syntax.Text
	BodyJSON bool   // Body is the JSON text of a map or list
	Bytes    []byte // used instead of Body if not nil; sent as binary
	Frame    string // TextFrame or BinaryFrame; "" is that of the message it answers, otherwise text
	Raw      bool   // turns off templates (template: false)
	Close    *Close // nil leaves the connection open
}

// Close is how the server ends a WebSocket connection.
type Close struct {
	Code   int           // see CloseCode; 0 means 1000
	Reason syntax.Text   // at most 123 bytes; may contain placeholders
	After  time.Duration // since the connection was opened; only in WebSocket.Close
}

// The kinds of messages.
const (
	TextFrame   = "text"
	BinaryFrame = "binary"
)

// Limits of declared values.
const (
	minClose, maxClose = 1000, 4999
	// MaxReason is the maximum length of a close reason in bytes.
	MaxReason = 123
	minEvery  = time.Millisecond
	maxTimes  = 1_000_000_000
)

// Regular expressions of the schema.
const (
	sizePattern   = `^[0-9]+ ?([KkMmGg][Ii]?)?[Bb]?$`
	base64Pattern = `^[A-Za-z0-9+/\r\n]*[=\r\n]*$`
)

const (
	closeForm = "a close code from 1000 to 4999, or a map with code and reason"
	sizeForm  = "a number of bytes above 0, such as 65536, 64KiB or 1MB"
)

var sizeText = regexp.MustCompile(sizePattern)

var (
	webSocketFields = []table.Field[WebSocket]{
		table.Of[WebSocket](row{Key: "path", Doc: "the path to answer, such as /rooms/:id", Required: true, Kinds: table.Texts, Pattern: "^/"}),
		table.With(row{Key: "host", Doc: "the host to answer for, any when left out", Kinds: table.Texts, Form: address.NameForm, Pattern: address.NamePattern},
			func(d *decoder, v value, w *WebSocket) { w.Host = decodeHost(d, v) }),
		table.Of[WebSocket](row{Key: "if", Doc: "the condition under which a request becomes a connection", Kinds: table.Scalars | table.Nulls}),
		table.With(row{Key: "subprotocols", Doc: "the subprotocols that may be agreed on, the preferred first", Kinds: table.Lists,
			Item: &row{Kinds: table.Texts, Pattern: tokenPattern, Form: "the name of a subprotocol"}}, setSubprotocols),
		table.With(row{Key: "on-connect", Doc: "what is sent once the connection is open", Kinds: table.Maps, Form: "a map with response", Table: table.Rows(connectFields)}, setConnect),
		table.With(row{Key: "on-message", Doc: "what answers messages: the first whose pattern matches", Kinds: table.Lists, Form: "a list of maps with pattern and response",
			Item: &row{Kinds: table.Maps, Table: table.Rows(exchangeFields)}}, func(d *decoder, v value, w *WebSocket) { w.OnMessage = decodeList(d, v, exchangeFields) }),
		table.With(row{Key: "send", Doc: "what is sent unasked", Kinds: table.Lists, Form: "a list of maps with response, after and every", Item: &row{Kinds: table.Maps, Table: table.Rows(sendFields)}},
			func(d *decoder, v value, w *WebSocket) { w.Send = decodeList(d, v, sendFields) }),
		table.With(row{Key: "close", Doc: "how the server ends the connection, and when", Kinds: table.Numbers | table.Maps, Form: closeForm, Table: table.Rows(endFields)},
			func(d *decoder, v value, w *WebSocket) { w.Close = decodeClose(d, v, endFields) }),
		table.With(row{Key: "max-message", Doc: "the largest message that is accepted, that of the server when left out", Kinds: table.Numbers | table.Texts, Form: sizeForm, Pattern: sizePattern},
			setMaxMessage),
		table.With(row{Key: "tag", Doc: "documents what the connection belongs to", Kinds: table.Texts | table.Lists | table.Nulls, Item: &row{Kinds: table.Texts}},
			func(d *decoder, v value, w *WebSocket) { w.Doc.Tags = decodeTags(d, v) }),
		table.Of[WebSocket](row{Key: "summary", Doc: "documents the connection in a line", Kinds: table.Scalars | table.Nulls}),
		table.Of[WebSocket](row{Key: "description", Doc: "documents the connection at length", Kinds: table.Scalars | table.Nulls}),
	}
	responseRow   = row{Key: "response", Doc: "the message: a text, or a map with a body", Required: true, Kinds: table.Scalars | table.Maps, Table: table.Rows(messageFields)}
	connectFields = []table.Field[WebSocket]{
		table.With(responseRow, func(d *decoder, v value, w *WebSocket) { decodeMessage(d, v, w.OnConnect) }),
	}
	exchangeFields = []table.Field[Exchange]{
		table.With(row{Key: "pattern", Doc: "the text, the JSON object or the RE2 expression that a message is held against", Required: true, Kinds: table.Scalars | table.Maps, Filled: true},
			setPattern),
		table.With(responseRow, func(d *decoder, v value, x *Exchange) { decodeMessage(d, v, &x.Response) }),
	}
	sendFields = []table.Field[Send]{
		table.Of[Send](row{Key: "after", Doc: "how long after the connection is open it is sent, as long as every when left out", Kinds: table.Texts | table.Numbers, Length: table.FromZero, AtOnce: true}),
		table.Of[Send](row{Key: "every", Doc: "how long from one to the next; sent once when left out", Kinds: table.Texts | table.Numbers, Length: table.AboveZero}),
		table.Of[Send](row{Key: "times", Doc: "how often it is sent at most, for as long as the connection lasts when left out", Kinds: table.Numbers, Min: 1, Max: maxTimes}),
		table.With(responseRow, func(d *decoder, v value, s *Send) { decodeMessage(d, v, &s.Response) }),
	}
	messageFields = []table.Field[Message]{
		table.With(row{Key: "body", Doc: "the text, or a map or list that is sent as JSON", Kinds: table.Bodies},
			func(d *decoder, v value, m *Message) { m.Body, m.BodyJSON = decodeBody(d, v, m.Raw) }),
		table.With(row{Key: "base64", Doc: "the bytes of a binary message, instead of body", Kinds: table.Texts, Pattern: base64Pattern, Form: "base64 text"}, setBytes),
		table.With(row{Key: "binary", Doc: "true sends the body as a binary message, false as text; as the message it answers when left out", Kinds: table.Bools}, setFrame),
		table.With(row{Key: "template", Doc: "false switches placeholders off", Kinds: table.Bools},
			func(_ *decoder, v value, m *Message) { m.Raw = !v.Truth() }),
		table.With(row{Key: "close", Doc: "ends the connection behind the message: a code, or a map with code and reason", Kinds: table.Numbers | table.Maps, Form: closeForm, Table: table.Rows(closeFields)},
			func(d *decoder, v value, m *Message) { m.Close = decodeClose(d, v, closeFields) }),
	}
	closeFields = []table.Field[Close]{
		table.With(row{Key: "code", Doc: "the close code, 1000 when left out", Kinds: table.Numbers, Min: minClose, Max: maxClose}, setCode),
		table.Of[Close](row{Key: "reason", Doc: "the reason that is told", Kinds: table.Scalars}),
	}
	endFields = append(slices.Clone(closeFields), table.Of[Close](row{Key: "after", Doc: "how long after the connection is open, at once when left out", Kinds: table.Texts | table.Numbers, Length: table.FromZero}))
)

func setWebSocket(d *decoder, v value, into *item) {
	w := &WebSocket{Pos: v.Pos(), Key: v.Key}
	table.Fill(d, v.Node, v.Key, webSocketFields, w)
	for _, p := range w.check(v.Node, d.Reported) {
		if !p.Warning {
			d.Known(p.Key)
		}
		d.Add(p)
	}
	into.socket = w
}

func setSubprotocols(d *decoder, v value, w *WebSocket) {
	for _, one := range v.Parts() {
		switch {
		case !d.Take(one):
		case !isToken(one.Text.Value):
			d.Refuse(one)
		default:
			w.Subprotocols = append(w.Subprotocols, one.Text.Value)
		}
	}
}

func setConnect(d *decoder, v value, w *WebSocket) {
	w.OnConnect = &Message{}
	table.Fill(d, v.Node, v.Key, connectFields, w)
}

// decodeList decodes maps by their table. An invalid one keeps its place, so that the indexes of
// the others do not change.
func decodeList[T any](d *decoder, v value, fields []table.Field[T]) (all []T) {
	for _, one := range v.Parts() {
		var item T
		if d.Take(one) {
			table.Fill(d, one.Node, one.Key, fields, &item)
		}
		all = append(all, item)
	}
	return all
}

func setPattern(d *decoder, v value, x *Exchange) {
	if v.Kind == syntax.MapNode {
		x.Pattern = decodeJSON(d, v, true)
		return
	}
	x.Pattern = v.AsText()
}

// decodeMessage decodes a response, which is a text or a map.
func decodeMessage(d *decoder, v value, m *Message) {
	m.Pos = v.Pos()
	if v.Kind != syntax.MapNode {
		m.Body = v.AsText()
		return
	}
	m.Raw = templatesOff(v)
	table.Fill(d, v.Node, v.Key, messageFields, m)
}

func setBytes(d *decoder, v value, m *Message) {
	b, err := base64.StdEncoding.DecodeString(v.Text.Value)
	if err != nil {
		d.Refuse(v)
		return
	}
	m.Bytes = append([]byte{}, b...) // never nil
}

func setFrame(_ *decoder, v value, m *Message) {
	m.Frame = TextFrame
	if v.Truth() {
		m.Frame = BinaryFrame
	}
}

// decodeClose decodes a close, which is a code or a map.
func decodeClose(d *decoder, v value, fields []table.Field[Close]) *Close {
	c := &Close{}
	if v.Kind == syntax.MapNode {
		table.Fill(d, v.Node, v.Key, fields, c)
	} else {
		setCode(d, v, c)
	}
	return c
}

func setCode(d *decoder, v value, c *Close) {
	code, err := strconv.Atoi(v.Number)
	switch what := closeFault(code); {
	case err != nil || code < minClose || code > maxClose:
		d.Refuse(v)
	case what != "":
		d.About(v, "%s", what)
	default:
		c.Code = code
	}
}

// closeFault checks a close code: valid are those of RFC 6455 and its registry that may be sent,
// and those for applications.
func closeFault(code int) string {
	switch {
	case code == 1005 || code == 1006 || code == 1015:
		return fmt.Sprintf("the close code %d is never sent: it tells a program that none was; expected 1000 to 1014 but for those, or 3000 to 4999", code)
	case 1000 <= code && code <= 1014 && code != 1004, 3000 <= code && code <= 4999:
		return ""
	}
	return fmt.Sprintf("%d is not a close code; expected 1000 to 1003, 1007 to 1014, or 3000 to 4999", code)
}

func setMaxMessage(d *decoder, v value, w *WebSocket) { decodeSize(d, v, &w.MaxMessage) }

// decodeSize reads a number of bytes above 0: a number, or a text that may have a unit.
func decodeSize(d *decoder, v value, into *int) {
	text := v.Text.Value
	if v.Kind == syntax.NumberNode {
		text = v.Number
	}
	if !sizeText.MatchString(text) || !flags.Size(into, text) {
		d.Refuse(v)
	}
}

// Sends reports whether there is a message, and not only the end of the connection.
func (m *Message) Sends() bool {
	return m.Close == nil || m.Bytes != nil || m.BodyJSON || m.Body.Value != "" || m.Body.Pos.Line > 0
}

// CloseCode returns the code that is sent.
func (c *Close) CloseCode() int {
	if c.Code == 0 {
		return minClose
	}
	return c.Code
}

// First returns how long after the connection was opened the message is sent for the first time.
func (s *Send) First() time.Duration {
	switch {
	case s.After == 0:
		return s.Every
	case s.After < 0:
		return 0
	}
	return s.After
}

// Asking returns the handshake request as an endpoint, for matching.
func (w *WebSocket) Asking() *Endpoint {
	return &Endpoint{Pos: w.Pos, Key: w.Key, Host: w.Host, Path: w.Path, If: w.If}
}

// Claim sets the path in those problems that have no position in a file. It modifies ps and returns
// it.
func (w *WebSocket) Claim(ps syntax.Problems) syntax.Problems {
	return claim(ps, w.Pos, strings.TrimSpace("WebSocket "+w.Path.Value))
}

// check returns the problems of w. node is the map of a WebSocket that was read from a file; it
// provides the positions.
func (w *WebSocket) check(node *syntax.Node, reported map[string]bool) syntax.Problems {
	c := &checker{Endpoint: w.Asking(), key: w.Key, node: node, reported: reported}
	c.request()
	c.subprotocols(w.Subprotocols)
	if w.OnConnect != nil {
		c.message(w.OnConnect, "on-connect", "response")
	}
	for i := range w.OnMessage {
		x, at := &w.OnMessage[i], fmt.Sprintf("on-message[%d]", i)
		if reported[table.Under(w.Key, at)] {
			continue // it is not a map
		}
		if x.Pattern.Value == "" {
			c.wrong("the pattern is empty; expected a text, a JSON object or an RE2 expression", at, "pattern")
		}
		c.message(&x.Response, at, "response")
	}
	for i := range w.Send {
		if at := fmt.Sprintf("send[%d]", i); !reported[table.Under(w.Key, at)] {
			c.send(&w.Send[i], at)
		}
	}
	if w.Close != nil {
		c.close(w.Close, "close")
	}
	if w.MaxMessage < 0 {
		c.wrong(fmt.Sprintf("%d is not a size; expected %s", w.MaxMessage, sizeForm), "max-message")
	}
	return c.Problems
}

// subprotocols checks names, and finds duplicates.
func (c *checker) subprotocols(names []string) {
	for i, name := range names {
		at := fmt.Sprintf("subprotocols[%d]", i)
		switch {
		case !isToken(name):
			c.wrong(fmt.Sprintf("%q is not a subprotocol name; letters, digits and !#$%%&'*+-.^_`|~ are accepted", wording.Clip(name)), at)
		case slices.Contains(names[:i], name):
			c.warn(fmt.Sprintf("%s is given twice", wording.Label(name)), at)
		}
	}
}

func (c *checker) send(s *Send, at string) {
	switch {
	case !inBounds(c, sendFields, s, []string{at}):
	case 0 < s.Every && s.Every < minEvery:
		c.wrong(fmt.Sprintf("%v is too short; expected a duration of at least %v", s.Every, minEvery), at, "every")
	case s.Times > 0 && s.Every == 0:
		c.wrong("times is for what is sent again and again; every says how often", at, "times")
	}
	c.message(&s.Response, at, "response")
}

// message checks the message at the given keys.
func (c *checker) message(m *Message, keys ...string) {
	at := func(key string) []string { return append(slices.Clone(keys), key) }
	switch {
	case m.Bytes != nil && (m.Body.Value != "" || m.Body.Pos.Line > 0 || m.BodyJSON):
		c.wrong(table.BothGiven("body", "base64"), at("base64")...)
	case m.Bytes != nil && m.Frame == TextFrame:
		c.wrong("base64 is sent as a binary message; binary: false is for body", at("binary")...)
	case m.Frame != "" && m.Frame != TextFrame && m.Frame != BinaryFrame:
		c.wrong(fmt.Sprintf("the frame is %q; expected text or binary", wording.Clip(m.Frame)), at("binary")...)
	}
	if m.Close != nil {
		c.close(m.Close, at("close")...)
		if m.Close.After != 0 {
			c.wrong("after is for the close of the whole connection, not for that of a message", append(at("close"), "after")...)
		}
	}
	if !m.BodyJSON && looksFixedJSON(m.Body.Value, m.Raw) {
		c.noJSON(&m.Body, false, "the message looks like JSON but is not valid: %s", keys)
	}
}

func (c *checker) close(e *Close, keys ...string) {
	at := func(key string) []string { return append(slices.Clone(keys), key) }
	if e.Code != 0 {
		c.wrong(closeFault(e.Code), at("code")...)
	}
	reason := e.Reason.Value
	switch {
	case !utf8.ValidString(reason):
		c.wrong("the reason is not valid UTF-8", at("reason")...)
	case len(reason) > MaxReason && !tags.In(reason):
		c.wrong(fmt.Sprintf("the reason has %d bytes; at most %d are sent", len(reason), MaxReason), at("reason")...)
	}
	inBounds(c, endFields, e, keys)
}
