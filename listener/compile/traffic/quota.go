package traffic

import (
	"encoding/binary"
	"math/bits"
	"sync"
	"sync/atomic"
)

// quotaKey identifies a client of a rate limit, as 128 bits of a hash.
type quotaKey [16]byte

// quota is the part of a rate limit that one key has used. It expires once a window has passed
// without a change.
type quota struct {
	key   quotaKey
	last  int64  // nanoseconds: the last request admitted, window start, or last filling of a bucket
	rest  uint64 // the part of the next token that is filled, in units of 1/window
	count uint32 // requests in the window, or tokens in the bucket

	// The log of a sliding window: see chunk.
	head, tail uint32
	begin, end uint8 // index of the oldest stamp in head, and index after the newest stamp in tail

	older, newer uint32 // neighbors in the list ordered by last
}

// Limits on the state of one rate limit, documented in docs/limits.md.
const (
	quotaShards = 32
	shardQuotas = 1 << 15 // a million in 32 shards
	maxChunks   = 1 << 24 // each of 32 bytes; enough for a million logs of 100 requests
	// keptQuotas is the number of expired keys up to which a shard keeps their memory.
	keptQuotas = 64
	// windowTicks is the maximum number of ticks in a window: differences between stamps up to
	// twice as old must fit into 31 bits.
	windowTicks = 1 << 30
)

// quotas holds the quotas of all keys of one limit.
type quotas struct {
	algorithm string
	max       uint32
	window    int64 // nanoseconds
	tick      int64 // nanoseconds: the unit of stamps
	// mostQuotas is the maximum number of quotas per shard, and mostChunks is the maximum number of
	// chunks in all shards.
	mostQuotas int
	mostChunks int64

	shards [quotaShards]shard
	held   atomic.Int64 // number of chunks in use
}

// shard holds a part of the keys, under its own lock.
type shard struct {
	held *atomic.Int64 // quotas.held, for all shards

	mu     sync.Mutex // guards the fields below
	now    int64      // the latest arrival time of a request
	index  map[quotaKey]uint32
	quotas pages[quota]
	chunks pages[chunk]
	// first and final are the ends of the list of quotas ordered by last; 0 if the list is empty.
	first, final uint32
}

// verdict is the result for one request.
type verdict struct {
	admitted  bool
	remaining uint32
	full      int64 // nanoseconds until the whole limit is available again, if no other request arrives
	next      int64 // if the request is not admitted: nanoseconds until one would be
	evicted   int   // number of keys evicted for this one before they expired; those start over
}

func newQuotas(algorithm string, most uint32, window int64) *quotas {
	q := &quotas{
		algorithm: algorithm, max: most, window: window, tick: (window + windowTicks - 1) / windowTicks,
		mostQuotas: shardQuotas, mostChunks: maxChunks,
	}
	for i := range q.shards {
		s := &q.shards[i]
		s.held = &q.held
		s.clear()
	}
	return q
}

// clear releases all memory that a shard holds.
func (s *shard) clear() {
	s.held.Add(int64(len(s.chunks.free) - s.chunks.used))
	s.index = map[quotaKey]uint32{}
	s.quotas, s.chunks = pages[quota]{size: quotaPage}, pages[chunk]{size: chunkPage}
	s.first, s.final = 0, 0
}

// count counts a request at now, in nanoseconds from a base that is the same for all requests.
func (q *quotas) count(key quotaKey, now int64) verdict { return q.take(key, now, 1) }

