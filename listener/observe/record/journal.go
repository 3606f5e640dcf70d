package record

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// JournalOptions selects which requests the journal keeps.
type JournalOptions struct {
	// Sample is the sampling interval of ordinary requests: n keeps one in n requests, 1 keeps all,
	// and 0 keeps none. The journal always keeps requests that were answered with status 500 or
	// above, with an error of the server itself or with a fault, requests that no endpoint matched,
	// and the slowest requests.
	Sample int
	Bytes  int // how much memory the requests may take; 0 means 16 MiB
	// Slowest is how many of the slowest requests are kept; 0 means 100, and a negative number
	// means none.
	Slowest int
}

// Kept is the reason why the journal contains a request.
type Kept string

// The reasons. Each has its own share of the memory, so that a flood of one kind does not push out
// the other kinds.
const (
	Sampled   Kept = "sample"
	Failed    Kept = "error" // answered with status 500 or above, with an error of the server itself, or with a fault
	Unmatched Kept = "unmatched"
	Slow      Kept = "slow" // one of the slowest by server time
)

const (
	defaultJournalBytes = 16 << 20
	defaultSlowest      = 100
)

// Journal keeps requests in bounded memory: new requests replace old ones.
type Journal struct {
	// Every request reads the next two fields.
	sample    uint64
	threshold atomic.Int64 // slower requests belong to the slowest; 0 until their list is full
	_         [128]byte    // keeps the following fields out of their cache line

	settling sync.Mutex // held while requests passed to AddFixed are parsed; locked before mu

	mu        sync.Mutex // guards the fields below
	fixed     []FixedRequest
	last      uint64 // ID
	sampled   ring
	failed    ring
	unmatched ring
	slow      slowest
	stats     JournalStats
}

// JournalStats contains how many requests the journal has received and how many it has dropped.
type JournalStats struct {
	Seen    map[Kept]uint64
	Dropped map[Kept]uint64
	Bytes   int // memory used by the remaining requests
}

func newJournal(o JournalOptions) *Journal {
	o.Bytes = cmp.Or(o.Bytes, defaultJournalBytes)
	j := &Journal{sample: uint64(max(o.Sample, 0))}
	slowest := max(cmp.Or(o.Slowest, defaultSlowest), 0)
	// The slowest requests are few and of bounded size; all other requests share the rest of the
	// memory.
	rest := max(o.Bytes-slowest*largestExchange, o.Bytes/2)
	j.sampled.room, j.failed.room, j.unmatched.room = rest/3, rest/3, rest/3
	j.slow.most = min(slowest, (o.Bytes-rest)/largestExchange)
	j.Reset()
	return j
}

// ring holds exchanges of one kind, the oldest first.
type ring struct {
	room, bytes int
	all         []*Exchange // valid from index first on
	first       int
}

// put adds x, and calls leave for the exchanges that make room for x.
func (r *ring) put(x *Exchange, leave func(*Exchange)) {
	r.all = append(r.all, x)
	r.bytes += x.size()
	for r.bytes > r.room && r.first < len(r.all) {
		gone := r.all[r.first]
		r.all[r.first] = nil
		r.first++
		r.bytes -= gone.size()
		leave(gone)
	}
	if r.first > len(r.all)/2 {
		r.all = append(make([]*Exchange, 0, len(r.all)-r.first), r.all[r.first:]...)
		r.first = 0
	}
}

// slowest holds the slowest exchanges, the fastest of them first.
type slowest struct {
	most, bytes int
	all         []*Exchange
}

// put adds x if it is one of the slowest, and calls leave for the exchange that makes room for x,
// or for x itself if x is too fast.
func (s *slowest) put(x *Exchange, leave func(*Exchange)) {
	at, _ := slices.BinarySearchFunc(s.all, x, func(a, b *Exchange) int { return cmp.Compare(a.own(), b.own()) })
	s.all = slices.Insert(s.all, at, x)
	s.bytes += x.size()
	if len(s.all) > s.most {
		gone := s.all[0]
		s.all = slices.Delete(s.all, 0, 1)
		s.bytes -= gone.size()
		leave(gone)
	}
}

