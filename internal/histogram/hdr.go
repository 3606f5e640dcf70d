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
	"time"
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
	hdrWord       = 0x10
	hdrBits       = 10 // bits below the highest one that three digits need
)

// HDR returns the distribution in the compressed form of HdrHistogram V2, in Base64, with three
// digits, up to two hours. HdrHistogram has other buckets: each duration is recorded as the middle
// of its cell, and 0 as a nanosecond.
func (l Snapshot) HDR() string {
	var counts []int64
	for d, n := range l.Cells() {
		octave := max(bits.Len64(uint64(d))-hdrBits-1, 0)
		i := octave<<hdrBits + int(max(d, 1)>>octave)
		counts = append(counts, make([]int64, max(i+1-len(counts), 0))...)
		counts[i] += int64(n)
	}
	var body []byte
	zeros := int64(0)
	for _, n := range counts {
		if n == 0 {
			zeros++
			continue
		}
		if zeros == 1 {
			body = append(body, 0)
		} else if zeros > 1 {
			body = binary.AppendVarint(body, -zeros)
		}
		body, zeros = binary.AppendVarint(body, n), 0
	}
	if len(body) == 0 {
		body = []byte{0}
	}
	var b bytes.Buffer // writing to it does not fail
	z, _ := zlib.NewWriterLevel(&b, zlib.BestCompression)
	binary.Write(z, binary.BigEndian, hdrHead{hdrPlain | hdrWord, int32(len(body)), 0, 3, 1, int64(2 * time.Hour), 1})
	z.Write(body)
	z.Close()
	text := binary.BigEndian.AppendUint32(nil, hdrCompressed|hdrWord)
	text = binary.BigEndian.AppendUint32(text, uint32(b.Len()))
	return base64.StdEncoding.EncodeToString(append(text, b.Bytes()...))
}

var errHDR = errors.New("not a histogram in the compressed form of HdrHistogram V2")

// ReadHDR reads a histogram in the form that HDR returns, with any number of digits, and calls add
// with the highest value of each bucket and its count, above 0, in ascending order.
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
