package traffic

// A log contains the times of the requests in the current window, the oldest first. It is exact,
// whereas counting by half windows would admit a few requests too many. It is a chain of chunks in
// the memory of a shard. It contains no pointers, so the garbage collector has nothing to scan,
// however many keys there are.

// chunk is a part of a log.
type chunk struct {
	at   [chunkStamps]uint32 // low bits of ticks
	next uint32              // 0 if none
}

const (
	chunkStamps = 7
	// chunkPage is the number of chunks that are allocated at once, and quotaPage the number of
	// quotas.
	chunkPage = 64
	quotaPage = 32
)

// pages holds values that are identified by number, from 1 on. They are allocated a page at a time,
// and never move.
type pages[T any] struct {
	size  int // size of a page
	pages [][]T
	used  int
	free  []uint32
}

// take returns the number of an unused value, which still has its previous content.
func (p *pages[T]) take() uint32 {
	if n := len(p.free); n > 0 {
		id := p.free[n-1]
		p.free = p.free[:n-1]
		return id
	}
	if p.used == len(p.pages)*p.size {
		p.pages = append(p.pages, make([]T, p.size))
	}
	p.used++
	return uint32(p.used)
}

func (p *pages[T]) give(id uint32) { p.free = append(p.free, id) }

func (p *pages[T]) get(id uint32) *T {
	i := int(id) - 1
	return &p.pages[i/p.size][i%p.size]
}

// push adds a stamp to the log of q.
func (s *shard) push(q *quota, stamp uint32) {
	if q.tail == 0 || q.end == chunkStamps {
		id := s.chunks.take()
		s.chunks.get(id).next = 0
		s.held.Add(1)
		if q.tail == 0 {
			q.head, q.begin = id, 0
		} else {
			s.chunks.get(q.tail).next = id
		}
		q.tail, q.end = id, 0
	}
	s.chunks.get(q.tail).at[q.end] = stamp
	q.end++
	q.count++
}

// oldest returns the first stamp of a log that is not empty.
func (s *shard) oldest(q *quota) uint32 { return s.chunks.get(q.head).at[q.begin] }

// pop removes the oldest stamp from a log that is not empty.
func (s *shard) pop(q *quota) {
	q.begin++
	q.count--
	if q.begin < chunkStamps && q.count > 0 {
		return
	}
	id := q.head
	q.head, q.begin = s.chunks.get(id).next, 0
	if q.count == 0 {
		q.head, q.tail, q.end = 0, 0, 0
	}
	s.chunks.give(id)
	s.held.Add(-1)
}

// forget empties the log of q.
func (s *shard) forget(q *quota) {
	for q.head != 0 {
		next := s.chunks.get(q.head).next
		s.chunks.give(q.head)
		s.held.Add(-1)
		q.head = next
	}
	q.tail, q.begin, q.end, q.count = 0, 0, 0, 0
}
