package state

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
)

// Options contains the declaration of a set.
type Options struct {
	Limit  Limit
	Oldest bool          // a full set drops the oldest changes; otherwise it refuses new changes
	TTL    time.Duration // how long a change lasts; 0: without limit
}

// Limit bounds the changes to a set, over all its parts. 0 means no bound.
type Limit struct {
	Rows   int64
	Memory int64 // bytes
}

// Set holds rows by their keys: a base, and parts with changes. All methods are safe for concurrent
// use.
type Set struct {
	Name    string
	store   *Store
	options atomic.Pointer[Options]
	none    atomic.Pointer[version] // a version without changes, for parts that were never changed

	common *Part // the part with the rows that are not isolated
	shards [64]shard

	rows, bytes      atomic.Int64 // taken by changes
	parts            atomic.Int64 // isolated parts
	conflicts, given atomic.Int64
	stamp            atomic.Uint32
	ages             ages
	moves            moves

	dropped atomic.Bool // it is no longer in the store
}

// shard holds some of the isolated parts.
type shard struct {
	mu    sync.RWMutex
	parts map[string]*Part
	_     [32]byte
}

// Part holds the rows that requests with one isolation value see.
type Part struct {
	set  *Set
	name string // "" for the common part
	id   uint64 // locks are taken in the order of ids
	now  atomic.Pointer[version]

	mu   sync.Mutex // held while now is changed
	gone bool       // guarded by mu: the part is no longer in the set
}

// Figures contains the counts of a set.
type Figures struct {
	Rows      int64 // rows in the base and the common part
	Base      int64 // rows in the base
	Changes   int64 // changes in all parts
	Parts     int64 // isolated parts
	Bytes     int64 // memory that the changes take
	Conflicts int64
	GivenUp   int64
}

// NewSet returns a set with a base. The set belongs to no store: see Store.Attach.
func NewSet(name string, o Options, b *Base) *Set {
	set := &Set{Name: name, store: New(0)}
	set.options.Store(&o)
	set.moves.due.Store(noMove)
	set.none.Store(newVersion(b))
	set.common = set.newPart("")
	for i := range set.shards {
		set.shards[i].parts = map[string]*Part{}
	}
	return set
}

func (s *Set) newPart(name string) *Part {
	p := &Part{set: s, name: name, id: ids.Add(1)}
	p.now.Store(s.none.Load())
	return p
}

// Figures returns the counts of the set.
func (s *Set) Figures() Figures {
	common := s.common.now.Load()
	return Figures{
		Rows: int64(common.len()), Base: int64(common.base.Len()),
		Changes: s.rows.Load(), Parts: s.parts.Load(), Bytes: s.bytes.Load(),
		Conflicts: s.conflicts.Load(), GivenUp: s.given.Load(),
	}
}

func (s *Set) shard(name []byte) *shard {
	return &s.shards[maphash.Bytes(seed, name)%uint64(len(s.shards))]
}

// part returns the part with the given name, or nil if it has no changes. Nil is the name of the
// common part.
func (s *Set) part(name []byte) *Part {
	if name == nil {
		return s.common
	}
	shard := s.shard(name)
	shard.mu.RLock()
	defer shard.mu.RUnlock()
	return shard.parts[string(name)]
}

// current returns the rows of a part.
func (s *Set) current(name []byte) *version {
	if p := s.part(name); p != nil {
		return p.now.Load()
	}
	return s.none.Load()
}

// lock returns a part with its lock taken. It creates the part if needed.
func (s *Set) lock(name []byte) *Part {
	for {
		p := s.part(name)
		if p == nil {
			p = s.add(name)
		}
		p.mu.Lock()
		if !p.gone {
			return p
		}
		p.mu.Unlock()
	}
}

// add creates a part, unless another goroutine has just created it.
func (s *Set) add(name []byte) *Part {
	shard := s.shard(name)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if p := shard.parts[string(name)]; p != nil {
		return p
	}
	p := s.newPart(string(name))
	shard.parts[p.name] = p
	s.parts.Add(1)
	return p
}

// publish makes a version the current one, and updates the counts. The part must be locked.
func (p *Part) publish(v *version) {
	before := p.now.Load()
	p.now.Store(v)
	p.set.rows.Add(int64(v.changes - before.changes))
	more := p.size(v) - p.size(before)
	p.set.bytes.Add(more)
	if !p.set.dropped.Load() {
		p.set.store.bytes.Add(more)
	}
}

