package config

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// jsonWriter writes a node as JSON text: keys in order, numbers digit for digit.
type jsonWriter struct {
	out []byte
	// raw escapes template tags like any other text. Otherwise what stands between
	// {{ and }} or {% and %} is left as written, for the template compiler to read.
	raw bool
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
			w.fail(n, fmt.Sprintf("%s cannot be said in JSON; a finite number is accepted, or a text in quotes", clip(n.text.Value)))
		}
		w.out = append(w.out, n.number...)
	case textNode:
		w.text(n.text.Value)
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
			w.text(e.key.text.Value)
			w.out = append(w.out, ':')
			w.node(e.value)
		}
		w.out = append(w.out, '}')
	}
}

// text writes a JSON string.
func (w *jsonWriter) text(s string) {
	w.out = append(w.out, '"')
	for s != "" {
		begin, end := len(s), len(s)
		if !w.raw {
			begin, end = findTag(s)
		}
		w.escape(s[:begin])
		w.out = append(w.out, s[begin:end]...)
		tag := s[begin:end]
		s = s[end:]
		if tagWord(tag) == "raw" {
			end := rawEnd(s)
			w.escape(s[:end])
			s = s[end:]
		}
	}
	w.out = append(w.out, '"')
}

// escape appends the letters of s as they stand inside a JSON string. Only what
// must be escaped is: <, > and & are themselves.
func (w *jsonWriter) escape(s string) {
	for _, r := range s {
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
		}
	}
}

// findTag returns where the first template tag of s begins and ends; both are
// its length where there is none, or none that is closed. Quoted texts inside a
// tag may hold what would close it.
func findTag(s string) (begin, end int) {
	begin = tagStart(s)
	if begin == len(s) {
		return begin, begin
	}
	closing := "}}"
	if s[begin+1] == '%' {
		closing = "%}"
	}
	quote := byte(0)
	for i := begin + 2; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case strings.HasPrefix(s[i:], closing):
			return begin, i + len(closing)
		}
	}
	return len(s), len(s)
}

// tagStart returns where the first {{ or {% stands, or the length of s.
func tagStart(s string) int {
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '{' && (s[i+1] == '{' || s[i+1] == '%') {
			return i
		}
	}
	return len(s)
}

// hasTags tells whether a text is a template rather than fixed.
func hasTags(s string) bool { return tagStart(s) < len(s) }

// tagWord returns the trimmed inside of a {% … %} tag, "" for any other.
func tagWord(tag string) string {
	inside, ok := strings.CutPrefix(tag, "{%")
	if !ok {
		return ""
	}
	return strings.TrimSpace(strings.TrimSuffix(inside, "%}"))
}

// rawEnd returns where the {% endraw %} of a raw block begins: what is before it
// is text, whatever it looks like.
func rawEnd(s string) int {
	for at := 0; ; at += 2 {
		next := strings.Index(s[at:], "{%")
		if next < 0 {
			return len(s)
		}
		at += next
		end := strings.Index(s[at:], "%}")
		if end < 0 {
			return len(s)
		}
		if strings.TrimSpace(s[at+2:at+end]) == "endraw" {
			return at
		}
	}
}
