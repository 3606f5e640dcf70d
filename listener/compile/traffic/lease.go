package traffic

import (
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"mockserver/listener/memory/shared"
)

// sharedQuotas are the quotas of a limit that all replicas share. A replica leases slices of the
// quota of each key, and admits requests from its slice without asking the shared state. Any part
// of a slice that is not used within sliceFor is either given back or lost to all replicas, so
// together they never admit more than the limit.
type sharedQuotas struct {
	state       *shared.State
	algorithm   string
	max, window int64                  // window is in nanoseconds
	local       atomic.Pointer[quotas] // the quotas of the local share; nil before they are needed
	shards      [quotaShards]leaseShard
}

// leaseShard holds a part of the keys. Leases that were not used between two turnovers are
// forgotten: the shared state has everything that matters about them.
type leaseShard struct {
	mu          sync.Mutex // guards the fields below
	now, before map[quotaKey]*lease
	turned      int64 // when now became before
}

// lease is the part of the quota of a key that this replica has, and what it knows about the rest.
// Times are Unix times, in nanoseconds.
type lease struct {
	waiting atomic.Int64 // number of requests that wait for mu or hold it

	mu        sync.Mutex // guards the fields below
	cell      shared.Cell
	have      int64 // requests that may be admitted
	until     int64 // they may be admitted before this time
	requested int64 // when this replica asked last
	ask       int64 // if nothing was left, do not ask again before this time
	left      int64 // what all replicas had left when this one asked last
	full      int64 // when the whole limit is available again
	next      int64 // when a request is admitted again, if nothing was left
	back      *time.Timer
}

// The numbers in a shared value. A bucket has the time of its last filling, its tokens, and the
// rest of a token as in quota.rest; a window has its beginning and its number of requests.
const (
	valueAt = iota
	valueCount
	valueRest
)

const (
	sliceFor = time.Second
	// sliceParts is the number of slices into which a replica's part of the remaining quota is
	// divided.
	sliceParts = 4
	// askAgain is how long a replica waits before it asks again for a key whose quota was used up,
	// since other replicas may give some back. If a token is due sooner, the wait is askSoon.
	askAgain = 50 * time.Millisecond
	askSoon  = time.Millisecond
	// shardLeases is the number of leases that a shard adds before it forgets older ones.
	shardLeases = 1 << 14
)

func newSharedQuotas(state *shared.State, algorithm string, most, window int64) *sharedQuotas {
	return &sharedQuotas{state: state, algorithm: algorithm, max: most, window: window}
}

// count counts a request at a Unix time in nanoseconds.
func (q *sharedQuotas) count(key quotaKey, now int64) verdict {
	e := q.lease(key, now)
	e.waiting.Add(1)
	e.mu.Lock()
	defer e.mu.Unlock()
	defer e.waiting.Add(-1)
	if e.requested-now > int64(sliceFor) { // the clock was set back, so all other times are wrong
		e.have, e.ask = 0, 0
	}
	if (e.have == 0 || now >= e.until) && now >= e.ask && q.take(e, now) != nil {
		return q.countLocally(key, now)
	}
	v := verdict{full: max(e.full-now, 0)}
	if v.admitted = e.have > 0 && now < e.until; v.admitted {
		e.have--
		v.remaining = uint32(e.have + e.left)
	} else {
		v.next = max(e.next-now, 1)
	}
	return v
}

