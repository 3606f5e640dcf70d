package config

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"mockserver/internal/wording"
)

// jsonWriter writes a node as JSON text: keys in order, numbers digit for digit.
type jsonWriter struct {
	out []byte
	// raw escapes template tags like any other text. Otherwise what stands between
	// {{ and }} or {% and %} is left as written, for the template compiler to read.
	raw bool
	// marks tell where the texts with tags stand that out is made of.
	marks []mark
	// fail reports a value that JSON cannot say.
	fail func(n *node, what string)
}

func (w *jsonWriter) node(n *node) {
	switch n.kind {
	case nullNode:
		w.out = append(w.out, "null"...)
	case boolNode:
		w.out = fmt.Appendf(w.out, "%v", n.truth())
	case numberNode:
		if n.number == "" {
			w.fail(n, fmt.Sprintf("%s cannot be said in JSON; a finite number is accepted, or a text in quotes", wording.Clip(n.text.Value)))
		}
		w.out = append(w.out, n.number...)
	case textNode:
		w.text(&n.text)
	case listNode:
		w.out = append(w.out, '[')
		for i, item := range n.items {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			w.node(item)
		}
		w.out = append(w.out, ']')
	case mapNode:
		w.out = append(w.out, '{')
		for i, e := range n.entries {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			w.text(&e.key.text)
			w.out = append(w.out, ':')
			w.node(e.value)
		}
		w.out = append(w.out, '}')
	}
}

// text writes a JSON string.
func (w *jsonWriter) text(t *Text) {
	w.out = append(w.out, '"')
	s := t.Value
	var origin *Text // a copy: t keeps the nodes of its file in memory
	if !w.raw && hasTags(s) {
		kept := *t
		origin = &kept
		w.mark(origin, 0)
		defer func() { w.marks = append(w.marks, mark{at: len(w.out)}) }()
	}
	for s != "" {
		begin, end := len(s), len(s)
		if !w.raw {
			begin, end = NextTag(s)
		}
		w.escape(s[:begin], origin, len(t.Value)-len(s))
		w.out = append(w.out, s[begin:end]...)
		tag := s[begin:end]
		s = s[end:]
		if tagWord(tag) == "raw" {
			end := RawEnd(s)
			w.escape(s[:end], origin, len(t.Value)-len(s))
			s = s[end:]
		}
	}
	w.out = append(w.out, '"')
}

// escape appends the letters of s as they stand inside a JSON string. Only what
// must be escaped is: <, > and & are themselves. Behind each escape the offsets
// of origin, where s begins at from, are marked anew; nil is not marked.
func (w *jsonWriter) escape(s string, origin *Text, from int) {
	for i, r := range s {
		switch {
		case r == '"' || r == '\\':
			w.out = append(w.out, '\\', byte(r))
		case r == '\n':
			w.out = append(w.out, `\n`...)
		case r == '\r':
			w.out = append(w.out, `\r`...)
		case r == '\t':
			w.out = append(w.out, `\t`...)
		case r < 0x20:
			w.out = fmt.Appendf(w.out, `\u%04x`, r)
		default:
			w.out = utf8.AppendRune(w.out, r)
			continue
		}
		w.mark(origin, from+i+1)
	}
}

// mark notes that what is written next is origin from an offset on.
func (w *jsonWriter) mark(origin *Text, from int) {
	if origin != nil {
		w.marks = append(w.marks, mark{at: len(w.out), text: origin, from: from})
	}
}

// hasTags tells whether a text is a template rather than fixed.
func hasTags(s string) bool { return TagStart(s) < len(s) }

// tagWord returns the trimmed inside of a {% … %} tag, "" for any other.
func tagWord(tag string) string {
	inside, ok := strings.CutPrefix(tag, "{%")
	if !ok {
		return ""
	}
	return strings.TrimSpace(strings.TrimSuffix(inside, "%}"))
}