// wants reports whether and why a request is kept, and whether it is one of the slowest. nth is the
// number of the request among those with the same endpoint and status; the first one is sampled.
func (j *Journal) wants(remark Kept, nth uint64, own time.Duration) (kept Kept, slow, ok bool) {
	slow = remark == "" && int64(own) > j.threshold.Load()
	switch {
	case remark != "":
		return remark, false, true
	case j.sample > 0 && (nth-1)%j.sample == 0:
		return Sampled, slow, true
	}
	return Slow, slow, slow
}

// put adds an exchange after the requests passed to AddFixed so far.
func (j *Journal) put(x *Exchange, slow bool) {
	j.Settle()
	j.place(x, slow)
}

// place adds an exchange, which must not change any more. An exchange that is both sampled and slow
// is in two places, and stays until it has left both.
func (j *Journal) place(x *Exchange, slow bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last++
	x.ID = j.last
	j.stats.Seen[x.Kept]++
	into := j.ring(x.Kept)
	if into != nil {
		x.places++
	}
	if slow {
		x.places++
		j.slow.put(x, j.leave)
		if n := len(j.slow.all); n > 0 && n == j.slow.most {
			j.threshold.Store(int64(j.slow.all[0].own()))
		}
	}
	if into != nil {
		into.put(x, j.leave)
	}
}

// ring returns the ring for a reason, or nil for requests that only the list of the slowest keeps.
func (j *Journal) ring(kept Kept) *ring {
	switch kept {
	case Failed:
		return &j.failed
	case Unmatched:
		return &j.unmatched
	case Sampled:
		return &j.sampled
	}
	return nil
}

// leave removes an exchange from one place, and counts it as dropped once it has left all of them.
func (j *Journal) leave(x *Exchange) {
	if x.places--; x.places == 0 {
		j.stats.Dropped[x.Kept]++
	}
}

// Reset removes all requests.
func (j *Journal) Reset() {
	j.Settle()
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range []*ring{&j.sampled, &j.failed, &j.unmatched} {
		*r = ring{room: r.room}
	}
	j.slow = slowest{most: j.slow.most}
	threshold := int64(0)
	if j.slow.most == 0 {
		threshold = math.MaxInt64
	}
	j.threshold.Store(threshold)
	j.stats = JournalStats{Seen: map[Kept]uint64{}, Dropped: map[Kept]uint64{}}
}

// All returns every exchange, the newest first. The exchanges do not change any more.
func (j *Journal) All() []*Exchange {
	j.Settle()
	j.mu.Lock()
	list := make([]*Exchange, 0, len(j.slow.all))
	for _, x := range j.slow.all {
		if x.Kept != Slow { // it is also in a ring
			slow := *x
			slow.Kept = Slow
			x = &slow
		}
		list = append(list, x)
	}
	list = slices.Concat(list, j.sampled.all[j.sampled.first:], j.failed.all[j.failed.first:], j.unmatched.all[j.unmatched.first:])
	j.mu.Unlock()
	slices.SortStableFunc(list, func(a, b *Exchange) int { return cmp.Compare(b.ID, a.ID) })
	return slices.CompactFunc(list, func(a, b *Exchange) bool { return a.ID == b.ID })
}

// Stats returns how many requests the journal has received and dropped, and how much memory the
// remaining requests use.
func (j *Journal) Stats() JournalStats {
	j.Settle()
	j.mu.Lock()
	defer j.mu.Unlock()
	return JournalStats{
		Seen: maps.Clone(j.stats.Seen), Dropped: maps.Clone(j.stats.Dropped),
		Bytes: j.sampled.bytes + j.failed.bytes + j.unmatched.bytes + j.slow.bytes,
	}
}

// missing returns the reason why the journal does not contain every request, or "" if it does.
func (j *Journal) missing() string {
	t := j.Stats()
	switch {
	case j.sample != 1:
		return "the journal keeps only a sample of successful requests; see --journal-sample"
	case len(t.Dropped) > 0:
		return "the journal is full, and has dropped requests"
	}
	return ""
}
