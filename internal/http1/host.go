package http1

import (
	"bytes"
	"net/netip"
	"slices"
	"unsafe"

	"mockserver/internal/ascii"
)

// HostPort reports whether b is HOST or HOST:PORT. The port begins with the colon, and is empty if there is
// none.
func HostPort(b []byte) (port []byte, ok bool) {
	name, from := b, 0
	if len(b) > 0 && b[0] == '[' {
		from = max(0, bytes.IndexByte(b, ']'))
	}
	if i := bytes.IndexByte(b[from:], ':'); i >= 0 {
		name, port = b[:from+i], b[from+i:]
	}
	digits := port[min(1, len(port)):]
	return port, isHostName(name) && !slices.ContainsFunc(digits, func(c byte) bool { return c < '0' || '9' < c })
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
