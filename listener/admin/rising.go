package admin

// rising keeps the counters of one line from falling. A line of several endpoints would
// when a reload removes one of them, and Prometheus would take it for a restart: all
// that the others had counted for requests that came just now.
type rising struct {
	plain     []floor // as those of the line
	statuses  map[int]*floor
	faults    map[string]*floor
	histogram [3]risingLengths
}

// floor is a number that does not fall.
type floor struct{ last, lost uint64 }

// raise is what stands for a count: it, and what was lost of it before.
func (f *floor) raise(n uint64) uint64 {
	n += f.lost
	if n < f.last {
		f.lost += f.last - n
		n = f.last
	}
	f.last = n
	return n
}

// risingLengths is a histogram that does not fall, nor has more in a bucket than in a
// wider one.
type risingLengths struct {
	sum   floor   // in nanoseconds
	parts []floor // what is in each bucket and not in the one before; the last has what is in none
}

func (r *risingLengths) raise(l *lengths, buckets int) {
	if l.count == 0 && r.parts == nil {
		return
	}
	if r.parts == nil {
		r.parts = make([]floor, buckets+1)
	}
	if l.buckets == nil {
		l.buckets = make([]uint64, buckets)
	}
	var before, raised uint64
	for i, n := range l.buckets {
		raised += r.parts[i].raise(n - before)
		before, l.buckets[i] = n, raised
	}
	l.count = raised + r.parts[buckets].raise(l.count-before)
	l.sum = r.sum.raise(l.sum)
}

// raiseEach raises the counts of a map, those too that are in it no more.
func raiseEach[K comparable](floors map[K]*floor, counts map[K]uint64) {
	for key := range counts {
		if floors[key] == nil {
			floors[key] = &floor{}
		}
	}
	for key, f := range floors {
		counts[key] = f.raise(counts[key])
	}
}

// raise keeps a line from falling below what it was when it was raised last.
func (r *rising) raise(l *line) {
	plain := l.plain()
	if r.statuses == nil {
		*r = rising{plain: make([]floor, len(plain)), statuses: map[int]*floor{}, faults: map[string]*floor{}}
	}
	for i, n := range plain {
		*n = r.plain[i].raise(*n)
	}
	raiseEach(r.statuses, l.statuses)
	raiseEach(r.faults, l.faults)
	r.histogram[0].raise(&l.service, len(serviceBuckets))
	r.histogram[1].raise(&l.injected, len(injectedBuckets))
	r.histogram[2].raise(&l.late, len(serviceBuckets))
}

// rise keeps lines from falling. One that is gone begins anew when it comes back, except
// for that of the others, which stays: so what is remembered is bounded as the lines are.
func (c *collector) rise(lines map[[3]string]*line) {
	others := [3]string{otherEndpoints, "", ""}
	if c.written[others] != nil && lines[others] == nil {
		lines[others] = newLine(others)
	}
	written := make(map[[3]string]*rising, len(lines))
	for labels, l := range lines {
		r := c.written[labels]
		if r == nil {
			r = &rising{}
		}
		r.raise(l)
		written[labels] = r
	}
	c.written = written
}
