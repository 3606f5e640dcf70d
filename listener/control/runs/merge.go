package runs

import (
	"cmp"
	"slices"
	"time"

	"mockserver/internal/histogram"
	"mockserver/internal/list"
	"mockserver/listener/observe/record"
	"mockserver/listener/observe/verdict"
)

// Report returns the report on a run of one server.
func (t *Totals) Report() *Report {
	r := reportOf([]*Totals{t})
	r.ID, r.Name, r.Running, r.Begin, r.End, r.Final = t.ID, t.Name, t.Running, t.Begin, t.End, t.Final
	r.Verdict = t.Verdict
	return r
}

// reportOf returns the report on the sum of the totals of one or more replicas, without a verdict.
func reportOf(parts []*Totals) *Report {
	times := make([]*verdict.Times[histogram.Snapshot], len(parts))
	all, weights := make([]Dependences, len(parts)), make([]uint64, len(parts))
	for i, t := range parts {
		times[i], all[i], weights[i] = &t.Times, t.Dependences, t.Sample.Requests
	}
	sum := verdict.SumOf(times)
	joint := merged(all, weights)
	total := wholeOf(sampleOf(parts), &sum, joint)
	report := &Report{
		Form: 2, Program: parts[0].Program, Machine: parts[0].Machine, Configuration: parts[0].Configuration,
		Total: total, Dependences: joint, Endpoints: []EndpointReport{}, Timeline: thinned(timelineOf(parts), pointsKept), State: stateOf(parts),
	}
	for _, t := range parts[1:] {
		verdict.Merge(&report.Program, &t.Program)
		verdict.Merge(&report.Machine, &t.Machine)
		verdict.Merge(&report.Configuration, &t.Configuration)
	}
	report.Arrivals = arrivalsOf(parts, &report.Total, &sum, report.Timeline)
	busiest := endpointsOf(parts, total.Seconds)
	report.Endpoints = append(report.Endpoints, busiest[:min(len(busiest), endpointsReported)]...)
	report.OtherEndpoints = len(busiest) - len(report.Endpoints)
	report.Percentiles.Times = verdict.TimesAs(&sum, percentilesOf)
	report.Unmatched, report.OtherUnmatched = unmatchedOf(parts)
	return report
}

// sampleOf returns the run as one sample. Counts, and the resources that processes use, are added
// up. For a figure that describes a machine or a runtime, the largest value of all parts is taken.
func sampleOf(parts []*Totals) verdict.Sample {
	s := parts[0].Sample
	for _, t := range parts[1:] {
		verdict.Merge(&s, &t.Sample)
	}
	if len(parts) > 1 && s.Seconds > 0 {
		s.Rate, s.ArrivalRate = float64(s.Requests)/s.Seconds, float64(s.Arrivals)/s.Seconds
	}
	return s
}

// endpointsOf returns the endpoints of all parts, the busiest first.
func endpointsOf(parts []*Totals, seconds float64) []EndpointReport {
	found := map[string][]*EndpointTotals{}
	var order []string
	for _, t := range parts {
		for i := range t.Endpoints {
			e := &t.Endpoints[i]
			if found[e.ID] == nil {
				order = append(order, e.ID)
			}
			found[e.ID] = append(found[e.ID], e)
		}
	}
	list := make([]EndpointReport, 0, len(order))
	for _, id := range order {
		same := found[id]
		counts := make([]*record.EndpointCounts, len(same))
		all, weights := make([]Dependences, len(same)), make([]uint64, len(same))
		for i, e := range same {
			counts[i], all[i], weights[i] = &e.EndpointCounts, e.Dependences, e.Requests
		}
		sum := record.Total(counts)
		e := endpointReport(&sum, seconds, merged(all, weights))
		e.ID, e.Endpoint, e.Host, e.If, e.Declared, e.Declaration = id, same[0].Endpoint, same[0].Host, same[0].If, same[0].Declared, same[0].Declaration
		e.DeclaredFirst, e.DeclaredGap = same[0].DeclaredFirst, same[0].DeclaredGap
		e.compareDeclared()
		list = append(list, e)
	}
	slices.SortStableFunc(list, func(a, b EndpointReport) int { return cmp.Compare(b.Requests, a.Requests) })
	return list
}

