package state_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mockserver/internal/harness/volume"
	"mockserver/listener/memory/state"
)

// item is a row that the tests use: {"id":"k1","group":"aaaaaaaaaa3","n":17}.
type item struct {
	ID    string `json:"id"`
	Group string `json:"group"`
	N     int    `json:"n"`
}

func (i item) text() []byte {
	b, _ := json.Marshal(i)
	return b
}

func parse(t testing.TB, b []byte) item {
	var i item
	if err := json.Unmarshal(b, &i); err != nil {
		t.Errorf("torn row %q: %v", b, err)
	}
	return i
}

// members declares the indexes of the sets in these tests, by group and by n. All values of group
// share a prefix of more than eight bytes, because an index stores only the eight bytes of each
// value that follow the common prefix.
var members = []*state.Member{
	{Name: "group", Root: "group", Value: func(row, to []byte) []byte {
		var i item
		_ = json.Unmarshal(row, &i)
		return append(append(to, "common, and longer than eight "...), i.Group...)
	}},
	{Name: "n", Root: "n", Value: func(row, to []byte) []byte {
		var i item
		_ = json.Unmarshal(row, &i)
		return number(to, i.N)
	}},
}

func number(to []byte, n int) []byte { return fmt.Appendf(to, "%08d", n) }

func group(name string) []byte { return []byte("common, and longer than eight " + name) }

func baseOf(t testing.TB, items ...item) *state.Base {
	var b state.Builder
	for _, i := range items {
		if err := b.Add([]byte(i.ID), i.text()); err != nil {
			t.Fatal(err)
		}
	}
	return b.Base(members)
}

func add(store *state.Store, name string, o state.Options, b *state.Base) *state.Set {
	set := state.NewSet(name, o, b)
	store.Attach(set)
	return set
}

func someItems(random *rand.Rand, n int) []item {
	items := make([]item, n)
	for i := range items {
		items[i] = someItem(random, fmt.Sprintf("k%d", i))
	}
	return items
}

func someItem(random *rand.Rand, id string) item {
	return item{id, fmt.Sprintf("aaaaaaaaaa%d", random.IntN(4)), random.IntN(30)}
}