// lease returns the lease of a key.
func (q *sharedQuotas) lease(key quotaKey, now int64) *lease {
	s := &q.shards[binary.LittleEndian.Uint64(key[:])%quotaShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil || len(s.now) >= shardLeases || now-s.turned >= max(q.window, int64(sliceFor)) {
		s.before, s.now, s.turned = s.now, map[quotaKey]*lease{}, now
	}
	e := s.now[key]
	if e == nil {
		if e = s.before[key]; e == nil {
			e = &lease{cell: shared.Cell{Key: hex.EncodeToString(key[:])}}
		}
		s.now[key] = e
	}
	return e
}

// take leases a slice. The caller must hold the lock of the lease.
func (q *sharedQuotas) take(e *lease, now int64) error {
	var slice int64
	e.have, e.requested = 0, now
	err := q.state.Change(&e.cell, q.keep(), func(v shared.Value) (shared.Value, bool) {
		ahead := v[valueAt] > now
		v = q.at(v, now)
		left := q.left(v)
		slice = min(left, max(e.waiting.Load(), left/(sliceParts*q.state.Replicas())))
		if q.isBucket() {
			v[valueCount] -= slice
		} else {
			v[valueCount] += slice
		}
		return v, slice > 0 || ahead
	})
	if err != nil {
		return err
	}
	v := q.at(e.cell.Value, now)
	e.have, e.left, e.ask = slice, q.left(v), 0
	if q.isBucket() {
		e.full, e.next = now+q.untilFull(v), now+q.untilToken(v)
		// Once the bucket is full, tokens leased out of it would exceed the limit.
		e.until = max(min(e.full, now+int64(sliceFor)), now+1)
	} else {
		e.until = v[valueAt] + q.window
		e.full, e.next = e.until, e.until
		e.giveBackLater(q)
	}
	if slice == 0 {
		e.ask = now + min(max(e.next-now, int64(askSoon)), int64(askAgain))
	}
	return nil
}

func (q *sharedQuotas) isBucket() bool { return q.algorithm == "token-bucket" }

// keep returns how long the state must remember a value: the clocks of replicas may differ.
func (q *sharedQuotas) keep() time.Duration { return time.Duration(2*q.window) + 2*time.Second }

// at returns a value as it is at a time: with the tokens added since, or reset for a new window. A
// value from a replica whose clock is, or was, ahead becomes one of this time, so that it lasts no
// longer than a window.
func (q *sharedQuotas) at(v shared.Value, now int64) shared.Value {
	v[valueCount] = min(max(v[valueCount], 0), q.max) // another program may have written it
	v[valueRest] = min(max(v[valueRest], 0), q.window-1)
	since := now - v[valueAt]
	switch {
	case !q.isBucket() && since >= q.window:
		return shared.Value{now}
	case q.isBucket() && since >= q.window:
		return shared.Value{now, q.max}
	case since < 0:
		v[valueAt] = now
	case q.isBucket() && since > 0:
		high, low := bits.Mul64(uint64(since), uint64(q.max))
		low, carry := bits.Add64(low, uint64(v[valueRest]), 0)
		filled, rest := bits.Div64(high+carry, low, uint64(q.window))
		v = shared.Value{now, v[valueCount] + int64(filled), int64(rest)}
		if v[valueCount] >= q.max {
			v[valueCount], v[valueRest] = q.max, 0
		}
	}
	return v
}

// left returns how many more requests a value allows.
func (q *sharedQuotas) left(v shared.Value) int64 {
	if q.isBucket() {
		return v[valueCount]
	}
	return max(q.max-v[valueCount], 0)
}

// untilToken returns in how many nanoseconds a bucket gets its next token.
func (q *sharedQuotas) untilToken(v shared.Value) int64 {
	return (q.window - v[valueRest] + q.max - 1) / q.max
}

// untilFull returns in how many nanoseconds a bucket is full, rounded down.
func (q *sharedQuotas) untilFull(v shared.Value) int64 {
	if v[valueCount] == q.max {
		return 0
	}
	high, low := bits.Mul64(uint64(q.max-v[valueCount]), uint64(q.window))
	low, borrow := bits.Sub64(low, uint64(v[valueRest]), 0)
	full, _ := bits.Div64(high-borrow, low, uint64(q.max))
	return int64(full)
}

// giveBackLater gives back what is left of the slice of a window once no slice has been taken for
// sliceFor. The caller must hold the lock of the lease.
func (e *lease) giveBackLater(q *sharedQuotas) {
	switch {
	case e.have < 2: // the request that asked takes the only one
	case e.back == nil:
		e.back = time.AfterFunc(sliceFor, func() { q.giveBack(e) })
	default:
		e.back.Reset(sliceFor)
	}
}

func (q *sharedQuotas) giveBack(e *lease) {
	e.mu.Lock()
	slice, begun := e.have, e.cell.Value[valueAt]
	cell := e.cell
	e.have = 0
	e.mu.Unlock()
	if slice == 0 {
		return
	}
	_ = q.state.Change(&cell, q.keep(), func(v shared.Value) (shared.Value, bool) { // lost if it fails
		v[valueCount] -= slice
		return v, v[valueAt] == begun
	})
}

// countLocally counts a request against this replica's share of the limit.
func (q *sharedQuotas) countLocally(key quotaKey, now int64) verdict {
	q.state.CountLocal()
	share := uint32(max(q.max/q.state.Replicas(), 1))
	local := q.local.Load()
	if local == nil || local.max != share {
		fresh := newQuotas(q.algorithm, share, q.window)
		if !q.local.CompareAndSwap(local, fresh) {
			fresh = q.local.Load()
		}
		local = fresh
	}
	return local.count(key, now)
}
