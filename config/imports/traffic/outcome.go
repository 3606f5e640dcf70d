package traffic

import (
	"cmp"
	"fmt"
	"slices"
)

// outcome is one of the responses of an endpoint, with the records in which it occurred.
type outcome struct {
	status  int16
	cut     bool
	records []*record
}

// keyed contains the records of one key, and the index of one of them.
type keyed struct {
	index   int
	records []*record
}

// outcomeID identifies an outcome.
type outcomeID struct {
	status int16
	cut    bool
}

// part is the set of keys whose usual answers have the same status.
type part struct {
	id    outcomeID
	keys  []keyed
	all   []*outcome // nil until outcomes returns them
	total int
}

// settled returns the most frequent outcome, or the first of several that are equally frequent.
func settled(records []*record) outcomeID {
	counts := map[outcomeID]int{}
	most := outcomeID{}
	for _, r := range records {
		id := outcomeID{r.status, r.cut}
		counts[id]++
	}
	for _, r := range records {
		if id := (outcomeID{r.status, r.cut}); counts[id] > counts[most] {
			most = id
		}
	}
	return most
}

// name returns the name of the part in rows.
func (p *part) name() string {
	if p.id.cut {
		return fmt.Sprintf("%d-cut", p.id.status)
	}
	return fmt.Sprint(p.id.status)
}

// outcomes returns the outcomes of the keys, the most frequent first, and the number of records.
func (p *part) outcomes() (all []*outcome, total int) {
	if p.all != nil {
		return p.all, p.total
	}
	byID := map[outcomeID]*outcome{}
	for _, k := range p.keys {
		for _, r := range k.records {
			id := outcomeID{r.status, r.cut}
			if byID[id] == nil {
				byID[id] = &outcome{status: r.status, cut: r.cut}
				p.all = append(p.all, byID[id])
			}
			byID[id].records = append(byID[id].records, r)
			p.total++
		}
	}
	slices.SortStableFunc(p.all, func(a, b *outcome) int { return cmp.Compare(len(b.records), len(a.records)) })
	return p.all, p.total
}
