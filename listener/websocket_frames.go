package listener

import "encoding/binary"

// frames follows the frames that a client sends, for the one mistake that the library
// takes for none: a close with half a code, RFC 6455 section 5.5.1.
type frames struct {
	head     [14]byte // of the frame that is read
	have     int      // bytes of it
	left     uint64   // bytes of its payload that are to come
	closed   bool     // what follows counts for nothing
	badClose bool     // the close has a payload of one byte
}

const opcodeClose = 0x8

// pass takes what came next.
func (f *frames) pass(b []byte) {
	for len(b) > 0 && !f.closed {
		if f.left > 0 {
			n := min(f.left, uint64(len(b)))
			f.left, b = f.left-n, b[n:]
			continue
		}
		f.head[f.have], b = b[0], b[1:]
		if f.have++; f.have < f.size() {
			continue
		}
		if f.closed = f.head[0]&0xf == opcodeClose; f.closed {
			f.badClose = f.head[1]&0x7f == 1
		}
		switch length := f.head[1] & 0x7f; length {
		case 126:
			f.left = uint64(binary.BigEndian.Uint16(f.head[2:]))
		case 127:
			f.left = binary.BigEndian.Uint64(f.head[2:])
		default:
			f.left = uint64(length)
		}
		f.have = 0
	}
}

// size is that of the head, as far as it is known: opcode and length, more of the
// length, and the mask.
func (f *frames) size() int {
	const short, mask = 2, 4
	if f.have < short {
		return short
	}
	switch f.head[1] & 0x7f {
	case 126:
		return short + 2 + mask
	case 127:
		return short + 8 + mask
	}
	return short + mask
}