func TestBuilder_SaysWhichRowHasTheKey(t *testing.T) {
	var b state.Builder
	for i := range 100 {
		if err := b.Add(fmt.Appendf(nil, "k%d", i), []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
	}
	var twice *state.DuplicateKeyError
	if err := b.Add([]byte("k42"), []byte(`{}`)); !errors.As(err, &twice) || twice.Row != 42 {
		t.Errorf("a second k42: %v, want row 42", err)
	}
}

func TestBase_FindsEachRow(t *testing.T) {
	var b state.Builder
	for i := range 4000 {
		text := fmt.Appendf(nil, `{"n":"a\u0041","id":"k%d"}`, i)
		key := fmt.Appendf(nil, "k%d", i)
		if i%3 == 0 {
			key = fmt.Appendf(nil, "kA%d", i) // the key is not in the text
		}
		if i%1000 == 0 {
			text = append(text[:len(text)-1], `,"long":"`+strings.Repeat("x", 1<<20)+`"}`...)
		}
		if err := b.Add(key, text); err != nil {
			t.Fatal(err)
		}
	}
	store := state.New(0)
	set := add(store, "s", state.Options{}, b.Base(nil))
	var tx state.Tx
	tx.Begin(store)
	for i := range 4000 {
		key := fmt.Sprintf("k%d", i)
		if i%3 == 0 {
			key = fmt.Sprintf("kA%d", i)
		}
		r := tx.Get(set, nil, []byte(key))
		if !r.Found() || string(r.Key) != key || r.Seq != uint64(i) || !bytes.Contains(r.JSON, fmt.Appendf(nil, `"k%d"`, i)) {
			t.Fatalf("%s: %+v", key, r)
		}
		if i%1000 == 0 && len(r.JSON) < 1<<20 {
			t.Fatalf("%s is %d bytes long", key, len(r.JSON))
		}
	}
	for _, key := range []string{"", "k", "k20000", "kA1"} {
		if r := tx.Get(set, nil, []byte(key)); r.Found() {
			t.Errorf("there is a row %q: %s", key, r.JSON)
		}
	}
}

// model holds the expected rows of a part as a list, and which of them were taken.
type model struct {
	rows  []item
	taken map[string]bool
}

func newModel(rows []item) *model { return &model{slices.Clone(rows), map[string]bool{}} }

func (m *model) clone() *model { return &model{slices.Clone(m.rows), maps.Clone(m.taken)} }

// take takes the first free rows that have all values, if there are any.
func (m *model) take(t *testing.T, tx *state.Tx, set *state.Set, part []byte, all []state.Condition, n int) {
	t.Helper()
	var others []uint64
	var want []string
	for _, i := range m.rows {
		if len(want) < n && !m.taken[i.ID] && has(i, all) {
			want = append(want, i.ID)
		}
	}
	for k := range n {
		r, ok := tx.Once(set, part, all, others)
		if !ok || r.Found() != (k < len(want)) || r.Found() && string(r.Key) != want[k] {
			t.Fatalf("the %d. free row is %q, want one of %v", k+1, r.Key, want)
		}
		if r.Found() {
			others = append(others, r.Seq)
			tx.Take(set, part, r)
		}
	}
	for _, id := range want {
		m.taken[id] = true
	}
}

func has(i item, all []state.Condition) bool {
	for _, e := range all {
		if !e.Meets(i.text()) {
			return false
		}
	}
	return true
}

func (m *model) at(id string) int {
	return slices.IndexFunc(m.rows, func(i item) bool { return i.ID == id })
}

func (m *model) put(i item) {
	if at := m.at(i.ID); at >= 0 {
		m.rows[at] = i
	} else {
		m.rows = append(m.rows, i)
	}
}

func (m *model) delete(id string) {
	if at := m.at(id); at >= 0 {
		m.rows = slices.Delete(m.rows, at, at+1)
		delete(m.taken, id)
	}
}

// compare compares all lists of a part with the model.
func (m *model) compare(t *testing.T, store *state.Store, set *state.Set, part []byte) {
	t.Helper()
	var tx state.Tx
	tx.Begin(store)
	compareRows(t, "in the order of insertion", set.All(part), m.rows)
	for order, value := range []func(item) string{
		func(i item) string { return string(group(i.Group)) },
		func(i item) string { return string(number(nil, i.N)) },
	} {
		sorted := slices.Clone(m.rows)
		slices.SortStableFunc(sorted, func(a, b item) int { return cmp.Compare(value(a), value(b)) })
		compareRows(t, fmt.Sprint("order ", order), tx.Within(set, part, members[order], state.Bound{}, state.Bound{}), sorted)
		for _, from := range []string{"aaaaaaaaaa0", "aaaaaaaaaa2", "zzz"} {
			low := group(from)
			if order == 1 {
				low = number(nil, len(m.rows)%30)
			}
			in := func(keep func(c int) bool) (kept []item) {
				for _, i := range sorted {
					if keep(cmp.Compare(value(i), string(low))) {
						kept = append(kept, i)
					}
				}
				return kept
			}
			at := state.Bound{Value: low}
			beyond := state.Bound{Value: low, Not: true}
			compareRows(t, "equal", tx.Within(set, part, members[order], at, at), in(func(c int) bool { return c == 0 }))
			compareRows(t, "at least", tx.Within(set, part, members[order], at, state.Bound{}), in(func(c int) bool { return c >= 0 }))
			compareRows(t, "above", tx.Within(set, part, members[order], beyond, state.Bound{}), in(func(c int) bool { return c > 0 }))
			compareRows(t, "at most", tx.Within(set, part, members[order], state.Bound{}, at), in(func(c int) bool { return c <= 0 }))
			compareRows(t, "below", tx.Within(set, part, members[order], state.Bound{}, beyond), in(func(c int) bool { return c < 0 }))
		}
	}
	some := state.Equals(members[0], group("aaaaaaaaaa1"))
	for _, all := range [][]state.Condition{nil, {some}, {some, state.Equals(members[1], number(nil, 3))}} {
		m.clone().take(t, &tx, set, part, all, 5) // nothing is committed
	}
	for _, i := range m.rows {
		if r := tx.Get(set, part, []byte(i.ID)); parse(t, r.JSON) != i || string(r.Key) != i.ID {
			t.Fatalf("%s is %s, want %v", i.ID, r.JSON, i)
		}
	}
}

func compareRows(t *testing.T, what string, l state.Rows, want []item) {
	t.Helper()
	var got, back []item
	l.Each(0, 1, func(r state.Row) bool { got = append(got, parse(t, r.JSON)); return true })
	l.Each(l.Len()-1, -1, func(r state.Row) bool { back = append(back, parse(t, r.JSON)); return true })
	slices.Reverse(back)
	if l.Len() != len(want) || !slices.Equal(got, want) || !slices.Equal(back, want) {
		t.Fatalf("%s: %d rows\n%v\nbackwards\n%v\nwant\n%v", what, l.Len(), got, back, want)
	}
	for k := 0; k < len(want); k += 1 + len(want)/7 {
		r := l.At(k)
		if parse(t, r.JSON) != want[k] {
			t.Fatalf("%s: At(%d) = %s, want %v", what, k, r.JSON, want[k])
		}
		if rank := l.Rank(l.Value(r, nil), r.Seq); rank != k {
			t.Fatalf("%s: Rank of row %d is %d", what, k, rank)
		}
	}
	if l.At(-1).Found() || l.At(len(want)).Found() {
		t.Fatalf("%s: rows beyond the ends", what)
	}
}

// TestSet_IsWhatAListWouldBe makes random changes to two parts, including resets, snapshots and new
// bases, and compares all lists with a plain model.
func TestSet_IsWhatAListWouldBe(t *testing.T) {
	for _, size := range []struct{ rows, keys, steps int }{{0, 40, 1500}, {3, 43, 1500}, {60, 100, 1500}, {100, 1000, 120}} {
		n := size.rows
		every := size.steps / 60
		if !volume.Full() {
			every *= 4
		}
		random := rand.New(rand.NewPCG(7, uint64(n)))
		base := someItems(random, n)
		store := state.New(0)
		set := add(store, "s", state.Options{}, baseOf(t, base...))
		names := [][]byte{nil, []byte("vu1")}
		models := []*model{newModel(base), newModel(base)}
		snapshot, was := store.Snapshot(), []*model{newModel(base), newModel(base)}
		var tx state.Tx
		for step := range size.steps {
			p := random.IntN(2)
			part, m := names[p], models[p]
			tx.Begin(store)
			switch random.IntN(size.keys) {
			case 0:
				set.Reset(part)
				if models[p] = newModel(base); p == 0 { // nil means all parts
					models[1] = newModel(base)
				}
			case 1:
				snapshot, was = store.Snapshot(), []*model{models[0].clone(), models[1].clone()}
			case 2:
				store.Restore(snapshot)
				models[0], models[1] = was[0].clone(), was[1].clone()
			default:
				if all := []state.Condition{state.Equals(members[0], group(someItem(random, "").Group))}; step%3 == 0 {
					m.take(t, &tx, set, part, all[:random.IntN(2)], random.IntN(3))
				}
				for range 1 + random.IntN(3)*random.IntN(20) {
					id := fmt.Sprintf("k%d", random.IntN(size.keys))
					i := someItem(random, id)
					r := tx.Get(set, part, []byte(id))
					if r.Found() != (m.at(id) >= 0) {
						t.Fatalf("step %d: %s exists: %t", step, id, r.Found())
					}
					if random.IntN(3) == 0 {
						tx.Delete(set, part, []byte(id))
						m.delete(id)
					} else {
						if kept := uint32(random.IntN(4)); r.Found() { // the orders whose values stay
							if was := parse(t, r.JSON); kept&1 != 0 {
								i.Group = was.Group
							}
							if was := parse(t, r.JSON); kept&2 != 0 {
								i.N = was.N
							}
							tx.Put(set, part, []byte(id), i.text(), nil)
							tx.Keep(func(root string) bool { return kept&1 == 0 && root == "group" || kept&2 == 0 && root == "n" })
						} else {
							tx.Put(set, part, []byte(id), i.text(), nil)
						}
						m.put(i)
					}
				}
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
			}
			if step%every == 0 {
				models[0].compare(t, store, set, nil)
				models[1].compare(t, store, set, names[1])
			}
		}
		set.Reset(nil)
		if f := set.Figures(); f.Changes != 0 || f.Bytes != 0 || f.Parts != 0 || f.Rows != int64(n) {
			t.Errorf("after a reset: %+v", f)
		}
	}
}

// TestSet_KeepsManyInsertedRowsInOrder inserts, changes and deletes many rows on top of a large
// base, and takes and restores snapshots in between: all rows are in order, and are found by their
// keys.
func TestSet_KeepsManyInsertedRowsInOrder(t *testing.T) {
	const n = 5000
	base := make([]item, n)
	for i := range base {
		base[i] = item{fmt.Sprint("b", i), "g", i}
	}
	random := rand.New(rand.NewPCG(5, 5))
	store := state.New(0)
	set := add(store, "s", state.Options{}, baseOf(t, base...))
	order := make([]string, n)
	for i := range order {
		order[i] = base[i].ID
	}
	snapshot, was, next := store.Snapshot(), slices.Clone(order), 0
	var tx state.Tx
	for round := range 40 {
		for range 200 {
			tx.Begin(store)
			k := random.IntN(len(order))
			switch random.IntN(8) {
			case 0:
				tx.Delete(set, nil, []byte(order[k]))
				order = slices.Delete(order, k, k+1)
			case 1:
				tx.Put(set, nil, []byte(order[k]), item{order[k], "h", k}.text(), nil)
			default:
				id := fmt.Sprint("new", next)
				next++
				tx.Put(set, nil, []byte(id), item{id, "h", next}.text(), nil)
				order = append(order, id)
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		switch round % 5 {
		case 1:
			snapshot, was = store.Snapshot(), slices.Clone(order)
		case 3:
			store.Restore(snapshot)
			order = slices.Clone(was)
		}
		rows, k := set.All(nil), 0
		rows.Each(0, 1, func(r state.Row) bool {
			if k >= len(order) || string(r.Key) != order[k] || rows.Rank(nil, r.Seq) != k || !set.Get(nil, r.Key).Found() {
				t.Fatalf("round %d: row %d of %d is %s, in place %d", round, k, len(order), r.Key, rows.Rank(nil, r.Seq))
			}
			k++
			return true
		})
		if k != len(order) || rows.Len() != k {
			t.Fatalf("round %d: %d rows, length %d; want %d", round, k, rows.Len(), len(order))
		}
	}
}

// TestSet_ChangesStayOnANewBase: rows of the old base that were changed or deleted are changed or
// deleted in the new base, and inserted rows follow.
func TestSet_ChangesStayOnANewBase(t *testing.T) {
	store := state.New(0)
	set := add(store, "s", state.Options{}, baseOf(t, item{"a", "g", 1}, item{"b", "g", 2}, item{"c", "g", 3}))
	var tx state.Tx
	tx.Begin(store)
	tx.Put(set, nil, []byte("a"), item{"a", "changed", 1}.text(), nil)
	tx.Delete(set, nil, []byte("b"))
	tx.Put(set, nil, []byte("new"), item{"new", "g", 4}.text(), nil)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	tx.Begin(store)
	old := tx.Get(set, nil, []byte("c"))
	tx.Put(set, nil, []byte("c"), old.JSON, nil)
	set.Declare(state.Options{}, baseOf(t, item{"d", "g", 5}, item{"b", "g", 6}, item{"a", "g", 7}, item{"new", "h", 8}), true)
	if err := tx.Commit(); !errors.Is(err, state.ErrConflict) {
		t.Errorf("a transaction over a new base: %v, want a conflict", err)
	}
	m := newModel([]item{{"d", "g", 5}, {"a", "changed", 1}, {"new", "g", 4}})
	m.compare(t, store, set, nil)
	tx.Begin(store)
	m.take(t, &tx, set, nil, nil, 2)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	set.Declare(state.Options{}, baseOf(t, item{"new", "h", 8}, item{"d", "g", 5}, item{"e", "g", 5}), true)
	m.rows = []item{{"new", "g", 4}, {"d", "g", 5}, {"e", "g", 5}, {"a", "changed", 1}}
	m.compare(t, store, set, nil)
	set.Reset(nil)
	m = newModel([]item{{"new", "h", 8}, {"d", "g", 5}, {"e", "g", 5}})
	m.compare(t, store, set, nil)
}

// TestTx_NothingIsLostOrTorn moves amounts between two sets while other transactions add up all
// amounts.
func TestTx_NothingIsLostOrTorn(t *testing.T) {
	const accounts, clients, moves = 8, 8, 400
	store := state.New(0)
	var sets [2]*state.Set
	for i := range sets {
		var items []item
		for a := range accounts {
			items = append(items, item{fmt.Sprintf("k%d", a), "g", 1000})
		}
		sets[i] = add(store, fmt.Sprint("s", i), state.Options{}, baseOf(t, items...))
	}
	var done atomic.Bool
	var readers, writers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			var tx state.Tx
			for !done.Load() {
				tx.Begin(store)
				sum := 0
				for _, set := range sets {
					for a := range accounts {
						sum += parse(t, tx.Get(set, nil, fmt.Appendf(nil, "k%d", a)).JSON).N
					}
				}
				if tx.Commit() == nil && sum != 2*accounts*1000 {
					t.Errorf("the accounts have %d", sum)
					return
				}
			}
		})
	}
	for c := range clients {
		writers.Go(func() {
			random := rand.New(rand.NewPCG(3, uint64(c)))
			var tx state.Tx
			for range moves {
				from, to := fmt.Appendf(nil, "k%d", random.IntN(accounts)), fmt.Appendf(nil, "k%d", random.IntN(accounts))
				for err := state.ErrConflict; errors.Is(err, state.ErrConflict); err = tx.Commit() {
					tx.Begin(store)
					a, b := parse(t, tx.Get(sets[0], nil, from).JSON), parse(t, tx.Get(sets[1], nil, to).JSON)
					a.N--
					b.N++
					tx.Put(sets[0], nil, from, a.text(), nil)
					tx.Put(sets[1], nil, to, b.text(), nil)
				}
			}
		})
	}
	writers.Wait()
	done.Store(true)
	readers.Wait()
	var tx state.Tx
	tx.Begin(store)
	var sums [2]int
	for i, set := range sets {
		set.All(nil).Each(0, 1, func(r state.Row) bool { sums[i] += parse(t, r.JSON).N; return true })
	}
	if want := [2]int{accounts*1000 - clients*moves, accounts*1000 + clients*moves}; sums != want {
		t.Errorf("sums %v, want %v", sums, want)
	}
}

