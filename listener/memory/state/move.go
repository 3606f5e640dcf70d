package state

import (
	"container/heap"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Mover writes a row that is due to move, together with its next move. The caller then commits; on
// a conflict, it calls the Mover again with the current row. The function returned by the Mover is
// called once the row is written. The transaction has already seen the row.
type Mover func(tx *Tx, part []byte, row Row) (done func())

// moves holds the pending moves of a set.
type moves struct {
	due   atomic.Int64 // time of the first move, or of the move being made; noMove if there is none
	made  atomic.Int64
	mover atomic.Pointer[Mover]

	making sync.Mutex // taken to make moves, before the locks of parts

	mu    sync.Mutex // guards the fields below
	queue moveQueue
}

// noMove is a time that never comes.
const noMove = math.MaxInt64

// moveEntry is a pending move. It is out of date once the row has another move or none.
type moveEntry struct {
	at   int64
	part *Part
	seq  uint64
	move *Move
}

// moveQueue is a heap; its methods are those of heap.Interface.
type moveQueue []moveEntry

func (q moveQueue) Len() int           { return len(q) }
func (q moveQueue) Less(i, j int) bool { return q[i].at < q[j].at }
func (q moveQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }

// Push appends an entry.
func (q *moveQueue) Push(x any) { *q = append(*q, x.(moveEntry)) }

// Pop removes the last entry.
func (q *moveQueue) Pop() any {
	last := (*q)[len(*q)-1]
	(*q)[len(*q)-1] = moveEntry{}
	*q = (*q)[:len(*q)-1]
	return last
}

// SetMover sets the function that makes moves; with nil, moves are dropped.
func (s *Set) SetMover(m Mover) {
	if m == nil {
		s.moves.mover.Store(nil)
		return
	}
	s.moves.mover.Store(&m)
}

// stop ends the moves of a set that is replaced or removed; after it has returned, no move is being
// made.
func (s *Set) stop() {
	s.moves.making.Lock()
	defer s.moves.making.Unlock()
	s.SetMover(nil)
}

// Moves returns how many moves were made.
func (s *Set) Moves() int64 { return s.moves.made.Load() }

// add records the move of a row, if the row has one.
func (m *moves) add(p *Part, r *record) {
	if r.move == nil || r.move.At == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.queue) > 2*int(p.set.rows.Load())+1024 {
		m.compact()
	}
	heap.Push(&m.queue, moveEntry{r.move.At, p, r.seq, r.move})
	if r.move.At < m.due.Load() {
		m.due.Store(r.move.At)
		p.set.store.wake()
	}
}

// compact drops entries that are out of date.
func (m *moves) compact() {
	kept := m.queue[:0]
	for _, e := range m.queue {
		if e.record() != nil {
			kept = append(kept, e)
		}
	}
	clear(m.queue[len(kept):])
	m.queue = kept
	heap.Init(&m.queue)
}

// record returns the row if the move is still pending, and otherwise nil.
func (e moveEntry) record() *record {
	if r := e.part.now.Load().rows.get(e.seq); r != nil && r.move == e.move {
		return r
	}
	return nil
}

// next removes the first move if its time has come. The move counts as due until end is called.
func (m *moves) next(now int64) (moveEntry, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.queue) == 0 || m.queue[0].at > now {
		return moveEntry{}, false
	}
	return heap.Pop(&m.queue).(moveEntry), true
}

// end records that the move returned by next was made, or that none had to be made.
func (m *moves) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	due := int64(noMove)
	if len(m.queue) > 0 {
		due = m.queue[0].at
	}
	m.due.Store(due)
}

// advance makes the moves whose time has come, so that no reader sees a row that should have moved.
func (s *Set) advance() {
	if due := s.moves.due.Load(); due == noMove || due > time.Now().UnixNano() {
		return
	}
	s.moves.making.Lock()
	defer s.moves.making.Unlock()
	now := time.Now().UnixNano() // after the wait for the lock, other moves may be due
	for {
		e, ok := s.moves.next(now)
		if !ok {
			s.moves.end()
			return
		}
		s.move(e)
	}
}

// move makes a move, unless it is out of date.
func (s *Set) move(e moveEntry) {
	mover := s.moves.mover.Load()
	tx := Tx{moving: true}
	for {
		r := e.record()
		if r == nil || mover == nil {
			return
		}
		var part []byte
		if e.part != s.common {
			part = []byte(e.part.name)
		}
		tx.Begin(s.store)
		row := tx.views[tx.view(s, part)].v.row(e.seq)
		if row.Move() != e.move {
			return
		}
		tx.Saw(s, part, row)
		done := (*mover)(&tx, part, row)
		if err := tx.Commit(); errors.Is(err, ErrConflict) {
			continue
		}
		s.moves.made.Add(1)
		if done != nil {
			done()
		}
		return
	}
}

// wake signals that a move comes before all other moves of its set.
func (s *Store) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// Woken returns a channel that receives a value when a newly decided move comes before all other
// moves of its set.
func (s *Store) Woken() <-chan struct{} { return s.woken }

// Advance makes the moves whose time has come. It returns the time of the next move, at which it
// must be called again; ok is false if no move is pending. Readers of a set make due moves as well.
func (s *Store) Advance() (next time.Time, ok bool) {
	first := int64(noMove)
	for _, set := range s.Sets() {
		set.advance()
		first = min(first, set.moves.due.Load())
	}
	return time.Unix(0, first), first != noMove
}

// later returns a version whose moves are delayed by a duration.
func (v *version) later(by time.Duration) *version {
	if by <= 0 {
		return v
	}
	w := v.edit(true)
	v.rows.each(func(r *record) bool {
		if r.move != nil && r.move.At != 0 {
			moved, m := *r, *r.move
			m.At += int64(by)
			moved.move = &m
			if w.free != nil && w.free.rows.get(r.seq) == r {
				w.free.rows.set(&moved, w.free.owner)
			}
			w.rows.set(&moved, w.owner)
		}
		return true
	})
	return w
}
