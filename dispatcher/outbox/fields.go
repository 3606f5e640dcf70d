package outbox

import (
	"encoding/binary"
	"errors"
)

// maxRecord is the maximum size of a record, and of each text in it, in bytes.
const maxRecord = 1 << 30

// ErrRecord is returned for a record that cannot be decoded.
var ErrRecord = errors.New("a record of the webhook store is malformed")

// Fields decodes data written by AppendText and by the Append functions of encoding/binary. A
// missing field is decoded as zero, and Err reports it.
type Fields struct {
	rest []byte
	bad  bool
}

// NewFields returns a decoder of fields. The texts it decodes are slices of from.
func NewFields(from []byte) *Fields { return &Fields{rest: from} }

// More reports whether further fields follow.
func (f *Fields) More() bool { return len(f.rest) > 0 }

// Err returns ErrRecord if a field was missing, or if some fields have not been read.
func (f *Fields) Err() error {
	if f.bad || f.More() {
		return ErrRecord
	}
	return nil
}

func (f *Fields) take(n int) []byte {
	if n < 0 || n > len(f.rest) {
		f.bad, f.rest = true, nil
		return nil
	}
	out := f.rest[:n:n]
	f.rest = f.rest[n:]
	return out
}

// Byte decodes one byte.
func (f *Fields) Byte() byte {
	if b := f.take(1); b != nil {
		return b[0]
	}
	return 0
}

// Uint64 decodes eight bytes in little-endian order.
func (f *Fields) Uint64() uint64 {
	if b := f.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Uvarint decodes a number written by binary.AppendUvarint.
func (f *Fields) Uvarint() uint64 {
	n, size := binary.Uvarint(f.rest)
	if size <= 0 {
		f.bad, f.rest = true, nil
		return 0
	}
	f.rest = f.rest[size:]
	return n
}

// Text decodes a text written by AppendText.
func (f *Fields) Text() []byte {
	n := f.Uvarint()
	if n > maxRecord {
		f.bad = true
		return nil
	}
	return f.take(int(n))
}

// AppendText appends the length of a text, as a uvarint, followed by the text.
func AppendText[T string | []byte](to []byte, text T) []byte {
	to = binary.AppendUvarint(to, uint64(len(text)))
	return append(to, text...)
}