// costOfPart is the memory in bytes that an isolated part takes in addition to its changes, measured
// with BenchmarkParts: 290, and up to 110 more with inserted or taken rows.
const costOfPart = 400

// size returns the memory that the part takes with a version.
func (p *Part) size(v *version) int64 {
	if p == p.set.common || v.isEmpty() {
		return v.memory()
	}
	return v.memory() + costOfPart + int64(len(p.name))
}

// isEmpty reports whether the version is as the base.
func (v *version) isEmpty() bool { return v.changes == 0 && v.free == nil }

// tidy removes an isolated part from its set if the part has no changes. The part must be locked.
func (p *Part) tidy() {
	s := p.set
	if p == s.common || p.gone || !p.now.Load().isEmpty() {
		return
	}
	shard := s.shard([]byte(p.name))
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if shard.parts[p.name] == p {
		delete(shard.parts, p.name)
		s.parts.Add(-1)
	}
	p.gone = true
}

// isolated calls f for all isolated parts.
func (s *Set) isolated(f func(*Part)) {
	for i := range s.shards {
		shard := &s.shards[i]
		shard.mu.RLock()
		parts := make([]*Part, 0, len(shard.parts))
		for _, p := range shard.parts {
			parts = append(parts, p)
		}
		shard.mu.RUnlock()
		for _, p := range parts {
			f(p)
		}
	}
}

// Parts returns the names of up to limit isolated parts.
func (s *Set) Parts(limit int) []string {
	var names []string
	s.isolated(func(p *Part) {
		if len(names) < limit {
			names = append(names, p.name)
		}
	})
	return names
}

// Reset drops the changes to one part, or to all parts if name is nil.
func (s *Set) Reset(name []byte) {
	s.restore(name, s.none.Load())
	if name == nil {
		s.isolated(func(p *Part) { s.restore([]byte(p.name), s.none.Load()) })
	}
}

// restore sets a part to a version, or removes the part from the set if the version has no changes.
// A nil name stands for the common part.
func (s *Set) restore(name []byte, v *version) {
	p := s.lock(name)
	defer p.mu.Unlock()
	p.become(v)
}

// become sets the part to a version, placed on the base of its set. Its changes age as if they were
// made now, and its moves are pending. The part must be locked.
func (p *Part) become(v *version) {
	s, now := p.set, time.Now()
	v = v.on(s.none.Load().base)
	p.publish(v)
	p.tidy()
	ages, moves := s.aging(), s.moves.mover.Load() != nil
	if !ages && !moves {
		return
	}
	v.rows.each(func(r *record) bool {
		if ages {
			s.ages.add(p, r.seq, r.stamp, now)
		}
		if moves {
			s.moves.add(p, r)
		}
		return true
	})
	if ages && v.free != nil && p != s.common {
		s.ages.add(p, takes, v.lastTake, now)
	}
}

// Declare replaces the options and the base. If keep is true, the changes stay on top of the base.
// Transactions that have already read the set conflict.
func (s *Set) Declare(o Options, b *Base, keep bool) {
	s.options.Store(&o)
	s.none.Store(newVersion(b))
	s.ages.clear()
	rebase := func(p *Part) {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch {
		case p.gone:
		case keep:
			p.become(p.now.Load())
		default:
			p.become(s.none.Load())
		}
	}
	rebase(s.common)
	s.isolated(rebase)
}

// on returns the version on another base. A row that was changed or inserted replaces the row with
// its key there, or follows the rows of that base, in the same order as before. A row that was
// deleted is deleted there too.
func (v *version) on(b *Base) *version {
	if v.base == b {
		return v
	}
	w := newVersion(b).edit(true)
	v.rows.each(func(r *record) bool {
		if !r.isDeleted() {
			hash := hashOf(r.key())
			c := *r
			if c.move != nil { // so that entries of the old move are out of date
				move := *c.move
				c.move = &move
			}
			w.put(w.find(hash, r.key()), hash, &c, 0)
			return true
		}
		key, _ := v.base.row(uint32(r.seq))
		if row := w.get(key); row.Found() {
			w.delete(row, r.stamp)
		}
		return true
	})
	v.taken(func(row Row) bool {
		if is := w.get(row.Key); is.Found() {
			w.take(is)
		}
		return true
	})
	w.lastTake = v.lastTake
	return w
}
