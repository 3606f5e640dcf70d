package wire

import (
	"bytes"

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
	costlyTarget = bad("the path of the request target is longer than 4 KiB and has more than 100 empty or dot segments")
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
	case len(target) > plainPath && costly(pathOf(target)):
		return costlyTarget
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

// hostBytes are the bytes that a host name may contain, RFC 3986 section 3.2.2; fasthttp checks
// what follows a "%". addressBytes are the bytes that an IPv6 address with its zone may contain.
var (
	hostBytes    = ascii.Set("-._~!$&'()*+,;=%")
	addressBytes = ascii.Set("-._~:%")
)

// isHostName reports whether b is a valid host name or address.
func isHostName(b []byte) bool {
	allowed := &hostBytes
	if n := len(b); n > 1 && b[0] == '[' && b[n-1] == ']' {
		b, allowed = b[1:n-1], &addressBytes
	}
	for _, c := range b {
		if !allowed[c] {
			return false
		}
	}
	return len(b) > 0
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

// fasthttp normalizes the path of each request, although nothing here needs that, and moves the
// rest of the path for each empty or dot segment. So a long path that consists only of such
// segments takes milliseconds.
const (
	// plainPath is the longest path, in bytes, that is cheap whatever it contains.
	plainPath = 4 << 10
	// maxNormalised is the maximum number of segments to remove from a path longer than plainPath.
	maxNormalised = 100
)

// pathOf returns the path of a target, which is a path or a URL.
func pathOf(target []byte) []byte {
	path, _, _ := bytes.Cut(target, []byte{'?'})
	if len(path) > 0 && path[0] == '/' {
		return path
	}
	_, path, _ = bytes.Cut(path, []byte("://"))
	return path[max(0, bytes.IndexByte(path, '/')):]
}

// costly reports whether normalizing a path would take long. fasthttp decodes the path first.
func costly(path []byte) bool {
	if len(path) <= plainPath {
		return false
	}
	removed := 0
	size, dots := 0, 0 // size and number of dots of the segment
	for i := 1; i < len(path); i++ {
		c := path[i]
		if c == '%' && i+2 < len(path) {
			if high, low := ascii.Hex(path[i+1]), ascii.Hex(path[i+2]); high|low < 16 {
				c = high<<4 | low
				i += 2
			}
		}
		switch {
		case c == '/':
			if size == dots && size <= len("..") {
				removed++
			}
			size, dots = 0, 0
			continue
		case c == '.':
			dots++
		}
		size++
	}
	return removed > maxNormalised
}

var badHost = bad("the Host header is not a valid host; expected HOST or HOST:PORT")
