package fetcher

import (
	"container/list"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"mockserver/config/syntax"
	"mockserver/internal/files"
)

// cache stores bodies within a budget of bytes. When it is full, entries are removed in the order
// of arrival, except that an entry used since it was last considered gets another round. This is
// close to removing the least recently used entry, but a hit takes no write lock.
type cache struct {
	max int64

	mu    sync.RWMutex // guards the fields below and the entries of all shelves
	total int64
	ring  list.List // of *entry
}

// shelf is the part of a cache whose keys have the same meaning.
type shelf struct {
	cache   *cache
	entries map[string]*entry // guarded by cache.mu
}

// entry is one body that is stored or being loaded.
type entry struct {
	shelf *shelf
	key   string
	used  atomic.Bool // since it was last considered, not counting the first use
	gone  atomic.Bool // removed: a holder must look it up again

	loading sync.Mutex // held during the first load, so that the body is loaded once
	kept    atomic.Pointer[kept]
	next    atomic.Int64 // when the file is to be checked again, in nanoseconds since 1970

	turn   sync.Mutex // held from checking the file to the end of reading it
	seen   look       // guarded by turn: the result of the last check
	looked time.Time  // guarded by turn: the time of the last check

	at   *list.Element // guarded by cache.mu
	size int64         // guarded by cache.mu
}

// kept is the result of one load. It is immutable.
type kept struct {
	body     Body
	err      *Error
	problems syntax.Problems // found while loading; a zero position means the declaration
	size     int64           // its cost in bytes

	look    look      // the look of the file when it was read
	settled bool      // the file was old enough that a later change gets a different time
	sum     uint64    // hash of the file's content
	length  int       // length of the file's content in bytes
	fetched time.Time // when a remote body was fetched
}

// entryCost is the approximate cost of an entry without its body, in bytes.
const entryCost = 512

func newCache(limit int64) *cache { return &cache{max: limit} }

func newShelf(c *cache) *shelf {
	return &shelf{cache: c, entries: map[string]*entry{}}
}

// find returns the entry for a key, or nil. The caller may modify key afterwards.
func (s *shelf) find(key []byte) *entry {
	s.cache.mu.RLock()
	e := s.entries[string(key)]
	s.cache.mu.RUnlock()
	return e
}

// entry returns the entry for a key, and creates it if there is none.
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

// keep stores a loaded body in an entry and updates the entry's cost.
func (e *entry) keep(k *kept) {
	c := e.shelf.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	e.kept.Store(k)
	if !e.gone.Load() {
		c.charge(e, k.size)
	}
}

// charge sets the cost of an entry and makes room for it.
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

// remove removes an entry. The caller holds mu.
func (c *cache) remove(e *entry) {
	if e.gone.Swap(true) {
		return
	}
	c.total -= e.size
	c.ring.Remove(e.at)
	delete(e.shelf.entries, e.key)
}

func (e *entry) drop() {
	c := e.shelf.cache
	c.mu.Lock()
	c.remove(e)
	c.mu.Unlock()
}

// clear removes all entries of a shelf.
func (s *shelf) clear() {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	for _, e := range s.entries {
		s.cache.remove(e)
	}
}

// touch marks an entry as used. It writes only if the mark is not set, so that the cache line of a
// popular entry stays shared.
func (e *entry) touch() {
	if !e.used.Load() {
		e.used.Store(true)
	}
}

// look contains what is known about a file without reading it, or err if the file is not available.
// The zero look means that there was no check.
type look struct {
	info fs.FileInfo
	err  error
}

// same reports whether two looks show no change.
func (l look) same(m look) bool {
	if l.info == nil || m.info == nil {
		return l.info == nil && m.info == nil && l.err != nil && m.err != nil && l.err.Error() == m.err.Error()
	}
	return files.Same(l.info, m.info)
}

// still reports whether a file has not been written to for a while, or is not available.
func (l look) still(now time.Time) bool {
	return l.info == nil || now.Sub(l.info.ModTime()) >= idleTime
}

const (
	// checkInterval is how long a file is served without being checked.
	checkInterval = 250 * time.Millisecond
	// settleTime is the coarsest resolution of file times in use: within it, a file may change
	// twice with the same time.
	settleTime = 2 * time.Second
	// idleTime is how long a copy is valid without a check. After that, the request that checks the
	// file waits for its current content.
	idleTime = 2 * checkInterval
	// patience limits the wait for the current content, in real time.
	patience = 250 * time.Millisecond
	// maxAttempts is how many times a file is read if it changes during each read.
	maxAttempts = 3
)
