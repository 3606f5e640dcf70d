package renderer

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"mockserver/config/syntax"
	"mockserver/matcher"
)

// writer is how a placeholder's value is written where it stands.
type writer uint8

const (
	writePlain      writer = iota
	writeJSONString        // inside a JSON string
	writeJSONValue         // where JSON expects a value
	writeXML
	writeHeader
	writeURLStart // where a URL's scheme may stand: a whole URL is let through, such as a callback that the client sent
	writeURLHost  // a host, with its port
	writeURLPart  // query or fragment
	writeURLPath  // a path segment, or a part of one
)

// append appends v to dst.
func (w writer) append(dst []byte, v value) []byte {
	switch w {
	case writeJSONString:
		if v.kind == instant {
			return v.appendText(dst)
		}
		return appendJSONEscaped(dst, v.raw)
	case writeJSONValue:
		return appendJSONValue(dst, v)
	case writePlain:
		return v.appendText(dst)
	}
	if v.kind == instant {
		v = textValue(v.appendText(nil))
	}
	switch w {
	case writeXML:
		return appendXML(dst, v.raw)
	case writeHeader:
		return appendHeader(dst, v.raw)
	case writeURLStart:
		return appendEncoded(dst, v.raw, &inURL)
	case writeURLHost:
		return appendEncoded(dst, v.raw, &inHost)
	case writeURLPath:
		return appendPathSegment(dst, v.raw)
	default:
		return appendPercent(dst, v.raw)
	}
}

// appendJSONValue appends v as one JSON value: null for a missing one; a text
// bare when it is a number, true, false or null, else as a JSON string.
func appendJSONValue(dst []byte, v value) []byte {
	switch v.kind {
	case missing:
		return append(dst, "null"...)
	case instant:
		dst = append(dst, '"')
		dst = v.appendText(dst)
		return append(dst, '"')
	case text:
		if syntax.IsJSONNumber(v.raw) || isKeyword(v.raw) {
			return append(dst, v.raw...)
		}
		return appendJSONText(dst, v.raw)
	}
	return append(dst, v.raw...)
}

func isKeyword(b []byte) bool {
	switch string(b) {
	case "true", "false", "null":
		return true
	}
	return false
}

// appendJSONText appends b as a JSON string with its quotes.
func appendJSONText(dst, b []byte) []byte {
	dst = append(dst, '"')
	dst = appendJSONEscaped(dst, b)
	return append(dst, '"')
}

// appendJSONEscaped appends b as it stands inside a JSON string. Bytes that are
// not UTF-8 become U+FFFD.
func appendJSONEscaped(dst, b []byte) []byte {
	start := 0
	for i := 0; i < len(b); {
		c := b[i]
		if c < utf8.RuneSelf {
			if !plainInJSON[c] {
				dst = append(dst, b[start:i]...)
				dst = appendJSONEscape(dst, c)
				start = i + 1
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, b[start:i]...)
			dst = utf8.AppendRune(dst, utf8.RuneError)
			start = i + 1
		}
		i += size
	}
	return append(dst, b[start:]...)
}

func appendJSONEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// appendXML appends b escaped for XML and HTML text and attributes. Characters
// that XML cannot hold are left out.
func appendXML(dst, b []byte) []byte {
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

// appendHeader appends b without the control characters that a header value may
// not hold: CR, LF and NUL would start another header, the rest is refused by
// strict clients.
func appendHeader(dst, b []byte) []byte {
	for _, c := range b {
		if c >= 0x20 && c != 0x7f || c == '\t' {
			dst = append(dst, c)
		}
	}
	return dst
}

// urlPlace is a part of a URL. A URL goes through them in this order.
type urlPlace uint8

const (
	urlStart   urlPlace = iota // nothing yet, or the scheme
	urlSlashes                 // between the scheme and the host
	urlHost
	urlPath
	urlRest // query and fragment
	urlEnd  // how many there are
)

func (p urlPlace) advance(literal string) urlPlace {
	for i := range len(literal) {
		c := literal[i]
		switch {
		case p == urlRest:
		case c == '?' || c == '#':
			p = urlRest
		case p == urlStart && c == ':':
			p = urlSlashes
		case p == urlSlashes && c != '/':
			p = urlHost
		case (p == urlStart || p == urlHost) && c == '/':
			p = urlPath
		}
	}
	return p
}

// urlPlaces follows a URL from literal to literal: the parts, as a bit each, in
// which the next character may stand. There are several where the branches of a
// block end in different ones.
type urlPlaces uint8

func (ps urlPlaces) advance(literal string) urlPlaces {
	var next urlPlaces
	for p := urlStart; p < urlEnd; p++ {
		if ps&(1<<p) != 0 {
			next |= 1 << p.advance(literal)
		}
	}
	return next
}

// pastValue is where the character after a placeholder may stand.
func (ps urlPlaces) pastValue() urlPlaces {
	if ps&(1<<urlSlashes) != 0 {
		return ps&^(1<<urlSlashes) | 1<<urlHost
	}
	return ps
}

// inLoop is where a character may stand in any turn of a loop that begins here:
// a turn may end in a later part, and the next one begins there.
func (ps urlPlaces) inLoop() urlPlaces {
	for p := urlStart; p < urlEnd-1; p++ {
		if ps&(1<<p) != 0 {
			ps |= 1 << (p + 1)
		}
	}
	return ps
}

// writer is how a value is written here. Where the part is not known for sure it
// is the strictest, which can end none of them.
func (ps urlPlaces) writer() writer {
	switch ps {
	case 1 << urlStart:
		return writeURLStart
	case 1 << urlSlashes, 1 << urlHost:
		return writeURLHost
	case 1 << urlRest:
		return writeURLPart
	}
	return writeURLPath
}

// bytesWhere are the bytes of which something holds.
func bytesWhere(holds func(c byte) bool) (t [256]bool) {
	for c := range t {
		t[c] = holds(byte(c))
	}
	return t
}

var (
	// unreserved are the bytes that stand in any part of a URL as they are.
	unreserved = bytesWhere(func(c byte) bool {
		return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || strings.IndexByte("-._~", c) >= 0
	})
	// inHost are also a port and the brackets of an IPv6 address: {{host}} holds them.
	inHost = bytesWhere(func(c byte) bool { return unreserved[c] || c == ':' || c == '[' || c == ']' })
	// inURL are the bytes that a URL may hold.
	inURL = bytesWhere(func(c byte) bool { return c > 0x20 && c < 0x7f && c != '"' && c != '<' && c != '>' })
	// plainInJSON are the bytes that stand in a JSON string as they are.
	plainInJSON = bytesWhere(func(c byte) bool { return c >= 0x20 && c != '"' && c != '\\' })
)

// appendPercent appends b with everything but unreserved characters
// percent-encoded.
func appendPercent(dst, b []byte) []byte { return appendEncoded(dst, b, &unreserved) }

// appendEncoded appends b with everything percent-encoded that is not plain.
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

// appendPathSegment is appendPercent, except that a value of dots only is encoded
// too: it would climb out of its directory.
func appendPathSegment(dst, b []byte) []byte {
	if len(bytes.Trim(b, ".")) > 0 {
		return appendPercent(dst, b)
	}
	for range b {
		dst = append(dst, "%2E"...)
	}
	return dst
}

// jsonText is what the json filter gives: v as JSON text. A text becomes a JSON
// string that is written as it is, whatever stands around it.
func jsonText(v, _ value, r *matcher.Request) value {
	start := len(r.Arena)
	switch v.kind {
	case missing:
		return value{kind: null, raw: nullText}
	case text:
		r.Arena = appendJSONText(r.Arena, v.raw)
	case instant:
		r.Arena = appendJSONValue(r.Arena, v)
	default:
		return v
	}
	return value{kind: encoded, raw: since(r, start)}
}
