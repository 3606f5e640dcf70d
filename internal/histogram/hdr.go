package histogram

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
)

// hdrHead is the head of a histogram in the V2 form of HdrHistogram. A zigzag varint for each
// bucket follows: its count, or minus the number of empty buckets.
type hdrHead struct {
	Cookie, Length, Offset, Digits int32
	Lowest, Highest                int64
	Ratio                          float64
}

const (
	hdrPlain      = 0x1c849303 // the cookies; bits 4 to 7 are the size of a word, which V2 does not use
	hdrCompressed = 0x1c849304
)

var errHDR = errors.New("not a histogram in the compressed form of HdrHistogram V2")

// ReadHDR reads a histogram in the compressed form of HdrHistogram V2, in Base64, and calls add with the highest value
// of each bucket and its count, above 0, in ascending order.
func ReadHDR(text string, add func(value, count int64)) error {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return err
	}
	if len(raw) < 8 || binary.BigEndian.Uint32(raw)&^0xf0 != hdrCompressed {
		return errHDR
	}
	z, err := zlib.NewReader(bytes.NewReader(raw[8:]))
	if err != nil {
		return err
	}
	var head hdrHead
	if err := binary.Read(z, binary.BigEndian, &head); err != nil {
		return err
	}
	if head.Cookie&^0xf0 != hdrPlain || head.Digits < 0 || head.Digits > 5 {
		return errHDR
	}
	resolution := uint64(2)
	for range head.Digits {
		resolution *= 10
	}
	within := bits.Len64(resolution-1) - 1
	unit := bits.Len64(uint64(max(head.Lowest, 1))) - 1
	end := int64(64-within-unit) << within // where values exceed 63 bits
	for r, i := bufio.NewReader(z), int64(0); ; {
		n, err := binary.ReadVarint(r)
		switch {
		case errors.Is(err, io.EOF):
			return nil // the checksum is right
		case err != nil:
			return err
		case i >= end || n < i-end:
			return errHDR
		case n < 0:
			i -= n
			continue
		case n > 0:
			octave := max(i>>within-1, 0)
			add((i-octave<<within+1)<<(octave+int64(unit))-1, n)
		}
		i++
	}
}
