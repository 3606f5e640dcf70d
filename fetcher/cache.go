package fetcher

import (
	"container/list"
	"sync"
	"sync/atomic"
	"time"

	"mockserver/config/syntax"
)

// cache keeps bodies within a budget of bytes. What is over is given up in the
// order of arrival, except that an entry used since it was last considered gets
// another round: nearly least recently used, without a lock on a hit.
type cache struct {
	max int64

	mu    sync.RWMutex // guards what follows and the entries of all shelves
	total int64
	ring  list.List // of *entry
}

// shelf is the part of a cache whose keys have one meaning.
type shelf struct {
	cache   *cache
	entries map[string]*entry // guarded by cache.mu
}

// entry is one body that is kept, or is being loaded.
type entry struct {
	shelf *shelf
	key   string
	used  atomic.Bool // since it was last considered; not by its first use
	gone  atomic.Bool // given up: whoever still holds it looks it up again

	loading sync.Mutex // held while it is loaded for the first time, so that it is loaded once
	kept    atomic.Pointer[kept]
	next    atomic.Int64 // when the file is looked at again, in nanoseconds since 1970

	turn   sync.Mutex // held from a look at the file to the end of the reading it led to
	seen   look       // guarded by turn: the last look
	looked time.Time  // guarded by turn: when that was

	at   *list.Element // guarded by cache.mu
	size int64         // guarded by cache.mu
}

// kept is what one load brought. It is immutable.
type kept struct {
	body     Body
	err      *Error
	problems syntax.Problems // found while loading; a zero position is the declaration's
	size     int64           // bytes it costs

	look    look      // of the file when it was read
	settled bool      // the file was old enough that another change cannot have the same time
	sum     uint64    // of the file's content
	length  int       // of the file's content, in bytes
	fetched time.Time // of a remote body
}

// entryCost is about what an entry costs beside its body, in bytes.
const entryCost = 512

func newCache(limit int64) *cache { return &cache{max: limit} }

func newShelf(c *cache) *shelf {
	return &shelf{cache: c, entries: map[string]*entry{}}
}

// find returns the entry of a key, or nil. The key may be changed afterwards.
func (s *shelf) find(key []byte) *entry {
	s.cache.mu.RLock()
	e := s.entries[string(key)]
	s.cache.mu.RUnlock()
	return e
}

// entry returns the entry of a key, a new one where there is none.
func (s *shelf) entry(key []byte) *entry {
	if e := s.find(key); e != nil {
		return e
	}
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	e := s.entries[string(key)]
	if e == nil {
		e = &entry{shelf: s, key: string(key)}
		s.entries[e.key] = e
		e.at = c.ring.PushBack(e)
		c.charge(e, 0)
	}
	return e
}

// keep puts what was loaded into an entry and accounts for it.
func (e *entry) keep(k *kept) {
	c := e.shelf.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	e.kept.Store(k)
	if !e.gone.Load() {
		c.charge(e, k.size)
	}
}

// charge sets what an entry costs and makes room for it.
func (c *cache) charge(e *entry, size int64) {
	size += entryCost + int64(len(e.key))
	c.total += size - e.size
	e.size = size
	for c.total > c.max && c.ring.Len() > 1 {
		front := c.ring.Front()
		old := front.Value.(*entry)
		if old == e || old.used.Swap(false) {
			c.ring.MoveToBack(front)
			continue
		}
		c.remove(old)
	}
}

// remove gives an entry up. The caller holds mu.
func (c *cache) remove(e *entry) {
	if e.gone.Swap(true) {
		return
	}
	c.total -= e.size
	c.ring.Remove(e.at)
	delete(e.shelf.entries, e.key)
}

// drop gives an entry up.
func (e *entry) drop() {
	c := e.shelf.cache
	c.mu.Lock()
	c.remove(e)
	c.mu.Unlock()
}

// clear gives up all entries of a shelf.
func (s *shelf) clear() {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	for _, e := range s.entries {
		s.cache.remove(e)
	}
}

// touch tells the cache that an entry is in use. It writes only when that is
// news, so that a hot entry's cache line stays shared.
func (e *entry) touch() {
	if !e.used.Load() {
		e.used.Store(true)
	}
}