// take is like count, for so many tokens of a bucket. A number below 0 gives tokens back.
func (q *quotas) take(key quotaKey, now int64, n int) verdict {
	s := &q.shards[binary.LittleEndian.Uint64(key[:])%quotaShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = max(s.now, now) // the request that gets the lock first counts as the earlier one
	q.expire(s)
	evicted := 0
	id, known := s.index[key]
	if !known {
		if len(s.index) >= q.mostQuotas {
			s.drop(s.first)
			evicted++
		}
		id = s.add(key)
	}
	u := s.quotas.get(id)
	var v verdict
	switch q.algorithm {
	case "token-bucket":
		if !known {
			u.count = q.max
		}
		v = q.fromBucket(s, id, u, n)
	case "fixed-window":
		v = q.inWindow(s, id, u)
	default:
		for q.held.Load() >= q.mostChunks && s.first != id {
			s.drop(s.first)
			evicted++
		}
		v = q.inLog(s, id, u)
	}
	v.evicted = evicted
	return v
}

// expire drops expired quotas: all at once if all have expired, and otherwise at most two at a
// time, so that no single request pays for all of them.
func (q *quotas) expire(s *shard) {
	if s.final != 0 && len(s.index) > keptQuotas && s.now-s.quotas.get(s.final).last >= q.window {
		s.clear()
		return
	}
	for range 2 {
		if s.first == 0 || s.now-s.quotas.get(s.first).last < q.window {
			return
		}
		s.drop(s.first)
	}
}

// add creates a quota for an unknown key.
func (s *shard) add(key quotaKey) uint32 {
	id := s.quotas.take()
	*s.quotas.get(id) = quota{key: key, last: s.now}
	s.index[key] = id
	s.append(id)
	return id
}

func (s *shard) drop(id uint32) {
	u := s.quotas.get(id)
	s.forget(u)
	s.unlink(u)
	delete(s.index, u.key)
	s.quotas.give(id)
}

// touch records that a quota has just changed, and moves it to the end of the list.
func (s *shard) touch(id uint32, u *quota) {
	u.last = s.now
	if s.final != id {
		s.unlink(u)
		s.append(id)
	}
}

func (s *shard) append(id uint32) {
	u := s.quotas.get(id)
	u.older, u.newer = s.final, 0
	if s.final != 0 {
		s.quotas.get(s.final).newer = id
	} else {
		s.first = id
	}
	s.final = id
}

func (s *shard) unlink(u *quota) {
	if u.older != 0 {
		s.quotas.get(u.older).newer = u.newer
	} else {
		s.first = u.newer
	}
	if u.newer != 0 {
		s.quotas.get(u.newer).older = u.older
	} else {
		s.final = u.older
	}
}

// inLog admits a request if fewer requests than the limit were admitted in the window that ends
// with it. Stamps are rounded up: a request is remembered for up to a tick too long, but never for
// too short a time.
func (q *quotas) inLog(s *shard, id uint32, u *quota) verdict {
	if s.now-u.last >= q.window {
		s.forget(u) // differences of stamps cannot represent so long a time
	}
	length := uint32((q.window + q.tick - 1) / q.tick)
	now := uint32(s.now / q.tick)
	for u.count > 0 && int32(now-s.oldest(u)) >= int32(length) {
		s.pop(u)
	}
	if u.count >= q.max {
		age := int64(int32(now - s.oldest(u)))
		return verdict{full: u.last + q.window - s.now, next: (int64(length) - age) * q.tick}
	}
	s.push(u, uint32((s.now+q.tick-1)/q.tick))
	s.touch(id, u)
	return verdict{admitted: true, remaining: q.max - u.count, full: q.window}
}

// inWindow admits a request if fewer requests than the limit were admitted in the window. A window
// begins with the first request after the previous window.
func (q *quotas) inWindow(s *shard, id uint32, u *quota) verdict {
	if s.now-u.last >= q.window {
		u.count = 0
	}
	if u.count == 0 {
		s.touch(id, u)
	}
	left := u.last + q.window - s.now
	if u.count >= q.max {
		return verdict{full: left, next: left}
	}
	u.count++
	return verdict{admitted: true, remaining: q.max - u.count, full: left}
}

// fromBucket admits a request if n tokens are available. In each window, as many tokens as the limit
// says are added one after the other, and the bucket holds at most that many. The calculation uses
// integers, so no token is ever early.
func (q *quotas) fromBucket(s *shard, id uint32, u *quota, n int) verdict {
	window, most := uint64(q.window), uint64(q.max)
	tokens := most
	if since := uint64(s.now - u.last); since < window {
		high, low := bits.Mul64(since, most)
		low, carry := bits.Add64(low, u.rest, 0)
		var filled uint64
		filled, u.rest = bits.Div64(high+carry, low, window)
		tokens = uint64(u.count) + filled
	}
	if tokens >= most {
		tokens, u.rest = most, 0
	}
	s.touch(id, u)
	v := verdict{admitted: int64(tokens) >= int64(n)}
	if v.admitted {
		if tokens = uint64(int64(tokens) - int64(n)); tokens >= most {
			tokens, u.rest = most, 0
		}
	} else {
		v.next = q.filling(max(min(uint64(n), most), tokens)-tokens, u.rest)
	}
	u.count = uint32(tokens)
	v.remaining = u.count
	v.full = q.filling(most-tokens, u.rest)
	return v
}

// filling returns how long a bucket takes to fill with so many tokens, of the first of which it has a part.
func (q *quotas) filling(tokens, part uint64) int64 {
	if tokens == 0 {
		return 0
	}
	high, low := bits.Mul64(tokens, uint64(q.window))
	low, borrow := bits.Sub64(low, part, 0)
	takes, rest := bits.Div64(high-borrow, low, uint64(q.max))
	if rest > 0 {
		takes++
	}
	return int64(takes)
}
