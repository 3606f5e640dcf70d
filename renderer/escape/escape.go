// Package escape writes texts in the form that XML, headers and URLs require. Each function appends
// to dst and returns it.
package escape

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// AppendXML appends b escaped for XML and HTML text and attributes. Characters that XML cannot
// contain are omitted.
func AppendXML(dst, b []byte) []byte {
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		switch {
		case r == '&':
			dst = append(dst, "&amp;"...)
		case r == '<':
			dst = append(dst, "&lt;"...)
		case r == '>':
			dst = append(dst, "&gt;"...)
		case r == '"':
			dst = append(dst, "&#34;"...)
		case r == '\'':
			dst = append(dst, "&#39;"...)
		case r == utf8.RuneError && size == 1:
			dst = utf8.AppendRune(dst, utf8.RuneError)
		case r >= 0x20 && r != 0xFFFE && r != 0xFFFF, r == '\t', r == '\n', r == '\r':
			dst = append(dst, b[i:i+size]...)
		}
		i += size
	}
	return dst
}

// AppendHeader appends b without the control characters that a header value must not contain: CR
// and LF would start another header, and strict clients refuse the others.
func AppendHeader(dst, b []byte) []byte {
	for _, c := range b {
		if c >= 0x20 && c != 0x7f || c == '\t' {
			dst = append(dst, c)
		}
	}
	return dst
}

// bytesWhere returns the set of bytes for which holds returns true.
func bytesWhere(holds func(c byte) bool) (t [256]bool) {
	for c := range t {
		t[c] = holds(byte(c))
	}
	return t
}

var (
	// unreserved contains the bytes that need no encoding in any part of a URL.
	unreserved = bytesWhere(func(c byte) bool {
		return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || strings.IndexByte("-._~", c) >= 0
	})
	// inHost also contains the characters of a port and an IPv6 address; {{host}} may contain both.
	inHost = bytesWhere(func(c byte) bool { return unreserved[c] || c == ':' || c == '[' || c == ']' })
	// inURL contains the bytes that may occur in a URL.
	inURL = bytesWhere(func(c byte) bool { return c > 0x20 && c < 0x7f && c != '"' && c != '<' && c != '>' })
)

// AppendPercent appends b with everything but unreserved characters
// percent-encoded.
func AppendPercent(dst, b []byte) []byte { return appendEncoded(dst, b, &unreserved) }

// AppendURL appends b, a whole URL, with bytes that are not allowed in a URL percent-encoded.
func AppendURL(dst, b []byte) []byte { return appendEncoded(dst, b, &inURL) }

// AppendHost appends b, a host that may have a port, with other characters percent-encoded.
func AppendHost(dst, b []byte) []byte { return appendEncoded(dst, b, &inHost) }

// appendEncoded appends b and percent-encodes every byte that is not plain.
func appendEncoded(dst, b []byte, plain *[256]bool) []byte {
	const upperHex = "0123456789ABCDEF"
	for _, c := range b {
		if plain[c] {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return dst
}

// AppendPathSegment is like AppendPercent, except that it also encodes a value that consists only
// of dots, which could otherwise lead out of its directory.
func AppendPathSegment(dst, b []byte) []byte {
	if len(bytes.Trim(b, ".")) > 0 {
		return AppendPercent(dst, b)
	}
	for range b {
		dst = append(dst, "%2E"...)
	}
	return dst
}
