package matcher

import (
	"bytes"

	"mockserver/internal/ascii"
)

// cutByte splits b around the first sep. If b does not contain sep, after is nil.
func cutByte(b []byte, sep byte) (before, after []byte) {
	if i := bytes.IndexByte(b, sep); i >= 0 {
		return b[:i], b[i+1:]
	}
	return b, nil
}

// appendDecoded appends src percent-decoded. A "%" that is not followed by two hexadecimal digits
// is copied unchanged. If plus is set, "+" is decoded as a space.
func appendDecoded(dst, src []byte, plus bool) []byte {
	for len(src) > 0 {
		var c byte
		c, src = nextDecoded(src, plus)
		dst = append(dst, c)
	}
	return dst
}

// equalDecoded reports whether the encoded key of a form or query equals name.
func equalDecoded(key []byte, name string) bool {
	for i := range len(name) {
		if len(key) == 0 {
			return false
		}
		var c byte
		if c, key = nextDecoded(key, true); c != name[i] {
			return false
		}
	}
	return len(key) == 0
}

// nextDecoded decodes one byte from src, which must not be empty.
func nextDecoded(src []byte, plus bool) (c byte, rest []byte) {
	c = src[0]
	switch {
	case c == '%' && len(src) >= 3:
		high, low := ascii.Hex(src[1]), ascii.Hex(src[2])
		if high|low < 16 {
			return high<<4 | low, src[3:]
		}
	case c == '+' && plus:
		c = ' '
	}
	return c, src[1:]
}

// hasMediaType reports whether the media type of a Content-Type is kind, ignoring its parameters.
func hasMediaType(contentType []byte, kind string) bool {
	name, _ := cutByte(contentType, ';')
	return ascii.EqualFold(bytes.TrimSpace(name), kind)
}
