package state

import (
	"maps"
	"sync"
)

// Turns records which row is next when rows are picked one after the other: for each part and
// value, it stores the number of the row that was picked last. The zero value is ready for use.
type Turns struct {
	mu   sync.Mutex
	last map[turn]uint64 // the seq of the row plus 1
}

// turn is a part and the values that the row must have.
type turn struct {
	part, value string
	isolated    bool
}

// maxTurns is the maximum number of parts and values that are remembered. Above this number, some
// are forgotten and start over.
const maxTurns = 100_000

// Next returns the row after the one that was picked last, or the first one after the last. There
// must be a row.
func (t *Turns) Next(rows *List, value, part []byte) Row {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := turn{string(part), string(value), part != nil}
	k := 0
	after, known := t.last[of]
	if known {
		k = rows.Rank(Row{Seq: after}, false)
	}
	if k >= rows.Len() {
		k = 0
	}
	row := rows.At(k)
	if t.last == nil {
		t.last = map[turn]uint64{}
	}
	for some := range t.last {
		if known || len(t.last) < maxTurns {
			break
		}
		delete(t.last, some)
	}
	t.last[of] = row.Seq + 1
	return row
}

// Reset forgets the turns of one part, or of all parts if part is nil.
func (t *Turns) Reset(part []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.last, func(of turn, _ uint64) bool { return part == nil || of.isolated && of.part == string(part) })
}
