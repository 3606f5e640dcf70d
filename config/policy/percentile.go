package policy

import (
	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/address"
	"mockserver/internal/wording"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// percentilePattern matches the names of percentiles, in the syntax that ECMAScript and RE2 have in
// common: p50, p99.9, up to six digits after the point.
const percentilePattern = `^p([1-9][0-9]?(\.[0-9]{1,6})?|0\.0{0,5}[1-9][0-9]{0,5}|100)$`

var percentileName = regexp.MustCompile(percentilePattern)

// beginsPercentile reports whether a key looks like a percentile: p and a digit.
func beginsPercentile(name string) bool {
	return len(name) > 1 && name[0] == 'p' && address.IsDigit(name[1])
}

// rankOf returns the rank in the name of a percentile.
func rankOf(name string) (rank float64, ok bool) {
	if !percentileName.MatchString(name) {
		return 0, false
	}
	rank, err := strconv.ParseFloat(name[1:], 64)
	return rank, err == nil
}

// nearPercentile returns the percentile that another key seems to mean, P99 or 95th; "" for none.
func nearPercentile(name string) string {
	const longest = 16
	if len(name) > longest {
		return ""
	}
	number := "p" + strings.Map(func(r rune) rune {
		if r == '.' || '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, strings.ReplaceAll(name, ",", "."))
	if _, ok := rankOf(number); !ok {
		return ""
	}
	return number
}

func setPercentile(d *table.Decoder, v table.Value, l *latencyForm) {
	rank, ok := rankOf(v.Name)
	if !ok {
		d.About(v, "%s is not a percentile; expected p0.1 to p100, such as p50, p99 and p99.9", wording.Label(v.Name))
		return
	}
	length, ok := v.Duration()
	if !ok {
		d.Refuse(v)
		return
	}
	if len(l.Curve) == maxPercentiles {
		d.About(v, "%s is one too many; expected %d percentiles", wording.Label(v.Name), maxPercentiles)
		return
	}
	if slices.ContainsFunc(l.Curve, func(p Percentile) bool { return p.Rank == rank }) {
		d.About(v, "the percentile %v is already given; each may be given once", rank)
		return
	}
	l.Curve = append(l.Curve, Percentile{rank, length})
}

// percentileKey returns the key that a percentile was declared with.
func percentileKey(n *syntax.Node, rank float64) string {
	if n != nil {
		for _, e := range n.Entries {
			if r, ok := rankOf(e.Key.Text.Value); ok && r == rank {
				return e.Key.Text.Value
			}
		}
		if rank == 100 {
			return spelt(n, "max", "max-ms")
		}
	}
	return "p" + strconv.FormatFloat(rank, 'f', -1, 64)
}
