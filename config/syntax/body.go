package syntax

import (
	"fmt"
	"unicode/utf8"

	"mockserver/internal/json"
	"mockserver/internal/tags"
	"mockserver/internal/wording"
)

// JSON returns the JSON text of a node. With raw, template tags are escaped like any other text.
// fail is called for each value that JSON cannot represent.
func (n *Node) JSON(raw bool, fail func(n *Node, what string)) Text {
	w := jsonWriter{raw: raw, fail: fail}
	w.node(n)
	return Text{Value: string(w.out), Pos: n.Pos(), Folded: true, Typed: !raw, origin: &origin{marks: w.marks}}
}

// AppendJSON appends a text as a JSON string.
func AppendJSON(dst []byte, text string) []byte {
	return json.AppendString(dst, []byte(text))
}

// jsonWriter writes a node as JSON text. It keeps the order of keys and all digits of numbers.
type jsonWriter struct {
	out []byte
	// raw escapes template tags like any other text. Otherwise the text between {{ and }} or {% and
	// %} is left as written, for the template compiler.
	raw bool
	// marks are the positions of the texts with tags in out.
	marks []mark
	// fail reports a value that JSON cannot represent.
	fail func(n *Node, what string)
}

func (w *jsonWriter) node(n *Node) {
	switch n.Kind {
	case NullNode:
		w.out = append(w.out, "null"...)
	case BoolNode:
		w.out = fmt.Appendf(w.out, "%v", n.Truth())
	case NumberNode:
		if n.Number == "" {
			w.fail(n, fmt.Sprintf("%s cannot be written in JSON; expected a finite number, or a text in quotes", wording.Clip(n.Text.Value)))
		}
		w.out = append(w.out, n.Number...)
	case TextNode:
		w.text(&n.Text)
	case ListNode:
		w.out = append(w.out, '[')
		for i, item := range n.Items {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			w.node(item)
		}
		w.out = append(w.out, ']')
	case MapNode:
		w.out = append(w.out, '{')
		for i, e := range n.Entries {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			w.text(&e.Key.Text)
			w.out = append(w.out, ':')
			w.node(e.Value)
		}
		w.out = append(w.out, '}')
	}
}

// text writes a JSON string.
func (w *jsonWriter) text(t *Text) {
	w.out = append(w.out, '"')
	s := t.Value
	var origin *Text // a copy: t keeps the nodes of its file in memory
	if !w.raw && tags.In(s) {
		kept := *t
		origin = &kept
		w.mark(origin, 0)
		defer func() { w.marks = append(w.marks, mark{at: len(w.out)}) }()
	}
	for s != "" {
		begin, end := len(s), len(s)
		if !w.raw {
			begin, end = tags.Next(s)
		}
		w.escape(s[:begin], origin, len(t.Value)-len(s))
		w.out = append(w.out, s[begin:end]...)
		inside := tags.Word(s[begin:end])
		s = s[end:]
		if inside == "raw" {
			end := tags.RawEnd(s)
			w.escape(s[:end], origin, len(t.Value)-len(s))
			s = s[end:]
		}
	}
	w.out = append(w.out, '"')
}

// escape appends s as the content of a JSON string. It escapes only what it must: <, > and & are
// not changed. After each escape it marks the offset in origin, in which s begins at from, unless
// origin is nil.
func (w *jsonWriter) escape(s string, origin *Text, from int) {
	if origin == nil {
		w.out = json.AppendEscaped(w.out, []byte(s))
		return
	}
	for i, r := range s {
		before := len(w.out)
		if w.out = json.AppendEscaped(w.out, []byte(string(r))); r < utf8.RuneSelf && len(w.out) != before+1 {
			w.mark(origin, from+i+1)
		}
	}
}

// mark records that the text written next is the text of origin from an offset on.
func (w *jsonWriter) mark(origin *Text, from int) {
	if origin != nil {
		w.marks = append(w.marks, mark{at: len(w.out), text: origin, from: from})
	}
}
