// Package state stores rows that requests read and change: sets of JSON objects, found by key.
//
// A set is an immutable base, read from a file, and changes on top of it. Its changes are made by
// all requests or, in isolated parts, by the requests with one isolation value, such as the id of a
// virtual user. A reset drops the changes; a snapshot keeps them as they are.
//
// # Memory
//
// A base consists of pages of bytes, with a table of keys and an array of positions: it has no
// pointers. It takes about 20 bytes per row in addition to the text, and 12 bytes per row for each
// member that requests can search or sort by. The rows of a part at one time are a version: the
// base, a trie of changes by the number of the row, the newest rows in a block after it, the keys
// of rows that were inserted, and a B-tree for each member. A version is never modified. A change
// makes a new version that shares all nodes except those on the path to the change; versions also
// share the block of newest rows and the tables of keys. So a snapshot is one pointer, and readers
// need no lock. A part without changes takes no memory.
//
// # Locking
//
// The current version of a part is behind an atomic pointer. Readers load it. Writers prepare their
// changes in a transaction, lock the parts that it read or writes, in the order of their ids,
// compare what it read with what is there now, and publish new versions, or nothing. Versions of
// several parts are published under an epoch, which is odd during the publication. No lock is held
// while a caller's code runs, except for Member.Value and a Mover. Locks are taken in this order:
// the lock for making moves, part, shard of a set, ages or pending moves.
package state

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mockserver/internal/list"
)

// ids generates the ids of the parts of all stores.
var ids atomic.Uint64

// Store holds the sets of a server. Its methods are safe for concurrent use.
type Store struct {
	limit int64 // maximum size in bytes of the changes to all sets; 0 means no bound
	bytes atomic.Int64
	sets  atomic.Pointer[map[string]*Set]
	woken chan struct{} // see Woken

	mu sync.Mutex // held while sets is changed

	multi sync.Mutex // held while versions of several parts are published
	epoch atomic.Uint64
}

// New returns a store without sets. Its changes take at most memory bytes; 0 means no bound.
func New(memory int64) *Store {
	s := &Store{limit: memory, woken: make(chan struct{}, 1)}
	s.sets.Store(&map[string]*Set{})
	return s
}

// Attach adds a set that belongs to no store. It replaces a set with the same name, whose changes
// are lost; Set.Declare keeps them.
func (s *Store) Attach(set *Set) {
	set.store = s
	s.change(set.Name, set)
}

// Remove drops a set.
func (s *Store) Remove(name string) {
	if set := s.Set(name); set != nil {
		set.stop()
		s.change(name, nil)
	}
}

// change sets the set with a name, or removes it if set is nil.
func (s *Store) change(name string, set *Set) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sets := maps.Clone(*s.sets.Load())
	if old := sets[name]; old != nil {
		old.dropped.Store(true)
		s.bytes.Add(-old.bytes.Load())
		delete(sets, name)
	}
	if set != nil {
		sets[name] = set
	}
	s.sets.Store(&sets)
}

// Set returns the set with a name, or nil.
func (s *Store) Set(name string) *Set { return (*s.sets.Load())[name] }

// Sets returns all sets in the order of their names.
func (s *Store) Sets() []*Set {
	sets := *s.sets.Load()
	return list.Map(slices.Sorted(maps.Keys(sets)), func(name string) *Set { return sets[name] })
}

// Snapshot holds the changes to all sets as they were at one time. It takes memory only for rows
// that have changed since.
type Snapshot struct {
	taken time.Time
	sets  map[string]frozen
}

type frozen struct {
	common *version
	parts  map[string]*version
}

// Snapshot returns the current changes. If a transaction changed several common parts, the snapshot
// has all of these changes or none.
func (s *Store) Snapshot() *Snapshot {
	taken := &Snapshot{time.Now(), map[string]frozen{}}
	sets := s.Sets()
	s.multi.Lock()
	for _, set := range sets {
		taken.sets[set.Name] = frozen{set.common.now.Load(), map[string]*version{}}
	}
	s.multi.Unlock()
	for _, set := range sets {
		parts := taken.sets[set.Name].parts
		set.isolated(func(p *Part) { parts[p.name] = p.now.Load() })
	}
	return taken
}

// Restore brings back the changes as they were when a snapshot was taken. Moves that were pending
// then are pending again, with the same time left. A set that is not in the snapshot loses its
// changes.
func (s *Store) Restore(from *Snapshot) {
	by := time.Since(from.taken)
	for _, set := range s.Sets() {
		was, ok := from.sets[set.Name]
		if !ok {
			set.Reset(nil)
			continue
		}
		set.restore(nil, set.later(was.common, by))
		set.isolated(func(p *Part) {
			if was.parts[p.name] == nil {
				set.restore([]byte(p.name), set.none.Load())
			}
		})
		for name, v := range was.parts {
			set.restore([]byte(name), set.later(v, by))
		}
	}
}

func (s *Set) later(v *version, by time.Duration) *version {
	if s.moves.mover.Load() == nil {
		return v
	}
	return v.later(by)
}