// TestTx_OneOfAThousandWins: of a thousand transactions that saw an order as new, exactly one may
// mark it as paid.
func TestTx_OneOfAThousandWins(t *testing.T) {
	store := state.New(0)
	set := add(store, "orders", state.Options{}, baseOf(t, item{"o", "new", 0}))
	var won, lost atomic.Int32
	var all sync.WaitGroup
	for client := range 1000 {
		all.Go(func() {
			var tx state.Tx
			for {
				tx.Begin(store)
				if parse(t, tx.Get(set, nil, []byte("o")).JSON).Group != "new" {
					lost.Add(1)
					return
				}
				tx.Put(set, nil, []byte("o"), item{"o", "paid", client}.text(), nil)
				if tx.Commit() == nil {
					won.Add(1)
					return
				}
			}
		})
	}
	all.Wait()
	if won.Load() != 1 || lost.Load() != 999 {
		t.Errorf("%d won, %d lost", won.Load(), lost.Load())
	}
}

// TestTx_WhatWasNotThere: a transaction that depends on the absence of a row, or of a value,
// conflicts with a transaction that adds it.
func TestTx_WhatWasNotThere(t *testing.T) {
	store := state.New(0)
	set := add(store, "s", state.Options{}, baseOf(t))
	for name, saw := range map[string]func(*state.Tx){
		"a key":   func(tx *state.Tx) { tx.Get(set, nil, []byte("k")) },
		"a value": func(tx *state.Tx) { tx.First(set, nil, []state.Condition{state.Equals(members[0], group("g"))}, false) },
		"two values": func(tx *state.Tx) {
			tx.First(set, nil, []state.Condition{state.Equals(members[0], group("g")), state.Equals(members[1], number(nil, 1))}, false)
		},
		"any row":     func(tx *state.Tx) { tx.First(set, nil, nil, false) },
		"another key": func(tx *state.Tx) { tx.Get(set, nil, []byte("x")) },
	} {
		var tx, other state.Tx
		tx.Begin(store)
		saw(&tx)
		tx.Put(set, nil, []byte("mine"), item{"mine", "other", 1}.text(), nil)
		other.Begin(store)
		other.Put(set, nil, []byte("k"), item{"k", "g", 1}.text(), nil)
		if err := other.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); errors.Is(err, state.ErrConflict) != (name != "another key") {
			t.Errorf("%s: %v", name, err)
		}
		set.Reset(nil)
	}
}

