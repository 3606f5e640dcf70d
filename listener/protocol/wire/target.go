package wire

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"unsafe"

	"mockserver/internal/ascii"
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
		if name, port := cutPort(target); !isHostName(name) || len(port) < 2 || !isPortPart(port) {
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
	if name, port := cutPort(rest); !isHostName(name) || !isPortPart(port) {
		return badAuthority
	}
	return nil
}

// checkHost checks the value of a Host header, which may be empty in HTTP/1.0.
func checkHost(value []byte, mayBeEmpty bool) error {
	if len(value) == 0 && mayBeEmpty {
		return nil
	}
	if name, port := cutPort(value); !isHostName(name) || !isPortPart(port) {
		return badHost
	}
	return nil
}

// cutPort splits HOST:PORT; the port begins with the colon, and is empty if there is no colon.
func cutPort(b []byte) (name, port []byte) {
	from := 0
	if len(b) > 0 && b[0] == '[' {
		from = max(0, bytes.IndexByte(b, ']'))
	}
	if i := bytes.IndexByte(b[from:], ':'); i >= 0 {
		return b[:from+i], b[from+i:]
	}
	return b, nil
}

// hostBytes are the bytes that a host name may contain, RFC 3986 section 3.2.2.
var hostBytes = ascii.Set("-._~!$&'()*+,;=%")

// isHostName reports whether b is a valid host name or address.
func isHostName(b []byte) bool {
	if n := len(b); n > 1 && b[0] == '[' && b[n-1] == ']' {
		return isAddress(b[1 : n-1])
	}
	for i, c := range b {
		if !hostBytes[c] || c == '%' && !isEscape(b[i:]) {
			return false
		}
	}
	return len(b) > 0
}

// isAddress reports whether b is an IPv6 address, perhaps with a zone after "%25", RFC 6874.
func isAddress(b []byte) bool {
	b, zone, zoned := bytes.Cut(b, []byte("%25"))
	if zoned && (len(zone) == 0 || zone[0] == '[' || !isHostName(zone)) {
		return false
	}
	ip, err := netip.ParseAddr(unsafe.String(unsafe.SliceData(b), len(b)))
	return err == nil && ip.Is6() && ip.Zone() == ""
}

// isEscape reports whether b begins with an escaped byte that a host name may contain: one that is
// not ASCII, or "%".
func isEscape(b []byte) bool {
	if len(b) < 3 {
		return false
	}
	high, low := ascii.Hex(b[1]), ascii.Hex(b[2])
	return high < 16 && low < 16 && (high >= 8 || high<<4|low == '%')
}

// isPortPart reports whether b is a colon and digits, or empty.
func isPortPart(b []byte) bool {
	for i, c := range b {
		if i > 0 && (c < '0' || '9' < c) {
			return false
		}
	}
	return true
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
