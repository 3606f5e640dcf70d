package upstream

import (
	"bytes"

	"mockserver/internal/ascii"
)

// Field is a header of an answer. It is valid until the exchange is closed.
type Field struct{ Name, Value []byte }

// cutField splits a header line.
func cutField(line []byte) (name, value []byte, err error) {
	i := bytes.IndexByte(line, ':')
	if i <= 0 {
		return nil, nil, errName
	}
	for _, c := range line[:i] {
		if !isToken(c) {
			return nil, nil, errName
		}
	}
	if value = ascii.TrimBlanks(line[i+1:]); hasControl(value) {
		return nil, nil, errValue
	}
	return line[:i], value, nil
}

// isToken reports whether c may be in a name; see RFC 9110 section 5.6.2.
func isToken(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c > ' ' && c < 0x7f && bytes.IndexByte(tokens, c) >= 0
}

var (
	tokens = []byte("!#$%&'*+-.^_`|~")
	crlf   = []byte("\r\n")
)

// hasControl reports whether a value contains a control character other than a tab.
func hasControl(value []byte) bool {
	for _, c := range value {
		if c < ' ' && c != '\t' || c == 0x7f {
			return true
		}
	}
	return false
}

// without removes the fields with the given names.
func without(fields []Field, named [][]byte) []Field {
	kept := fields[:0]
	for _, f := range fields {
		if !isNamed(f.Name, named) {
			kept = append(kept, f)
		}
	}
	return kept
}

// is reports whether a name, in any case, equals one given in lower case.
func is(name []byte, lower string) bool {
	return len(name) == len(lower) && ascii.EqualFold(name, lower)
}

// isConnection reports whether a header concerns only one connection, or is written by the proxy.
func isConnection(name []byte) bool {
	switch len(name) {
	case 2:
		return is(name, "te")
	case 4:
		return is(name, "host")
	case 6:
		return is(name, "expect")
	case 7:
		return is(name, "trailer") || is(name, "upgrade")
	case 10:
		return is(name, "connection") || is(name, "keep-alive")
	case 14:
		return is(name, "content-length") || is(name, "http2-settings")
	case 16:
		return is(name, "proxy-connection")
	case 17:
		return is(name, "transfer-encoding")
	}
	return false
}

// IsHopByHop reports whether a header concerns only one connection, or is written again for each
// connection. named contains the names in the Connection headers.
func IsHopByHop(name []byte, named [][]byte) bool {
	return isConnection(name) || len(named) > 0 && isNamed(name, named)
}

func isNamed(name []byte, all [][]byte) bool {
	for _, one := range all {
		if bytes.EqualFold(name, one) {
			return true
		}
	}
	return false
}
