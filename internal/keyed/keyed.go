// Package keyed counts for each of very many keys, in bounded memory.
package keyed

import (
	"hash/maphash"
	"sync"
)

// Most is how many keys are remembered at least; twice as many at most.
const Most = 500_000

const shards = 16

// seed is what the hashes of keys begin with, so that no client can choose keys of one shard.
var seed = maphash.MakeSeed()

// Counts are the counts of keys. The zero value is ready for use, by several goroutines.
type Counts struct{ shards [shards]shard }

// shard has the counts of some keys in two generations: those that were counted lately, and those
// that were not. A key that is counted becomes a late one. When there are too many of these, they
// become the others, and the others are forgotten.
type shard struct {
	mu        sync.Mutex
	late, old map[string]*uint64
}

// Next returns how often a key was counted before, and counts it, up to a maximum: from then on it
// returns that.
func (c *Counts) Next(key []byte, most uint64) uint64 {
	s := &c.shards[maphash.Bytes(seed, key)%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.late[string(key)]
	if n == nil {
		n = s.keep(string(key))
	}
	before := *n
	*n = min(before+1, most)
	return before
}

// keep makes a key a late one, and returns its count.
func (s *shard) keep(key string) *uint64 {
	n := s.old[key]
	if n == nil {
		n = new(uint64)
	}
	if len(s.late) >= Most/shards {
		s.old, s.late = s.late, nil
	}
	if s.late == nil {
		s.late = map[string]*uint64{}
	}
	s.late[key] = n
	return n
}
