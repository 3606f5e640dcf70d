package wire

import (
	"bytes"
	"encoding/binary"

	"mockserver/internal/ascii"
	"mockserver/internal/http1"
)

var (
	fragment     = bad("the request target contains a fragment (#), which only the client uses")
	spacedTarget = bad("the request target contains a space")
	badTarget    = bad("the request target is neither a path nor an http or https URL; * is allowed only for OPTIONS")
	badAuthority = bad("the URL in the request target has no valid host; expected HOST or HOST:PORT")
	oddTarget    = bad("the request target contains a byte that is not printable ASCII (expected percent-encoding, such as %C3%A9)")
	badConnect   = bad("the request target of CONNECT is not in the form HOST:PORT")
	noTunnel     = &ProtocolError{501, "CONNECT asks for a tunnel through a proxy; this server is not a proxy"}
)

// checkTarget checks a request target against its four forms, RFC 9112 section 3.2. Printable
// characters that RFC 3986 does not allow in a target, such as "{" and "|", are accepted, since
// clients send them.
func checkTarget(method, target []byte) error {
	switch {
	case bytes.IndexByte(target, '#') >= 0:
		return fragment
	case bytes.IndexByte(target, ' ') >= 0:
		return spacedTarget
	case !isPrintable(target):
		return oddTarget
	case string(method) == "CONNECT":
		if port, ok := http1.HostPort(target); !ok || len(port) < 2 {
			return badConnect
		}
		return noTunnel
	case len(target) > 0 && target[0] == '/', string(target) == "*" && string(method) == "OPTIONS":
		return nil
	default:
		return checkURL(target)
	}
}

// CheckTarget returns what is wrong with the target and the host of a request that was not read by
// this package; nil if nothing is.
func CheckTarget(method, target, host []byte) *ProtocolError {
	for _, err := range [...]error{checkTarget(method, target), checkHost(host, false)} {
		if broken, ok := err.(*ProtocolError); ok {
			return broken
		}
	}
	return nil
}

// checkURL checks a target in absolute form. User information in it is an error, RFC 9110 section
// 4.2.4.
func checkURL(target []byte) error {
	scheme, rest, _ := bytes.Cut(target, []byte("://"))
	if !ascii.EqualFold(scheme, "http") && !ascii.EqualFold(scheme, "https") {
		return badTarget
	}
	if end := bytes.IndexAny(rest, "/?"); end >= 0 {
		rest = rest[:end]
	}
	if _, ok := http1.HostPort(rest); !ok {
		return badAuthority
	}
	return nil
}

// checkHost checks the value of a Host header, which may be empty in HTTP/1.0.
func checkHost(value []byte, mayBeEmpty bool) error {
	if len(value) == 0 && mayBeEmpty {
		return nil
	}
	if _, ok := http1.HostPort(value); !ok {
		return badHost
	}
	return nil
}

var badHost = bad("the Host header is not a valid host; expected HOST or HOST:PORT")

// isPrintable reports whether b consists of printable ASCII and spaces. It looks at eight bytes at
// a time.
func isPrintable(b []byte) bool {
	const ones = 0x0101010101010101
	for len(b) >= 8 {
		w := binary.LittleEndian.Uint64(b)
		control := w - ones*0x20      // sets the high bit of a byte below 0x20
		del := (w ^ ones*0x7f) - ones // and of a byte that is 0x7f
		if (w|control|del)&(ones*0x80) != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
