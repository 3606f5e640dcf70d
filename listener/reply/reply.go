// Package reply defines the reply to a request, in the form in which the code that answers requests
// creates it. The receiver of the request encodes the reply: nothing in it depends on how it is
// sent.
package reply

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/valyala/fasthttp"

	"mockserver/fetcher"
	"mockserver/internal/semantics"
	"mockserver/matcher"
	"mockserver/renderer"
)

// Reply is the reply to one request. Call Begin first. Its strings are valid for as long as the
// request is.
type Reply struct {
	Status      int
	ContentType string  // "" if none
	Fields      []Field // in order
	// Body must not be changed, unless it is Rendered. The reply to a HEAD request also has a body,
	// for its length.
	Body     []byte
	Rendered bool   // Body is a template's text, in Room if that is large enough
	Room     []byte // the receiver's buffer for a rendered body; the encoder takes it back
	// Passed is set for an answer from another server. Fields then contains the headers of the
	// answer, including Date, and Body contains its body or the beginning of its body. Passed is
	// nil for any other reply.
	Passed *Passed
	// Streamed means that a body follows whose length is not known.
	Streamed bool
	End      *matcher.StreamEnd // how that ended; nil before, and for any other reply
	Refusal  *Refusal           // the message of the server's own error replies; nil for a declared reply
	Coded    *Coded             // for a body from another server, or a recorded one; nil for any other

	text []byte // rendered values of fields
}

// Coded is a body that may have content encodings, which Content removes.
type Coded struct {
	Max   int64 // bytes of the result
	Err   error // why Content could not remove them
	plain []byte
}

// Passed contains the additional parts of an answer from another server. If Body is only its
// beginning, the code that sends the reply reads the rest from the exchange with that server.
type Passed struct {
	Reason string // reason phrase of the status line
	// Length is the length of the body or, for a reply to HEAD or with status 304, the announced
	// length; -1 if it is unknown.
	Length int64
	Whole  bool // Body is the whole body
}

// Refusal is the content of one of the server's own error replies.
type Refusal struct{ Code, Message string }

// Field is one header line, with its name as given.
type Field struct{ Name, Value string }

// keptText is the size, in bytes, of the largest buffer for field values that a Reply keeps.
const keptText = 64 << 10

// Begin makes p an empty reply with status 200, and keeps its buffers.
func (p *Reply) Begin() {
	clear(p.Fields) // they refer to strings of a snapshot
	fields, room, text := p.Fields[:0], p.Room, p.text[:0]
	*p = Reply{}
	p.Status, p.Fields, p.Room = 200, fields, room
	if cap(text) <= keptText {
		p.text = text
	}
}

// Add adds a field.
func (p *Reply) Add(name, value string) { p.Fields = append(p.Fields, Field{name, value}) }

// AddCopy adds a field with a copy of a value.
func (p *Reply) AddCopy(name string, value []byte) {
	start := len(p.text)
	p.text = append(p.text, value...)
	p.Add(name, Text(p.text[start:]))
}

// AddNumber adds a field whose value is a number.
func (p *Reply) AddNumber(name string, n int64) {
	start := len(p.text)
	p.text = strconv.AppendInt(p.text, n, 10)
	p.Add(name, Text(p.text[start:]))
}

// AddTemplate adds a field whose value is rendered for r.
func (p *Reply) AddTemplate(name string, t *renderer.Template, r *matcher.Request) {
	start := len(p.text)
	p.text = t.Append(p.text, r)
	p.Add(name, Text(p.text[start:]))
}

// AddExposed adds Access-Control-Expose-Headers with the names of the fields that a browser hides from pages, if
// there are any.
func (p *Reply) AddExposed() {
	start := len(p.text)
	for i := range p.Fields {
		name := p.Fields[i].Name
		if exposedAnyway(name) || i > 0 && p.Fields[i-1].Name == name {
			continue
		}
		if len(p.text) > start {
			p.text = append(p.text, ", "...)
		}
		p.text = append(p.text, name...)
	}
	if len(p.text) > start {
		p.Add(fasthttp.HeaderAccessControlExposeHeaders, Text(p.text[start:]))
	}
}

// exposedAnyway reports whether pages may read a header without being allowed to, or never may, or have no use for it.
func exposedAnyway(name string) bool {
	const cors = "access-control-"
	return len(name) > len(cors) && strings.EqualFold(name[:len(cors)], cors) ||
		slices.ContainsFunc(safelisted, func(other string) bool { return strings.EqualFold(name, other) })
}

// safelisted are the headers of a response that the Fetch standard exposes, those that it never exposes, and Vary.
var safelisted = []string{"Cache-Control", "Content-Language", "Content-Length", "Content-Type", "Expires", "Last-Modified",
	"Pragma", "Set-Cookie", "Set-Cookie2", "Vary"}

// Has reports whether there is a field with that name, regardless of case.
func (p *Reply) Has(name string) bool {
	for i := range p.Fields {
		if len(p.Fields[i].Name) == len(name) && strings.EqualFold(p.Fields[i].Name, name) {
			return true
		}
	}
	return false
}

// Ended returns how a streamed reply ended; nil for any other.
func (p *Reply) Ended() *matcher.StreamEnd { return p.End }

// StatusCode returns the status.
func (p *Reply) StatusCode() int { return p.Status }

// Sent returns the body that is sent: none for a response to HEAD, and with a status that has none.
func (p *Reply) Sent(head bool) []byte {
	if head || semantics.HasNoContent(p.Status) {
		return nil
	}
	return p.Body
}

// Length returns the Content-Length to send; -1 for none. A response with status 205 says that it
// has no body, RFC 9110 section 15.3.6.
func (p *Reply) Length() int64 {
	switch {
	case p.Status == fasthttp.StatusResetContent:
		return 0
	case p.Passed != nil:
		return p.Passed.Length
	case p.Streamed || p.Status == fasthttp.StatusNoContent || p.Status == fasthttp.StatusNotModified:
		return -1
	}
	return int64(len(p.Body))
}

// Content returns the body without content encodings; nil if they cannot be removed.
func (p *Reply) Content() []byte {
	if p.Coded == nil {
		return p.Body
	}
	if p.Coded.plain == nil && p.Coded.Err == nil {
		var codings []string
		for name, value := range p.Header() {
			if strings.EqualFold(Text(name), "Content-Encoding") {
				codings = append(codings, string(value))
			}
		}
		p.Coded.plain, p.Coded.Err = fetcher.Decode(p.Body, codings, p.Coded.Max)
	}
	return p.Coded.plain
}

// HeaderValue returns the first value of a field, or of Content-Type, regardless of case.
func (p *Reply) HeaderValue(name string) (value []byte, ok bool) {
	for field, value := range p.Header() {
		if len(field) == len(name) && strings.EqualFold(Text(field), name) {
			return value, true
		}
	}
	return nil, false
}

// Header returns Content-Type and the fields, in order. They must not be changed.
func (p *Reply) Header() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		if p.ContentType != "" && !yield(bytesOf("Content-Type"), bytesOf(p.ContentType)) {
			return
		}
		for i := range p.Fields {
			if !yield(bytesOf(p.Fields[i].Name), bytesOf(p.Fields[i].Value)) {
				return
			}
		}
	}
}

// Render makes the text of a template the body.
func (p *Reply) Render(t *renderer.Ready, r *matcher.Request) {
	p.Body, p.Rendered = t.Append(p.Room[:0], r), true
}

// Text returns b as a string, valid as long as b does not change.
func Text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
