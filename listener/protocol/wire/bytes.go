package wire

import "encoding/binary"

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
