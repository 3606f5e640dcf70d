package item

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/tags"
)

// Message is what the server sends on a WebSocket connection: a message, the end of the connection,
// or both.
type Message struct {
	Pos syntax.Pos
	// Body may contain placeholders. Without a body, a message with Close is not sent, and any
	// other message is empty.
	Body     syntax.Text
	BodyJSON bool   // Body is the JSON text of a map or list
	Bytes    []byte // used instead of Body if not nil; sent as binary
	Frame    string // TextFrame or BinaryFrame; "" means the kind of the message it answers, or text
	Raw      bool   // turns off templates (template: false)
	Close    *Close // nil leaves the connection open
}

// Close says how the server ends a WebSocket connection.
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

const (
	closeForm = "a close code from 1000 to 4999, or a map with code and reason"
	// base64Pattern is for the schema.
	base64Pattern = `^[A-Za-z0-9+/\r\n]*[=\r\n]*$`
)

var responseRow = table.Row{Key: "response", Doc: "the message: a text, or a map with a body", Required: true, Kinds: table.Scalars | table.Maps, Table: table.Rows(messageFields)}

var messageFields = []table.Field[Message]{
	table.With(table.Row{Key: "body", Doc: "the text, or a map or list that is sent as JSON", Kinds: table.Bodies},
		func(d *table.Decoder, v table.Value, m *Message) { m.Body, m.BodyJSON = decodeBody(d, v, m.Raw) }),
	table.With(table.Row{Key: "base64", Doc: "the bytes of a binary message, instead of body", Kinds: table.Texts, Pattern: base64Pattern, Form: "base64 text"},
		func(d *table.Decoder, v table.Value, m *Message) { m.Bytes = decodeBase64(d, v) }),
	table.With(table.Row{Key: "binary", Doc: "true sends the body as a binary message, false as text; by default like the message it answers", Kinds: table.Bools}, setFrame),
	table.With(table.Row{Key: "template", Doc: "false switches placeholders off", Kinds: table.Bools},
		func(_ *table.Decoder, v table.Value, m *Message) { m.Raw = !v.Truth() }),
	table.With(table.Row{Key: "close", Doc: "ends the connection after the message: a code, or a map with code and reason", Kinds: table.Numbers | table.Maps, Form: closeForm, Table: table.Rows(closeFields)},
		func(d *table.Decoder, v table.Value, m *Message) { m.Close = decodeClose(d, v, closeFields) }),
}

var closeFields = []table.Field[Close]{
	table.With(table.Row{Key: "code", Doc: "the close code; 1000 by default", Kinds: table.Numbers, Min: minClose, Max: maxClose}, setCode),
	table.Of[Close](table.Row{Key: "reason", Doc: "the reason that is sent", Kinds: table.Scalars}),
}

var endFields = append(slices.Clone(closeFields), table.Of[Close](table.Row{Key: "after", Doc: "how long after the connection was opened; at once by default", Kinds: table.Texts | table.Numbers, Length: table.FromZero}))

// decodeMessage decodes a response, which is a text or a map.
func decodeMessage(d *table.Decoder, v table.Value, m *Message) {
	m.Pos = v.Pos()
	if v.Kind != syntax.MapNode {
		m.Body = v.AsText()
		return
	}
	m.Raw = templatesOff(v)
	table.Fill(d, v.Node, v.Key, messageFields, m)
}

// decodeBase64 returns the bytes of a base64 text; never nil.
func decodeBase64(d *table.Decoder, v table.Value) []byte {
	b, err := base64.StdEncoding.DecodeString(v.Text.Value)
	if err != nil {
		d.Refuse(v)
	}
	return append([]byte{}, b...)
}

func setFrame(_ *table.Decoder, v table.Value, m *Message) {
	m.Frame = TextFrame
	if v.Truth() {
		m.Frame = BinaryFrame
	}
}

// decodeClose decodes a close, which is a code or a map.
func decodeClose(d *table.Decoder, v table.Value, fields []table.Field[Close]) *Close {
	c := &Close{}
	if v.Kind == syntax.MapNode {
		table.Fill(d, v.Node, v.Key, fields, c)
	} else {
		setCode(d, v, c)
	}
	return c
}

func setCode(d *table.Decoder, v table.Value, c *Close) {
	const accepted = "expected 1000 to 1003, 1007 to 1014, or 3000 to 4999"
	code, err := strconv.Atoi(v.Number)
	switch {
	case err != nil || code < minClose || code > maxClose:
		d.Refuse(v)
	case code == 1005 || code == 1006 || code == 1015:
		d.About(v, "the close code %d is never sent: it is reserved for programs to report a missing code or a failure; %s", code, accepted)
	case code > 1014 && code < 3000 || code == 1004:
		d.About(v, "%d is not a close code; %s", code, accepted)
	default: // those of RFC 6455 and its registry that may be sent, and those for applications
		c.Code = code
	}
}

// Sends reports whether m sends a message, rather than only closing the connection.
func (m *Message) Sends() bool {
	return m.Close == nil || m.Bytes != nil || m.BodyJSON || m.Body.Value != "" || m.Body.Pos.Line > 0
}

// CloseCode returns the code that is sent.
func (c *Close) CloseCode() int { return cmp.Or(c.Code, minClose) }

func checkMessage(c *table.Checker, m *Message, keys ...string) {
	switch {
	case m.Bytes != nil && (m.Body.Value != "" || m.Body.Pos.Line > 0 || m.BodyJSON):
		c.Wrong(table.BothGiven("body", "base64"), table.Below(keys, "base64")...)
	case m.Bytes != nil && m.Frame == TextFrame:
		c.Wrong("binary: false applies only to body; base64 is always sent as a binary message", table.Below(keys, "binary")...)
	}
	if m.Close != nil {
		checkClose(c, m.Close, table.Below(keys, "close")...)
	}
	if !m.BodyJSON && looksFixedJSON(m.Body.Value, m.Raw) {
		checkJSON(c, &m.Body, false, "the message looks like JSON but is not valid: %s", keys)
	}
}

func checkClose(c *table.Checker, e *Close, keys ...string) {
	reason := e.Reason.Value
	switch {
	case !utf8.ValidString(reason):
		c.Wrong("the reason is not valid UTF-8", table.Below(keys, "reason")...)
	case len(reason) > MaxReason && !tags.In(reason):
		c.Wrong(fmt.Sprintf("the reason has %d bytes; expected at most %d", len(reason), MaxReason), table.Below(keys, "reason")...)
	}
}
