package traffic

import (
	"cmp"
	"fmt"
	"slices"
)

// result is how an exchange ended.
type result struct {
	status int16
	cut    bool // the body was cut off
	stream bool // it has pieces
}

// outcome is one of the responses of an endpoint, with the records in which it occurred.
type outcome struct {
	result
	records []*record
}

// keyed contains the records of one key, and the index of the first of them.
type keyed struct {
	index   int
	records []*record
	part    *part // nil if the key has an endpoint of its own
}

// part is the set of keys whose usual results are the same.
type part struct {
	id   result
	keys []*keyed
	all  []*outcome // the most frequent first; nil until outcomes returns them
}

// settled returns the most frequent result, or the first of several that are equally frequent.
func settled(records []*record) (most result) {
	counts := map[result]int{}
	for _, r := range records {
		counts[r.result]++
	}
	for _, r := range records {
		if counts[r.result] > counts[most] {
			most = r.result
		}
	}
	return most
}

// name returns the name of the part in rows.
func (p *part) name() string {
	name := fmt.Sprint(p.id.status)
	if p.id.stream {
		name += "-stream"
	}
	if p.id.cut {
		name += "-cut"
	}
	return name
}

// outcomes returns the outcomes of the keys, the most frequent first.
func (p *part) outcomes() []*outcome {
	if p.all != nil {
		return p.all
	}
	byResult := map[result]*outcome{}
	for _, k := range p.keys {
		for _, r := range k.records {
			o := byResult[r.result]
			if o == nil {
				o = &outcome{result: r.result}
				byResult[r.result] = o
				p.all = append(p.all, o)
			}
			o.records = append(o.records, r)
		}
	}
	slices.SortStableFunc(p.all, func(a, b *outcome) int { return cmp.Compare(len(b.records), len(a.records)) })
	return p.all
}
