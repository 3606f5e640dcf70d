package histogram

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"time"
)

// The raw form of a reading is complete, so that readings of several processes can be added up
// exactly. docs/fleet.md describes it; an empty reading has no bytes.

// AppendRaw appends the raw form.
func (l Snapshot) AppendRaw(to []byte) []byte {
	if l.Count == 0 {
		return to
	}
	to = binary.AppendUvarint(to, uint64(l.Max))
	next := 0
	for _, c := range l.cells {
		octave, cell := cellOf(int64(c.end))
		number := octave<<octaveBits | cell
		to = binary.AppendUvarint(to, uint64(number-next))
		to = binary.AppendUvarint(to, c.count)
		next = number + 1
	}
	return to
}

var errRaw = errors.New("not the raw form of a histogram")

// ParseRaw parses the raw form.
func ParseRaw(text []byte) (Snapshot, error) {
	var l Snapshot
	if len(text) == 0 {
		return l, nil
	}
	r := bytes.NewReader(text)
	longest, err := binary.ReadUvarint(r)
	if err != nil || longest > math.MaxInt64 {
		return Snapshot{}, errRaw
	}
	l.Max = time.Duration(longest)
	for next := uint64(0); r.Len() > 0; next++ {
		gap, err := binary.ReadUvarint(r)
		if err != nil || gap >= octaves<<octaveBits-next {
			return Snapshot{}, errRaw
		}
		count, err := binary.ReadUvarint(r)
		if err != nil || count == 0 || count > math.MaxInt64-l.Count {
			return Snapshot{}, errRaw
		}
		next += gap
		end := time.Duration(cellEnd(int(next>>octaveBits), int(next&(1<<octaveBits-1))))
		l.cells = append(l.cells, lengthCell{end, count})
		l.Count += count
		l.Sum += middle(end) * time.Duration(count)
	}
	if l.Count == 0 {
		return Snapshot{}, errRaw
	}
	return l, nil
}

// MarshalText returns the raw form in Base64, for JSON.
func (l Snapshot) MarshalText() ([]byte, error) {
	return base64.StdEncoding.AppendEncode(nil, l.AppendRaw(nil)), nil
}

// UnmarshalText parses the result of MarshalText.
func (l *Snapshot) UnmarshalText(text []byte) error {
	raw, err := base64.StdEncoding.AppendDecode(nil, text)
	if err == nil {
		*l, err = ParseRaw(raw)
	}
	return err
}

// Cells returns the middle of each cell and how many durations are in it, in ascending order.
func (l Snapshot) Cells() iter.Seq2[time.Duration, uint64] {
	return func(yield func(time.Duration, uint64) bool) {
		for _, c := range l.cells {
			if !yield(middle(c.end), c.count) {
				return
			}
		}
	}
}
