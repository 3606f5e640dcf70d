// Package keyed counts occurrences of a large number of keys, in bounded memory.
package keyed

import (
	"hash/maphash"
	"sync"
)

// Most is the minimum number of keys that are remembered; the maximum is twice as many.
const Most = 500_000

const shards = 16

// seed is the seed of the hashes of keys, so that no client can choose keys that all belong to one
// shard.
var seed = maphash.MakeSeed()

// Counts counts the occurrences of many keys. The zero value is ready for use by several
// goroutines.
type Counts struct{ shards [shards]shard }

// shard contains the counts of some keys in two generations: keys that were counted recently, and
// older keys. A key that is counted becomes a recent one. When there are too many recent keys, they
// replace the older keys, which are forgotten.
type shard struct {
	mu        sync.Mutex
	late, old map[string]*uint64
}

// Next counts a key and returns how many times it was counted before.
func (c *Counts) Next(key []byte) uint64 {
	s := &c.shards[maphash.Bytes(seed, key)%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.late[string(key)]
	if n == nil {
		n = s.keep(string(key))
	}
	*n++
	return *n - 1
}

// keep makes a key a recent one, and returns its count.
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
