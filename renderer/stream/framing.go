package stream

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/internal/tags"
	"mockserver/matcher"
	"mockserver/renderer"
)

// part is a part of what an item sends: a text that is the same for every request, or a value.
type part struct {
	text  string
	value *renderer.Template // nil for a text
	piece bool               // the value is a piece of a file
	kind  kind
}

// kind is how a value is framed.
type kind uint8

const (
	asIs       kind = iota
	lineValue       // a line: line breaks become blanks
	dataField       // line breaks begin further fields
	comment         // line breaks begin further comments
	nameField       // of event and id: line breaks and NUL are left out
	retryField      // the whole field is left out unless its value consists of digits
)

// breaks contains what a line break in a value becomes.
var breaks = [...]string{asIs: "", lineValue: " ", dataField: "\ndata: ", comment: "\n: ", nameField: "", retryField: ""}

// framer compiles the parts of an item.
type framer struct {
	*compiler
	scope *renderer.Scope
	cut   bool // a file is sent in pieces
	parts []part
	id    *part
}

// event adds a comment, and the fields of an event.
func (f *framer) event(d *item.StreamItem, data *item.Piece) {
	if d.Comment != nil {
		f.text(": ")
		f.add(f.compile(*d.Comment, f.raw, comment, renderer.Plain))
		f.text("\n\n")
		if d.Event == nil && d.ID == nil && d.Retry == nil && data == nil {
			return
		}
	}
	if d.Event != nil {
		f.text("event: ")
		f.add(f.compile(*d.Event, f.raw, nameField, renderer.Plain))
		f.text("\n")
	}
	if d.ID != nil {
		id := f.compile(*d.ID, f.raw, nameField, renderer.Plain)
		f.id, f.items.HasID = &id, true
		f.text("id: ")
		f.add(id)
		f.text("\n")
	}
	if d.Retry != nil {
		f.retry(d.Retry)
	}
	if data != nil {
		f.text("data: ")
		f.add(f.content(data, dataField, renderer.Inferred))
		f.text("\n")
	}
	f.text("\n")
}

func (f *framer) retry(declared *syntax.Text) {
	p := f.compile(*declared, f.raw, retryField, renderer.Plain)
	if p.value != nil {
		f.add(p)
	} else if millis := item.RetryMillis(p.text); millis != "" {
		f.text("retry: " + millis + "\n")
	}
}

// line adds a line.
func (f *framer) line(content *item.Piece, separator string) {
	if separator == item.SeparatorRS {
		f.text("\x1e")
	}
	without := *content
	without.Text.Value = strings.TrimRight(content.Text.Value, "\r\n")
	f.add(f.content(&without, lineValue, renderer.Inferred))
	f.text("\n")
}

// body adds a piece of a body.
func (f *framer) body(content *item.Piece) {
	within := *f.scope
	within.Piece = true
	f.scope = &within
	f.add(f.content(content, asIs, f.compiler.body))
}

// content compiles what is sent. form is the form of a text, which determines how values are written.
func (f *framer) content(content *item.Piece, k kind, form renderer.Form) part {
	switch {
	case f.cut:
		return part{piece: true, kind: k}
	case content.JSON || form == renderer.Inferred && tags.LooksJSON(content.Text.Value, content.Raw):
		form = renderer.JSON
	case form == renderer.Inferred:
		form = renderer.Plain
	}
	return f.compile(content.Text, content.Raw, k, form)
}

// compile compiles a text. raw means that it has no placeholders.
func (f *framer) compile(text syntax.Text, raw bool, k kind, form renderer.Form) part {
	if !raw {
		t, problems := renderer.Compile(text, form, f.scope)
		if f.problems = append(f.problems, problems...); t == nil {
			return part{}
		}
		same, ok := t.Static()
		if !ok {
			return part{value: t, kind: k}
		}
		text.Value = same
	}
	return part{text: string(appendFramed(nil, []byte(text.Value), k))}
}

func (f *framer) text(s string) { f.add(part{text: s}) }

// add adds a part, and joins adjacent texts.
func (f *framer) add(p part) {
	if last := len(f.parts) - 1; last >= 0 && p.isText() && f.parts[last].isText() {
		f.parts[last].text += p.text
		return
	}
	f.parts = append(f.parts, p)
}

func (p *part) isText() bool { return p.value == nil && !p.piece }

// append appends the part for r; piece is the present piece of a file.
func (p *part) append(dst []byte, r *matcher.Request, turns *renderer.Turns, piece []byte) []byte {
	if p.isText() {
		return append(dst, p.text...)
	}
	before := len(dst)
	if p.kind == retryField {
		dst = append(dst, "retry: "...)
	}
	begin := len(dst)
	if p.piece {
		dst = append(dst, piece...)
	} else {
		dst = p.value.AppendIn(dst, r, turns)
	}
	if value := dst[begin:]; p.kind == retryField {
		if len(value) == 0 || bytes.ContainsFunc(value, func(c rune) bool { return c < '0' || c > '9' }) {
			return dst[:before]
		}
		return append(dst, '\n')
	} else if needsFraming(value, p.kind) {
		r.Line = append(r.Line[:0], value...)
		dst = appendFramed(dst[:begin], r.Line, p.kind)
	}
	return dst
}

// needsFraming reports whether appendFramed changes a value.
func needsFraming(value []byte, k kind) bool {
	return k != asIs && (bytes.IndexByte(value, '\n') >= 0 || bytes.IndexByte(value, '\r') >= 0 ||
		k == nameField && bytes.IndexByte(value, 0) >= 0 || !utf8.Valid(value))
}

// appendFramed appends a value so that it cannot end the part that it belongs to. Bytes that are not UTF-8 become
// U+FFFD.
func appendFramed(dst, value []byte, k kind) []byte {
	if !needsFraming(value, k) {
		return append(dst, value...)
	}
	for i := 0; i < len(value); {
		c, size := utf8.DecodeRune(value[i:])
		switch {
		case c == '\r' && i+1 < len(value) && value[i+1] == '\n':
		case c == '\r' || c == '\n':
			dst = append(dst, breaks[k]...)
		case c != 0 || k != nameField:
			dst = utf8.AppendRune(dst, c)
		}
		i += size
	}
	return dst
}