// TestTx_WhatWasFirst: a transaction that depends on the first or the last row conflicts only with
// a transaction that puts another row in that place.
func TestTx_WhatWasFirst(t *testing.T) {
	store := state.New(0)
	set := add(store, "s", state.Options{}, baseOf(t, item{"a", "h", 1}, item{"b", "g", 1}, item{"c", "g", 1}))
	of := []state.Condition{state.Equals(members[0], group("g"))}
	both := append(of, state.Equals(members[1], number(nil, 1)))
	for _, c := range []struct {
		all      []state.Condition
		last     bool
		other    item
		conflict bool
	}{
		{of, false, item{"a", "g", 2}, true}, {both, false, item{"a", "g", 1}, true}, {both, false, item{"a", "g", 2}, false},
		{of, true, item{"a", "g", 1}, false}, {of, true, item{"new", "g", 2}, true}, {both, true, item{"new", "g", 1}, true},
		{both, true, item{"new", "g", 2}, false}, {nil, true, item{"new", "h", 2}, true}, {nil, false, item{"new", "g", 1}, false},
	} {
		var tx, other state.Tx
		tx.Begin(store)
		if r, ok := tx.First(set, nil, c.all, c.last); !ok || !r.Found() {
			t.Fatalf("%+v: %v, %t", c, r, ok)
		}
		tx.Put(set, nil, []byte("mine"), item{"mine", "other", 1}.text(), nil)
		other.Begin(store)
		other.Put(set, nil, []byte(c.other.ID), c.other.text(), nil)
		if err := other.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); errors.Is(err, state.ErrConflict) != c.conflict {
			t.Errorf("%+v: %v", c, err)
		}
		set.Reset(nil)
	}
}

