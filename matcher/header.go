package matcher

import (
	"bytes"
	"iter"

	"mockserver/internal/ascii"
)

// Header is a block of header lines as they were received, each "Name: value" followed by CRLF,
// with an empty line at the end. A lookup scans the lines.
type Header []byte

// Get returns the first value of a header, without the blanks around it, and reports whether the
// header exists. The name is matched case-insensitively.
func (h Header) Get(name string) (value []byte, ok bool) {
	value, _, ok = h.find(name)
	return value, ok
}

// Values iterates over all values of a header; Get returns the first one.
func (h Header) Values(name string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for value, rest, ok := h.find(name); ok && yield(value); value, rest, ok = rest.find(name) {
		}
	}
}

// find is like Get, and also returns the lines after the one found.
func (h Header) find(name string) (value []byte, rest Header, ok bool) {
	n := len(name)
	for len(h) > n {
		end := bytes.IndexByte(h, '\n')
		if end < 0 {
			end = len(h) - 1
		}
		if h[n] == ':' && ascii.EqualFold(h[:n], name) {
			return trimmed(h[n+1 : end+1]), h[end+1:], true
		}
		h = h[end+1:]
	}
	return nil, nil, false
}

// All iterates over the headers in the order they were received, with their names as sent.
func (h Header) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for h := h; len(h) > 0; { // a copy, so that the sequence can be iterated again
			end := bytes.IndexByte(h, '\n')
			if end < 0 {
				end = len(h) - 1
			}
			name, value, ok := bytes.Cut(h[:end+1], []byte{':'})
			if ok && !yield(name, trimmed(value)) {
				return
			}
			h = h[end+1:]
		}
	}
}

// trimmed returns b without the blanks and line ends around it.
func trimmed(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
