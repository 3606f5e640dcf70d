package state

import (
	"fmt"
	"runtime"
	"testing"
	"time"
	"weak"
)

// TestQueues_DoNotGrowWithBases: however often the base is replaced or a snapshot is restored, a
// queue has at most about twice as many entries as there are rows that wait for a move or may
// expire.
func TestQueues_DoNotGrowWithBases(t *testing.T) {
	const n = 1000
	empty := func() *Base { return new(Builder).Base(nil) }
	store := New(0)
	set := NewSet("s", Options{TTL: time.Hour}, empty())
	set.SetMover(func(*Tx, []byte, Row) func() { return nil })
	store.Attach(set)
	var tx Tx
	tx.Begin(store)
	for i := range n {
		key := fmt.Append(nil, i)
		tx.Put(set, nil, key, []byte(`{}`), &Move{At: noMove - 1, To: []byte(`"x"`)})
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	check := func(after string) {
		if moves, ages := len(set.moves.queue), len(set.ages.queue); moves > 2*n+1025 || ages > 2*n+1025 {
			t.Errorf("after %s: %d rows have %d queued moves and %d queued changes", after, n, moves, ages)
		}
	}
	for range 10 {
		set.Declare(Options{TTL: time.Hour}, empty(), true)
	}
	check("new bases")
	for taken, i := store.Snapshot(), 0; i < 10; i++ {
		store.Restore(taken)
	}
	check("restores")
	valid := 0
	for _, e := range set.moves.queue {
		if e.record() != nil {
			valid++
		}
	}
	if valid != n {
		t.Errorf("%d moves are pending, want %d", valid, n)
	}
}

// TestAges_OfRowsTaken: however many rows of isolated parts are taken, each part has one valid entry
// in the queue, and the queue is not searched for others again and again.
func TestAges_OfRowsTaken(t *testing.T) {
	const n = 3000
	var b Builder
	for i := range n {
		if err := b.Add(fmt.Append(nil, i), []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
	}
	store := New(0)
	set := NewSet("s", Options{TTL: time.Hour}, b.Base(nil))
	store.Attach(set)
	var tx Tx
	take := func(part []byte) {
		tx.Begin(store)
		row, _ := tx.Once(set, part, nil, nil)
		tx.Take(set, part, row)
		if err := tx.Commit(); err != nil || !row.Found() {
			t.Fatal(err, row)
		}
	}
	for range n {
		take([]byte("one"))
	}
	if ages := len(set.ages.queue); ages > 1100 {
		t.Errorf("the rows taken in one part have %d entries", ages)
	}
	for i := range n {
		take(fmt.Append(nil, i))
	}
	if of := testing.AllocsPerRun(10, func() {
		tx.Begin(store)
		tx.Put(set, nil, []byte("key"), []byte(`{}`), nil)
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}); of > 20 {
		t.Errorf("a change makes %v allocations while %d parts have rows taken, want no search", of, n)
	}
}

// TestTake_KeepsNoKeys: once a row was taken, the tables of keys that inserted rows had then are freed
// when others replace them.
func TestTake_KeepsNoKeys(t *testing.T) {
	store := New(0)
	set := NewSet("s", Options{}, new(Builder).Base(nil))
	store.Attach(set)
	var tx Tx
	insert := func(from, to int) {
		for i := from; i < to; i++ {
			tx.Begin(store)
			tx.Put(set, nil, fmt.Append(nil, i), []byte(`{}`), nil)
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
		}
	}
	insert(0, 100)
	tx.Begin(store)
	row, _ := tx.Once(set, nil, nil, nil)
	tx.Take(set, nil, row)
	if err := tx.Commit(); err != nil || !row.Found() {
		t.Fatal(err, row)
	}
	tables := weak.Make(set.common.now.Load().keys.tables)
	insert(100, 2*manyKeys) // a table for each beginning of a hash
	tx.End()
	if runtime.GC(); tables.Value() != nil {
		t.Error("the tables of the time when the row was taken are still in memory")
	}
	runtime.KeepAlive(store)
}
