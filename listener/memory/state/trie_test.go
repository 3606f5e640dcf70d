package state

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// row is the leaf that the tests use.
type row struct {
	at    uint64
	delta int
}

func (r *row) path() uint64 { return r.at }
func (r *row) count() int   { return r.delta }

// TestTrie_CountsAsAListDoes compares a trie with a list of all live numbers, and checks that older
// tries keep their content.
func TestTrie_CountsAsAListDoes(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves out what takes long and runs nothing concurrently")
	}
	for _, n := range []int{0, 1, 7, 32, 33, 1000, 5000} {
		random := rand.New(rand.NewPCG(1, uint64(n)))
		var tr trie[*row]
		leaves := map[uint64]*row{}
		live := make([]uint64, n)
		for i := range live {
			live[i] = uint64(i)
		}
		next := uint64(n)
		for step := range 3000 {
			old, oldLive := tr, slices.Clone(live)
			switch path := uint64(random.IntN(2*n + 50)); {
			case leaves[path] != nil:
				tr = tr.without(path, 0)
				if leaves[path].delta > 0 {
					i, _ := slices.BinarySearch(live, path)
					live = slices.Delete(live, i, i+1)
				} else if leaves[path].delta < 0 {
					i, _ := slices.BinarySearch(live, path)
					live = slices.Insert(live, i, path)
				}
				delete(leaves, path)
			case path < uint64(n):
				leaves[path] = &row{path, -random.IntN(2)}
				if leaves[path].delta < 0 {
					i, _ := slices.BinarySearch(live, path)
					live = slices.Delete(live, i, i+1)
				}
				tr = tr.with(leaves[path], 0)
			default:
				next += uint64(random.IntN(3)) // numbers increase, with gaps
				leaves[next] = &row{next, 1}
				tr = tr.with(leaves[next], 0)
				live = append(live, next)
				next++
			}
			if step%50 == 0 {
				holdTrie(t, old, n, oldLive)
				holdTrie(t, tr, n, live)
			}
			for range 3 {
				path := uint64(random.IntN(int(next) + 2))
				if tr.get(path) != leaves[path] {
					t.Fatalf("n %d, step %d: get(%d) = %v, want %v", n, step, path, tr.get(path), leaves[path])
				}
			}
		}
	}
}

func holdTrie(t *testing.T, tr trie[*row], n int, live []uint64) {
	t.Helper()
	if tr.size(n) != len(live) {
		t.Fatalf("%d rows of %d, want %d", tr.size(n), n, len(live))
	}
	for k, path := range live {
		if got := tr.at(n, k); got != path {
			t.Fatalf("at(%d) = %d, want %d", k, got, path)
		}
		if got := tr.rank(n, path); got != k {
			t.Fatalf("rank(%d) = %d, want %d", path, got, k)
		}
		if got := tr.rank(n, path+1); got != k+1 {
			t.Fatalf("rank(%d) = %d, want %d", path+1, got, k+1)
		}
	}
}

// TestTrie_OwnersShareTheirWork compares changes with one owner with changes without an owner, and
// checks that the trie from before the changes keeps its content.
func TestTrie_OwnersShareTheirWork(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	const n = 300
	var one, other trie[*row]
	for owner := uint64(1); owner < 200; owner++ {
		before := one
		var was []uint64
		before.each(func(r *row) bool { was = append(was, r.at); return true })
		for range random.IntN(40) {
			path := uint64(random.IntN(2 * n))
			if random.IntN(3) > 0 {
				r := &row{path, 1}
				if path < n {
					r.delta = -random.IntN(2)
				}
				one, other = one.with(r, owner), other.with(r, 0)
			} else {
				one, other = one.without(path, owner), other.without(path, 0)
			}
		}
		if one.size(n) != other.size(n) {
			t.Fatalf("owner %d: size %d, want %d", owner, one.size(n), other.size(n))
		}
		for k := range one.size(n) {
			if got, want := one.at(n, k), other.at(n, k); got != want || one.rank(n, got) != k {
				t.Fatalf("owner %d: row %d is %d, want %d", owner, k, got, want)
			}
		}
		var is []uint64
		before.each(func(r *row) bool { is = append(is, r.at); return true })
		if !slices.Equal(is, was) {
			t.Fatalf("owner %d has changed the earlier trie", owner)
		}
	}
}

// TestTrie_IsEmptyAgain: once all added leaves are removed, no node is left.
func TestTrie_IsEmptyAgain(t *testing.T) {
	var tr trie[*row]
	paths := []uint64{0, 1, 31, 32, 1 << 10, 1<<63 + 5, 1<<63 + 6}
	for _, p := range paths {
		tr = tr.with(&row{p, 1}, 0)
	}
	if got := tr.size(0); got != len(paths) {
		t.Fatalf("size %d, want %d", got, len(paths))
	}
	for _, p := range paths {
		if tr.get(p) == nil {
			t.Errorf("no leaf %d", p)
		}
	}
	for i, p := range paths {
		tr = tr.without(p, 0)
		if tr.get(p) != nil || tr.size(0) != len(paths)-i-1 {
			t.Errorf("after %d was taken out: %v, size %d", p, tr.get(p), tr.size(0))
		}
	}
	if tr.root != nil {
		t.Errorf("a node is left: %+v", tr.root)
	}
}