// TestTx_RowsOfSeveralValues: Find and First find the rows that a search of a list would find.
func TestTx_RowsOfSeveralValues(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	items := someItems(random, 300)
	store := state.New(0)
	set := add(store, "s", state.Options{}, baseOf(t, items[:200]...))
	var tx state.Tx
	tx.Begin(store)
	for _, i := range items[200:] {
		tx.Put(set, nil, []byte(i.ID), i.text(), nil)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	some := 0
	for n := range 30 {
		var want []string
		for _, i := range items {
			if i.N == n && i.Group == "aaaaaaaaaa1" {
				want = append(want, i.ID)
			}
		}
		some += len(want)
		all := []state.Condition{state.Equals(members[0], group("aaaaaaaaaa1")), state.Equals(members[1], number(nil, n))}
		tx.Begin(store)
		rows, _, ok := tx.Find(set, nil, all, nil)
		var got []string
		for k := range rows.Len() {
			got = append(got, string(rows.At(k).Key))
			if r := rows.At(k); rows.Rank(r, false) != k || rows.Rank(r, true) != k+1 {
				t.Errorf("n %d: the rank of row %d is %d, after it %d", n, k, rows.Rank(r, false), rows.Rank(r, true))
			}
		}
		if !ok || !slices.Equal(got, want) {
			t.Errorf("n %d: %v, want %v", n, got, want)
		}
		first, _ := tx.First(set, nil, all, false)
		last, _ := tx.First(set, nil, all, true)
		if len(want) == 0 && (first.Found() || last.Found()) || len(want) > 0 && (string(first.Key) != want[0] || string(last.Key) != want[len(want)-1]) {
			t.Errorf("n %d: from %s to %s, want %v", n, first.Key, last.Key, want)
		}
	}
	if some < 30 {
		t.Errorf("only %d rows could be found", some)
	}
}

func TestTx_SeesWhatItWrote(t *testing.T) {
	store := state.New(0)
	set := add(store, "s", state.Options{}, baseOf(t, item{"a", "g", 1}))
	var tx state.Tx
	tx.Begin(store)
	tx.Put(set, nil, []byte("a"), item{"a", "g", 2}.text(), nil)
	if r := tx.Get(set, nil, []byte("a")); parse(t, r.JSON).N != 2 {
		t.Errorf("a is %s", r.JSON)
	}
	tx.Delete(set, nil, []byte("a"))
	if r := tx.Get(set, nil, []byte("a")); r.Found() {
		t.Errorf("a is %s after it was deleted", r.JSON)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if n := set.Figures().Rows; n != 0 {
		t.Errorf("%d rows", n)
	}
}

// TestTx_SeesManyWrites: after many writes, each key has the value that was written last.
func TestTx_SeesManyWrites(t *testing.T) {
	store := state.New(0)
	var sets [2]*state.Set
	for i := range sets {
		sets[i] = add(store, fmt.Sprint("s", i), state.Options{}, baseOf(t))
	}
	random := rand.New(rand.NewPCG(1, 2))
	var tx state.Tx
	for range 3 {
		tx.Begin(store)
		want := [2]map[string]int{{}, {}}
		for n := range 1000 {
			i, id := random.IntN(2), fmt.Sprint("k", random.IntN(200))
			if random.IntN(4) == 0 {
				tx.Delete(sets[i], nil, []byte(id))
				delete(want[i], id)
			} else {
				tx.Put(sets[i], nil, []byte(id), item{id, "g", n}.text(), nil)
				want[i][id] = n
			}
			other, id := random.IntN(2), fmt.Sprint("k", random.IntN(200))
			r := tx.Get(sets[other], nil, []byte(id))
			if n, ok := want[other][id]; r.Found() != ok || ok && parse(t, r.JSON).N != n {
				t.Fatalf("%s is %s, want %d, %t", id, r.JSON, n, ok)
			}
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		for i, set := range sets {
			if got := int(set.Figures().Rows); got != len(want[i]) {
				t.Errorf("%d rows, want %d", got, len(want[i]))
			}
			set.Reset(nil)
		}
	}
}

// TestTx_KeepsNothing: after End, the rows that a transaction saw can be freed.
func TestTx_KeepsNothing(t *testing.T) {
	store := state.New(0)
	set := add(store, "s", state.Options{}, baseOf(t))
	var tx state.Tx
	tx.Begin(store)
	tx.Put(set, nil, []byte("k"), bytes.Repeat([]byte(" "), 1<<20), nil)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	var freed atomic.Bool
	tx.Begin(store)
	row := tx.Get(set, nil, []byte("k"))
	runtime.AddCleanup(&row.JSON[0], func(freed *atomic.Bool) { freed.Store(true) }, &freed)
	set.Reset(nil)
	row = state.Row{}
	tx.End()
	for until := time.Now().Add(time.Minute); !freed.Load(); {
		runtime.GC()
		if time.Now().After(until) {
			t.Fatal("the row is still in memory")
		}
	}
	runtime.KeepAlive(&tx)
}

// TestTx_AllOrNothing: if one of several sets has no room, no set is changed.
func TestTx_AllOrNothing(t *testing.T) {
	store := state.New(0)
	full := add(store, "full", state.Options{Limit: state.Limit{Rows: 1}}, baseOf(t))
	free := add(store, "free", state.Options{}, baseOf(t))
	var tx state.Tx
	for i, want := range []string{"", `the set "full" is full`} {
		tx.Begin(store)
		key := fmt.Appendf(nil, "k%d", i)
		tx.Put(free, nil, key, []byte(`{}`), nil)
		tx.Put(full, nil, key, []byte(`{}`), nil)
		err := tx.Commit()
		if got := fmt.Sprint(err); got != want && (err != nil || want != "") {
			t.Errorf("%d: %v, want %s", i, err, want)
		}
	}
	if a, b := free.Figures().Rows, full.Figures().Rows; a != 1 || b != 1 {
		t.Errorf("%d and %d rows, want one each", a, b)
	}
	tx.Begin(store) // changes that need no additional room still succeed
	tx.Delete(full, nil, []byte("k0"))
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
}

// TestSet_GivesUpTheOldest: the rows that were changed last stay, across all parts.
func TestSet_GivesUpTheOldest(t *testing.T) {
	store := state.New(0)
	set := add(store, "s", state.Options{Oldest: true, Limit: state.Limit{Rows: 100}}, baseOf(t, item{"base", "g", 1}))
	var tx state.Tx
	put := func(part, key string) {
		tx.Begin(store)
		tx.Put(set, []byte(part), []byte(key), item{key, "g", 2}.text(), nil)
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1000 {
		put(fmt.Sprint("vu", i%7), fmt.Sprint("k", i/7))
		put("always", "base") // changed again and again, so it stays
	}
	if f := set.Figures(); f.Changes != 100 || f.GivenUp != 1001-100 {
		t.Errorf("%+v; want 100 changes, 901 given up", f)
	}
	there := map[string]bool{}
	tx.Begin(store)
	for i := range 1000 {
		if tx.Get(set, fmt.Append(nil, "vu", i%7), fmt.Append(nil, "k", i/7)).Found() {
			there[fmt.Sprint(i)] = true
		}
	}
	for i := 1000 - 99; i < 1000; i++ {
		if !there[fmt.Sprint(i)] {
			t.Errorf("row %d is gone", i)
		}
	}
	if len(there) != 99 || parse(t, tx.Get(set, []byte("always"), []byte("base")).JSON).N != 2 {
		t.Errorf("%d rows stay: %v", len(there), slices.Sorted(maps.Keys(there)))
	}
}

func TestSet_ChangesExpire(t *testing.T) {
	store := state.New(0)
	set := add(store, "s", state.Options{TTL: time.Hour}, baseOf(t, item{"a", "g", 1}))
	var tx state.Tx
	tx.Begin(store)
	tx.Put(set, []byte("vu"), []byte("a"), item{"a", "g", 2}.text(), nil)
	tx.Delete(set, nil, []byte("a"))
	tx.Put(set, nil, []byte("b"), item{"b", "g", 2}.text(), nil)
	newModel([]item{{"a", "g", 1}}).take(t, &tx, set, []byte("took"), nil, 2)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	store.Expire(time.Now().Add(time.Hour - time.Minute))
	if f := set.Figures(); f.Changes != 3 || f.Parts != 2 {
		t.Errorf("before an hour: %+v", f)
	}
	store.Expire(time.Now().Add(time.Hour + 2*time.Second))
	if f := set.Figures(); f.Changes != 0 || f.Parts != 0 || f.Rows != 1 || f.GivenUp != 0 {
		t.Errorf("after an hour: %+v", f)
	}
	tx.Begin(store)
	compareRows(t, "rows", set.All(nil), []item{{"a", "g", 1}})
}

// TestSet_NoChangeExpiresEarly: a change lasts for its whole TTL, no matter when other changes are
// made.
func TestSet_NoChangeExpiresEarly(t *testing.T) {
	store := state.New(0)
	set := add(store, "s", state.Options{TTL: time.Second}, baseOf(t))
	var tx state.Tx
	put := func(key string) {
		tx.Begin(store)
		tx.Put(set, nil, []byte(key), item{key, "g", 1}.text(), nil)
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	put("first")
	made := time.Now()
	for !time.Now().After(made) { // until the clock has moved on
	}
	made = time.Now()
	put("second")
	store.Expire(made.Add(time.Second))
	if !set.Get(nil, []byte("second")).Found() {
		t.Error("a change expired too early")
	}
	store.Expire(time.Now().Add(time.Second + time.Second/5))
	if f := set.Figures(); f.Changes != 0 {
		t.Errorf("long after: %+v", f)
	}
}

// TestSet_ADeletedRowAndItsSuccessorExpire: a row of the base that was deleted does not return
// while an inserted row has its key, even if the deletion is too old. It returns when the inserted
// row expires.
func TestSet_ADeletedRowAndItsSuccessorExpire(t *testing.T) {
	const ttl = time.Second
	for _, together := range []bool{false, true} {
		store := state.New(0)
		set := add(store, "s", state.Options{TTL: ttl}, baseOf(t, item{"a", "old", 1}))
		rows := func() string {
			var tx state.Tx
			tx.Begin(store)
			text := ""
			set.All(nil).Each(0, 1, func(r state.Row) bool {
				text += parse(t, r.JSON).Group + " "
				return true
			})
			if r := set.Get(nil, []byte("a")); r.Found() {
				text += "a is " + parse(t, r.JSON).Group
			}
			return text
		}
		var tx state.Tx
		tx.Begin(store)
		tx.Delete(set, nil, []byte("a"))
		if !together {
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			tx.Begin(store)
		}
		deleted := time.Now()
		for time.Since(deleted) < 300*time.Millisecond { // until the insertion is some ticks younger
		}
		tx.Put(set, nil, []byte("a"), item{"a", "new", 1}.text(), nil)
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		inserted := time.Now()
		store.Expire(deleted.Add(ttl + 200*time.Millisecond)) // only the deletion is too old
		if got := rows(); got != "new a is new" {
			t.Errorf("together %v: before the end of the new row: %s", together, got)
		}
		store.Expire(inserted.Add(ttl + 200*time.Millisecond))
		if got := rows(); got != "old a is old" || set.Figures().Changes != 0 {
			t.Errorf("together %v: at last: %s, %+v", together, got, set.Figures())
		}
		// If the inserted row is deleted too, the row of the base returns a TTL later.
		for range 2 {
			tx.Begin(store)
			tx.Delete(set, nil, []byte("a"))
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			tx.Begin(store)
			tx.Put(set, nil, []byte("a"), item{"a", "new", 1}.text(), nil)
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		tx.Begin(store)
		tx.Delete(set, nil, []byte("a"))
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if got := rows(); got != "" {
			t.Errorf("together %v: after the deletion: %s", together, got)
		}
		store.Expire(time.Now().Add(ttl + 200*time.Millisecond))
		if got := rows(); got != "old a is old" || set.Figures().Changes != 0 {
			t.Errorf("together %v: a TTL after the deletion: %s, %+v", together, got, set.Figures())
		}
	}
}

// TestSet_RestoresPartsThatComeAndGo restores a part while requests that change nothing create and
// remove it: its previous content is never lost.
func TestSet_RestoresPartsThatComeAndGo(t *testing.T) {
	store := state.New(0)
	set := add(store, "s", state.Options{}, baseOf(t))
	part := []byte("vu")
	var tx state.Tx
	tx.Begin(store)
	tx.Put(set, part, []byte("a"), item{"a", "g", 1}.text(), nil)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	taken := store.Snapshot()
	var done atomic.Bool
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for tx := (&state.Tx{}); !done.Load(); {
				tx.Begin(store)
				tx.Delete(set, part, []byte("nothing"))
				if err := tx.Commit(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 4000 {
		set.Reset(part)
		store.Restore(taken)
		if !set.Get(part, []byte("a")).Found() {
			t.Errorf("restored %d times, the row is gone", i+1)
			break
		}
	}
	done.Store(true)
	all.Wait()
}

// TestSet_ANewDeclarationMovesOnce: a pending move is made once, by the new steps.
func TestSet_ANewDeclarationMovesOnce(t *testing.T) {
	store := state.New(0)
	var moved []string
	mover := func(name string) state.Mover {
		return func(tx *state.Tx, part []byte, row state.Row) func() {
			moved = append(moved, name)
			tx.Put(store.Set("s"), part, row.Key, row.JSON, &state.Move{Entry: 2})
			return nil
		}
	}
	old := add(store, "s", state.Options{}, baseOf(t))
	old.SetMover(mover("old"))
	var tx state.Tx
	tx.Begin(store)
	due := time.Now().Add(50 * time.Millisecond)
	tx.Put(old, nil, []byte("a"), item{"a", "g", 1}.text(), &state.Move{At: due.UnixNano(), Entry: 1, To: []byte(`"x"`)})
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	old.SetMover(mover("new"))
	old.Declare(state.Options{}, baseOf(t), true)
	for !time.Now().After(due) { // until it is due
	}
	old.All(nil)
	if len(moved) != 1 || moved[0] != "new" {
		t.Errorf("moved by %v, want one move by the new steps", moved)
	}
}

// TestMemory_HoldsItsBounds inserts rows for a long time with each policy: the memory use of the
// process stays as it was when the set became full, and is about what the set reports.
func TestMemory_HoldsItsBounds(t *testing.T) {
	volume.Only(t)
	const limit = 4 << 20
	for _, oldest := range []bool{true, false} {
		store := state.New(0)
		set := add(store, "s", state.Options{Limit: state.Limit{Memory: limit}, Oldest: oldest}, baseOf(t))
		var tx state.Tx
		before, next := heap(), 0
		insert := func(rows int) uint64 {
			for range rows {
				next++
				tx.Begin(store)
				key := fmt.Appendf(nil, "key-%d", next)
				tx.Put(set, nil, key, fmt.Appendf(nil, `{"id":"%s","text":"%0200d"}`, key, next), nil)
				if err := tx.Commit(); err != nil && oldest {
					t.Fatal(err)
				}
			}
			tx.End()
			return heap() - before
		}
		full := insert(30_000)
		later := insert(60_000)
		if f := set.Figures(); f.Bytes > limit || f.Bytes < limit*9/10 {
			t.Errorf("oldest %t: %d bytes are counted, of %d", oldest, f.Bytes, limit)
		}
		if full > limit*3/2 || later > full*6/5 {
			t.Errorf("oldest %t: %d bytes once it was full, %d later; the limit is %d", oldest, full, later, limit)
		}
		if got := set.Get(nil, fmt.Appendf(nil, "key-%d", next)).Found(); got != oldest {
			t.Errorf("oldest %t: the last row exists: %t", oldest, got)
		}
	}
}

// While a set is declared anew, with another base and other members, nothing that requests write is
// lost, also if they change several parts or the same row, and members that it no longer has find
// rows for requests that began before.
func TestSet_RequestsGoOnWhileItIsDeclaredAnew(t *testing.T) {
	const writers, rows = 4, 100
	store := state.New(0)
	old := add(store, "s", state.Options{}, baseOf(t, item{"base", "g", 0}, item{"hot", "h", 0}))
	write := func(do func(tx *state.Tx)) {
		var tx state.Tx
		for {
			tx.Begin(store)
			do(&tx)
			switch err := tx.Commit(); {
			case err == nil:
				return
			case err != state.ErrConflict:
				t.Error(err)
				return
			}
		}
	}
	parts := func(w, i int) [][]byte { // every second writer writes two parts
		if w%2 == 0 {
			return [][]byte{nil}
		}
		return [][]byte{fmt.Appendf(nil, "part%d", i%7), fmt.Appendf(nil, "part%d", (i+1)%7)}
	}
	insert := func(into *state.Set, name string, w int, begun chan<- struct{}) {
		for i := range rows {
			key := fmt.Sprintf("%s-%d-%d", name, w, i)
			write(func(tx *state.Tx) {
				for _, part := range parts(w, i) {
					tx.Put(into, part, []byte(key), item{key, "g", 1}.text(), nil)
				}
				hot := parse(t, tx.Get(into, nil, []byte("hot")).JSON)
				hot.N++
				tx.Put(into, nil, []byte("hot"), hot.text(), nil)
			})
			if i == rows/2 {
				begun <- struct{}{}
			}
		}
	}
	var writing sync.WaitGroup
	begun := make(chan struct{}, 2*writers)
	for w := range writers {
		writing.Go(func() { insert(old, "old", w, begun) })
	}
	for range writers {
		<-begun
	}
	late := state.Tx{} // it has read what is declared anew
	late.Begin(store)
	late.Put(old, nil, []byte("late"), late.Get(old, nil, []byte("base")).JSON, nil)
	for i := range 3 { // one after the other
		var b state.Builder // of the orders, the last one has only the second
		for _, i := range []item{{"hot", "h", 0}, {"base", "g", 0}} {
			if err := b.Add([]byte(i.ID), i.text()); err != nil {
				t.Fatal(err)
			}
		}
		old.Declare(state.Options{TTL: time.Hour}, b.Base(members[i/2:]), true)
		if i == 0 {
			for w := range writers {
				writing.Go(func() { insert(old, "new", w, begun) })
			}
		}
	}
	writing.Wait()
	if err := late.Commit(); err != state.ErrConflict {
		t.Errorf("a transaction that began before: %v, want a conflict", err)
	}
	if hot := parse(t, old.Get(nil, []byte("hot")).JSON); hot.N != 2*writers*rows {
		t.Errorf("a row was changed %d times, want %d", hot.N, 2*writers*rows)
	}
	byGroup, byN := state.Equals(members[0], group("h")), state.Equals(members[1], number(nil, 2*writers*rows))
	for _, all := range [][]state.Condition{{byGroup}, {byN}, {byGroup, byN}} {
		write(func(tx *state.Tx) {
			first, ok := tx.First(old, nil, all, false)
			several, _, _ := tx.Find(old, nil, all, nil)
			free, _ := tx.Once(old, nil, all, nil)
			group := state.Bound{Value: group("h")}
			within := tx.Within(old, nil, members[0], group, group)
			if !ok || within.Len() != 1 || string(within.At(0).Key) != "hot" || string(first.Key) != "hot" || several.Len() != 1 || string(several.At(0).Key) != "hot" || string(free.Key) != "hot" {
				t.Errorf("found %q, %d rows, and %q", first.Key, several.Len(), free.Key)
			}
			tx.Saw(old, nil, several.At(0))
			tx.Put(old, nil, []byte("hot"), first.JSON, nil)
		})
	}
	write(func(tx *state.Tx) { tx.Delete(old, nil, []byte("base")) })
	write(func(tx *state.Tx) { tx.Delete(old, nil, []byte("old-0-0")) })
	for _, name := range []string{"old", "new"} {
		for w := range writers {
			for i := range rows {
				for _, part := range parts(w, i) {
					key := fmt.Sprintf("%s-%d-%d", name, w, i)
					if found := old.Get(part, []byte(key)).Found(); found != (key != "old-0-0") {
						t.Errorf("row %s in part %q: found %t", key, part, found)
					}
				}
			}
		}
	}
	if old.Get(nil, []byte("base")).Found() {
		t.Error("a deleted row exists")
	}
}

// TestTx_AnOrderThatIsGone: a request that arrived before a reload lists rows by an order that the set
// no longer has. They are the rows of the set, at the same positions.
func TestTx_AnOrderThatIsGone(t *testing.T) {
	store := state.New(0)
	set := add(store, "s", state.Options{}, baseOf(t, item{"a", "g", 5}, item{"b", "g", 4}, item{"c", "g", 3}, item{"d", "g", 2}))
	var tx state.Tx
	for _, i := range []item{{"x", "h", 1}, {"e", "h", 1}, {"c", "h", 9}, {"f", "g", 0}} {
		tx.Begin(store)
		tx.Put(set, nil, []byte(i.ID), i.text(), nil)
		tx.Delete(set, nil, []byte{i.ID[0] - 2})
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	list := func() (rows []string) {
		tx.Begin(store)
		tx.Within(set, nil, members[1], state.Bound{}, state.Bound{}).Each(0, 1, func(r state.Row) bool {
			rows = append(rows, string(r.JSON))
			if is := tx.Get(set, nil, r.Key); r.Seq != is.Seq || string(r.JSON) != string(is.JSON) {
				t.Errorf("row %d is %s, want row %d, %s", r.Seq, r.JSON, is.Seq, is.JSON)
			}
			return true
		})
		return rows
	}
	before := list()
	var b state.Builder
	for _, i := range []item{{"a", "g", 5}, {"b", "g", 4}, {"c", "g", 3}, {"d", "g", 2}} {
		if err := b.Add([]byte(i.ID), i.text()); err != nil {
			t.Fatal(err)
		}
	}
	set.Declare(state.Options{}, b.Base(nil), true)
	if after := list(); !slices.Equal(before, after) || len(after) != 5 {
		t.Errorf("got %q, want %q", after, before)
	}
}

// TestSet_ForgetsTheRowsThatAKeyHad deletes and inserts a row again and again among many others.
// The entries of its earlier rows have the same hash, so no bucket can separate them.
func TestSet_ForgetsTheRowsThatAKeyHad(t *testing.T) {
	store := state.New(0)
	set := add(store, "s", state.Options{}, baseOf(t))
	var tx state.Tx
	put := func(id string, deleted bool) {
		t.Helper()
		tx.Begin(store)
		if deleted {
			tx.Delete(set, nil, []byte(id))
		} else {
			tx.Put(set, nil, []byte(id), item{ID: id}.text(), nil)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5000 {
		put(fmt.Sprintf("k%d", i), false)
	}
	for i := range 100 {
		put("k7", true)
		put("k7", false)
		for j := range 40 { // moves its row out of the block of the newest rows
			put(fmt.Sprintf("k%d", 5000+40*i+j), false)
		}
	}
	for i := range 9000 {
		tx.Begin(store)
		if id := fmt.Sprintf("k%d", i); !tx.Get(set, nil, []byte(id)).Found() {
			t.Fatalf("%s does not exist", id)
		}
		tx.End()
	}
	if f := set.Figures(); f.Changes != 9000 {
		t.Errorf("%+v", f)
	}
}

// TestSet_NamesRowsOnce creates versions that add the same rows to the keys again and again: for
// inserts that a full set refuses, and after a snapshot. They share buckets with the version that
// stays.
func TestSet_NamesRowsOnce(t *testing.T) {
	insert := func(store *state.Store, set *state.Set, ids ...string) error {
		var tx state.Tx
		tx.Begin(store)
		for _, id := range ids {
			tx.Put(set, nil, []byte(id), []byte("{}"), nil)
		}
		return tx.Commit()
	}
	const block = 32 // rows that are added to the keys together
	for rows := 10 * block; rows <= 120*block; rows += 10 * block {
		for _, snapshots := range []bool{false, true} {
			store := state.New(0)
			o := state.Options{}
			if !snapshots {
				o.Limit.Rows = int64(rows)
			}
			set := add(store, "s", o, baseOf(t))
			var ids []string
			for i := range rows {
				if ids = append(ids, fmt.Sprintf("k%d", i)); len(ids) == block {
					if err := insert(store, set, ids...); err != nil {
						t.Fatal(err)
					}
					ids = ids[:0]
				}
			}
			snapshot := store.Snapshot()
			for range 40 {
				err := insert(store, set, "further")
				switch {
				case (err == nil) != snapshots:
					t.Fatalf("with %d rows, a further row: %v", rows, err)
				case snapshots:
					store.Restore(snapshot)
				}
			}
			var tx state.Tx
			tx.Begin(store)
			for i := range rows {
				if id := fmt.Sprintf("k%d", i); !tx.Get(set, nil, []byte(id)).Found() {
					t.Fatalf("with %d rows, %s does not exist", rows, id)
				}
			}
			tx.End()
		}
	}
}