// unmatchedOf returns the unmatched requests of all parts, the most frequent first.
func unmatchedOf(parts []*Totals) (most []UnmatchedReport, others int) {
	var all []UnmatchedReport
	for _, t := range parts {
		others += t.OtherUnmatched
		all = append(all, t.Unmatched...)
	}
	shown, more := mostFrequent(list.Merge(all,
		func(u *UnmatchedReport) unmatchedKind { return unmatchedKind{u.Method, u.Host, u.Path} },
		func(into, u *UnmatchedReport) { into.Count += u.Count }))
	return shown, others + more
}

// stateOf returns the sets of all parts: the sum of their changes, and the largest number of rows
// that a part has. Each replica has its own rows.
func stateOf(parts []*Totals) []record.SetCounts {
	var all []record.SetCounts
	for _, t := range parts {
		all = append(all, t.State...)
	}
	return list.Merge(all, func(s *record.SetCounts) string { return s.Name }, (*record.SetCounts).Merge)
}

// timelineOf returns the points of all parts together. The points of a single part stay unchanged.
func timelineOf(parts []*Totals) []Point {
	if len(parts) == 1 {
		return append([]Point{}, parts[0].Timeline...)
	}
	each, end := verdict.Every.Seconds(), 0.0
	for _, t := range parts {
		for i := range t.Timeline {
			p := &t.Timeline[i]
			each, end = max(each, min(p.Seconds, float64(time.Hour/time.Second))), max(end, p.At)
		}
	}
	each = max(float64(int(each+0.5)), verdict.Every.Seconds()) // a sample is a little longer or shorter than a second
	merged := []Point{}
	rest := list.Map(parts, func(t *Totals) []Point { return t.Timeline })
	for from := 0.0; from < end && len(merged) < 4*pointsKept; from += each {
		to := min(from+each, end)
		slot := Point{At: to, Seconds: to - from, Trusted: true}
		for i := range rest {
			var p Point
			if p, rest[i] = within(rest[i], from, to); p.Seconds > 0 {
				slot.add(&p)
			}
		}
		merged = append(merged, slot)
	}
	return merged
}

// within returns the points of one replica in a period, as one point, and the points that end
// later. A point that is only partly in the period counts for that part.
func within(points []Point, from, to float64) (Point, []Point) {
	var all Point
	for i := 0; ; i++ {
		if i == len(points) || points[i].At-points[i].Seconds >= to {
			return all, points[i:]
		}
		p := points[i]
		overlap := min(p.At, to) - max(p.At-p.Seconds, from)
		if overlap > 0 {
			if p.Throttled != nil {
				p.Throttled = new(*p.Throttled * overlap / p.Seconds)
			}
			if p.Seconds = overlap; all.Seconds > 0 {
				p = all.join(p)
			}
			all = p
		}
		if points[i].At > to {
			return all, points[i:]
		}
	}
}

// add adds the figures of another replica for the period of p or a part of it.
func (p *Point) add(q *Point) {
	p.combine(q, func(a, b float64) float64 { return a + b*q.Seconds/p.Seconds }, func(a, b float64) float64 { return a + b })
	p.Trusted = p.Trusted && q.Trusted
	p.Throttled = cmp.Or(verdict.Combine(p.Throttled, q.Throttled, "sum"), p.Throttled, q.Throttled)
}

// Follow appends points that were read later to those of a replica. The replica may have joined
// points in between, so a later point replaces the points that begin at or after its beginning.
func Follow(points, later []Point) []Point {
	for _, p := range later {
		for n := len(points); n > 0 && points[n-1].At-points[n-1].Seconds >= p.At-p.Seconds-0.001; n-- {
			points = points[:n-1]
		}
		points = append(points, p)
	}
	for len(points) > 2*pointsKept {
		points = thinned(points, 2*pointsKept)
	}
	return points
}
