package runs

import (
	"slices"
	"time"

	"mockserver/internal/histogram"
	"mockserver/internal/list"
	"mockserver/internal/statistics"
	"mockserver/listener/observe/record"
	"mockserver/listener/observe/verdict"
)

const (
	// blocksKept is the maximum number of blocks of a run; if there are more, they are joined in
	// pairs. A block of 50 endpoints takes at most 60 KB.
	blocksKept = 64
	// endpointsInBlock is how many endpoints are part of a block: the busiest ones. The others
	// count as dependent as all requests together.
	endpointsInBlock = 50
)

// block is what happened in a second of a run, or in several seconds. Blocks show whether values
// depend on each other: if so, they differ by more than chance explains.
type block struct {
	seconds   float64
	all       portion
	endpoints map[string]*portion
	others    bool // there may have been requests to other endpoints
}

// portion is what happened in a block, to all requests or to those of one endpoint.
type portion struct {
	requests uint64
	failed   uint64
	times    verdict.Times[histogram.Snapshot] // coarse
}

func coarse(times *verdict.Times[histogram.Snapshot]) verdict.Times[histogram.Snapshot] {
	return verdict.TimesAs(times, histogram.Snapshot.Coarse)
}

// blockOf returns the block between two readings, of which s is the sample.
func blockOf(before, after *verdict.Reading, s *verdict.Sample) block {
	times := s.Distributions()
	b := block{seconds: s.Seconds, all: portion{s.Requests, s.Failed.All, coarse(&times)}, endpoints: map[string]*portion{}}
	for _, c := range record.Busiest(&before.Counts, &after.Counts, endpointsInBlock) {
		times := verdict.TimesOf(&c)
		b.endpoints[c.ID] = &portion{c.Requests, verdict.FailedOf(&c).All, coarse(&times)}
	}
	b.others = len(b.endpoints) == endpointsInBlock
	return b
}

// join returns two blocks that follow each other as one.
func (a *block) join(b *block) block {
	joined := block{a.seconds + b.seconds, a.all.join(&b.all), map[string]*portion{}, a.others || b.others}
	for id, p := range a.endpoints {
		joined.endpoints[id] = new(p.join(b.endpoints[id]))
	}
	for id, q := range b.endpoints {
		if a.endpoints[id] == nil {
			joined.endpoints[id] = q
		}
	}
	return joined
}

func (p *portion) join(q *portion) portion {
	if q == nil {
		return *p
	}
	joined := portion{requests: p.requests + q.requests, failed: p.failed + q.failed}
	joined.times = verdict.SumOf([]*verdict.Times[histogram.Snapshot]{&p.times, &q.times})
	return joined
}

// blocks contains the blocks of a run, all but the last of which cover the same number of seconds.
type blocks struct {
	all  []block
	each float64
}

// put adds a second. If there are too many blocks, they are joined in pairs; from then on each
// covers twice as many seconds.
func (b blocks) put(second block) blocks {
	if n := len(b.all); n > 0 && b.all[n-1].seconds+second.seconds/2 < b.each {
		b.all[n-1] = b.all[n-1].join(&second)
		return b
	}
	b.each = max(b.each, verdict.Every.Seconds())
	if b.all = append(b.all, second); len(b.all) <= blocksKept {
		return b
	}
	return blocks{inPairs(b.all, (*block).join), 2 * b.each}
}

// dependences returns how much the values of all requests, or of those of an endpoint, depend on
// each other. The distributions are those of the whole run.
func (b blocks) dependences(id string, times *verdict.Times[histogram.Snapshot]) Dependences {
	parts := make([]*portion, len(b.all))
	for i := range b.all {
		b := &b.all[i]
		if parts[i] = b.endpoints[id]; id == "" {
			parts[i] = &b.all
		} else if parts[i] == nil {
			parts[i] = new(portion)
		}
	}
	found := Dependences{}
	put := func(name string, d statistics.Dependence) {
		if d.Blocks > 0 {
			found[name] = d
		}
	}
	counted := make([]statistics.Block, len(parts))
	// An endpoint that is not in a block had either no requests then or fewer than others.
	unknown := id != "" && slices.ContainsFunc(b.all, func(b block) bool { return b.others })
	for i, p := range parts {
		if unknown {
			p = &b.all[i].all
		}
		counted[i] = statistics.Block{All: b.all[i].seconds, Counted: float64(p.requests)}
	}
	put("rate", statistics.Counts(counted))
	for i, p := range parts {
		counted[i] = statistics.Block{All: float64(p.requests), Counted: float64(min(p.failed, p.requests))}
	}
	put("failed", statistics.Shares(counted))
	for t, whole := range times.All() {
		if whole.Count == 0 {
			continue
		}
		limits := make([]time.Duration, len(percentiles))
		for i := range limits {
			limits[i] = whole.Quantile(percentiles[i].q)
		}
		counts := list.Map(parts, func(p *portion) []uint64 { return p.times.All()[t].Buckets(limits) })
		for q := range percentiles {
			for i, p := range parts {
				counted[i] = statistics.Block{All: float64(p.times.All()[t].Count), Counted: float64(counts[i][q])}
			}
			put(distributions[t].name+"_"+percentiles[q].name, statistics.Shares(counted))
		}
	}
	return found
}
