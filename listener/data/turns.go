package data

import (
	"sync"

	"mockserver/listener/state"
)

// turns is whose turn it is, for rows that are picked one after the other: the number of the row that
// was picked last, for each part and value. The zero value is ready for use.
type turns struct {
	mu   sync.Mutex
	last map[string]uint64 // by part and value: the seq of the row and 1
	room []byte
}

// maxTurns is the maximum number of parts and values that are remembered. Beyond it some are
// forgotten, and begin again.
const maxTurns = 100_000

// next returns the row after the one that was picked last. After the last row it is the first, if
// around is set, and no row otherwise.
func (t *turns) next(list state.Rows, value, part []byte, around bool) state.Row {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.room = append(append(append(t.room[:0], value...), 0), part...)
	if part == nil {
		t.room = append(t.room, 0, 0) // unlike the part with an empty name
	}
	k := 0
	if after, ok := t.last[string(t.room)]; ok {
		k = list.Rank(value, after)
	}
	if k >= list.Len() {
		if !around {
			return state.Row{}
		}
		k = 0
	}
	row := list.At(k)
	t.note(row.Seq + 1)
	return row
}

// note remembers a number for what is in room.
func (t *turns) note(seq uint64) {
	if t.last == nil {
		t.last = map[string]uint64{}
	}
	if len(t.last) >= maxTurns {
		if _, known := t.last[string(t.room)]; !known {
			for some := range t.last {
				delete(t.last, some)
				break
			}
		}
	}
	t.last[string(t.room)] = seq
}

// reset forgets all.
func (t *turns) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = nil
}

// turnsOf returns the turns of a pick, which outlive a reload.
func (s *Sets) turnsOf(endpoint, name string) *turns {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := endpoint + " " + name
	if s.turns[key] == nil {
		s.turns[key] = &turns{}
	}
	return s.turns[key]
}
