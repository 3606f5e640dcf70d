package wire

import "encoding/binary"

// tokenBytes are the bytes of a token, RFC 9110 section 5.6.2.
var tokenBytes = bytesOf("!#$%&'*+-.^_`|~")

// bytesOf returns the set of all letters, digits and the given bytes.
func bytesOf(others string) (set [256]bool) {
	for c := range set {
		lower := c | 0x20
		set[c] = '0' <= c && c <= '9' || 'a' <= lower && lower <= 'z' && c < 0x80
	}
	for _, c := range []byte(others) {
		set[c] = true
	}
	return set
}

// isControl reports whether c is an ASCII control character other than a tab. Header values and
// quoted strings must not contain one.
func isControl(c byte) bool { return c < ' ' && c != '\t' || c == 0x7f }

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
