package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/address"
	"mockserver/internal/wording"
)

// Latency is the time from the arrival of a request to its response. One of the forms is declared:
// Min and Max, the points of Curve, Median and Sigma, or none if there are only rates. The zero
// value is no latency.
type Latency struct {
	Pos syntax.Pos // left zero in Go
	Key string     // left "" in Go

	// Min and Max are the bounds of a uniform latency. Min alone is a fixed latency, and Max alone
	// begins at 0. Load and Complete make Max at least Min.
	Min, Max time.Duration

	// Curve are the points of the distribution, with rising percentiles and lengths: {50, 20ms},
	// {99, 120ms}, and finally {100, 1s} for its maximum. Lengths between two points are
	// interpolated; below the first point they go down to Min. Load and Complete append Max as the
	// last point.
	Curve []Percentile

	Median time.Duration // lognormal
	Sigma  float64       // 0..10; 0 always gives the median

	FailureRate float64       // 0..1, the share of requests that are answered with 500
	TimeoutRate float64       // 0..1, the share of requests that wait for Timeout and are answered with 504
	Timeout     time.Duration // 0 means DefaultLatencyTimeout
}

// Percentile is one point of a distribution: Rank percent of all values are at most Length.
type Percentile struct {
	Rank   float64 // above 0, to 100
	Length time.Duration
}

const (
	// DefaultLatencyTimeout is how long a request waits that times out.
	DefaultLatencyTimeout = 30 * time.Second

	maxLatency     = 24 * time.Hour
	maxSigma       = 10
	maxPercentiles = 100
	// latencyForms lists the forms of a latency, besides its rates.
	latencyForms = "min and max, percentiles such as p50 and p99 (with min and max), median and sigma, or from"
)

var latencyFields = []table.Field[latencyForm]{
	table.Of[latencyForm](row{Key: "min", Unless: "min-ms", Doc: "the least; alone, or with the same max, a fixed latency", Kinds: table.Texts | table.Numbers, Length: table.UnitFromZero, Most: maxLatency}),
	table.Of[latencyForm](row{Key: "max", Unless: "max-ms", Given: "max-given", Doc: "the most; without min it begins at 0, behind percentiles it is their last", Kinds: table.Texts | table.Numbers, Length: table.UnitFromZero, Most: maxLatency}),
	table.Of[latencyForm](row{Key: "min-ms", Of: "min", Doc: "min in milliseconds", Kinds: table.Numbers, Length: table.MillisFromZero, Most: maxLatency}),
	table.Of[latencyForm](row{Key: "max-ms", Of: "max", Given: "max-given", Doc: "max in milliseconds", Kinds: table.Numbers, Length: table.MillisFromZero, Most: maxLatency}),
	table.With(row{Key: "pNN", Doc: "a percentile such as p50, p99 or p99.9: so many percent take this long or less", Kinds: table.Texts | table.Numbers, Length: table.UnitFromZero, Most: maxLatency,
		Many: &table.Many{Pattern: percentilePattern, Takes: beginsPercentile, Near: nearPercentile}}, setPercentile),
	table.Of[latencyForm](row{Key: "median", Doc: "the median of a lognormal distribution", Kinds: table.Texts, Length: table.UnitAboveZero, Most: maxLatency}),
	table.Of[latencyForm](row{Key: "sigma", Doc: "how far it spreads, the standard deviation of the logarithm; 0.4, say", Kinds: table.Numbers, UpTo: maxSigma}),
	table.Of[latencyForm](row{Key: "from", Doc: "a file of lengths that were measured: a recording, a log of HdrHistogram, percentiles of wrk2 or vegeta, a table", Kinds: table.Texts, Filled: true}),
	table.Of[latencyForm](row{Key: "unit", Doc: "the unit of numbers in that file", Kinds: table.Texts, Enum: unitsOfSamples}),
	table.Of[latencyForm](row{Key: "column", Doc: "the column of a table that has the lengths, the first when left out", Kinds: table.Scalars}),
	table.Of[latencyForm](row{Key: "failure-rate", Doc: "the share of requests that are answered 500", Kinds: table.Numbers | table.Texts, Pattern: table.PercentPattern, UpTo: 1}),
	table.Of[latencyForm](row{Key: "timeout-rate", Doc: "the share of requests that wait for the timeout and are answered 504", Kinds: table.Numbers | table.Texts, Pattern: table.PercentPattern, UpTo: 1}),
	table.Of[latencyForm](row{Key: "timeout", Unless: "timeout-ms", Doc: "how long those wait, 30s when left out", Kinds: table.Texts, Length: table.UnitAboveZero, Most: maxLatency}),
	table.Of[latencyForm](row{Key: "timeout-ms", Of: "timeout", Doc: "timeout in milliseconds", Kinds: table.Numbers, Length: table.MillisAboveZero, Most: maxLatency}),
}

// latencyForm is a latency that is being decoded.
type latencyForm struct {
	Latency
	measured
	MaxGiven bool
}

// decodeLatency decodes a latency. It returns nil for an empty one.
func decodeLatency(d *decoder, v value) *Latency {
	if len(v.Entries) == 0 && !v.Faulty {
		d.About(v, "is an empty map; expected %s, or failure-rate and timeout-rate", latencyForms)
	}
	l := latencyForm{Latency: Latency{Pos: v.Pos(), Key: v.Key}}
	table.Fill(d, v.Node, v.Key, latencyFields, &l)
	l.read(d, v)
	slices.SortStableFunc(l.Curve, byRank)
	l.complete(l.MaxGiven)
	return &l.Latency
}

func byRank(a, b Percentile) int { return cmp.Compare(a.Rank, b.Rank) }

// complete sets Max of a fixed latency, and makes Max of a curve its last point. maxGiven means
// that Max was declared, even if it is 0.
func (l *Latency) complete(maxGiven bool) {
	switch {
	case l == nil:
	case len(l.Curve) == 0:
		if !maxGiven && l.Max == 0 {
			l.Max = l.Min
		}
	case (maxGiven || l.Max != 0) && l.Curve[len(l.Curve)-1].Rank != 100: // twice is an error
		l.Curve = append(slices.Clip(l.Curve), Percentile{100, l.Max})
		l.Max = 0
	}
}

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

func setPercentile(d *decoder, v value, l *latencyForm) {
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

// latency checks the latency at the given keys; nil means none.
func (c *checker) latency(l *Latency, at []string) {
	if l == nil || c.faulty(at) {
		return
	}
	n := c.at(at)
	form := latencyForm{Latency: *l}
	if l.Max == l.Min { // a fixed latency is checked once
		form.Max = 0
	}
	if !c.latencyForm(l, n, at) || !inBounds(c, latencyFields, &form, at) {
		return
	}
	switch {
	case len(l.Curve) > 0:
		c.curve(l, n, at)
	case l.Median != 0 || l.Sigma != 0:
		c.lognormal(l, at)
	default:
		c.uniform(l, n, at)
	}
	c.rates(l, n, at)
}

// latencyForm reports whether a latency has one form, and reports a problem if it has several.
func (c *checker) latencyForm(l *Latency, n *syntax.Node, at []string) bool {
	uniform, curve, lognormal := "", "", ""
	note := func(name string) {
		switch {
		case slices.Contains([]string{"min", "max", "min-ms", "max-ms"}, name):
			uniform = cmp.Or(uniform, name)
		case name == "median" || name == "sigma":
			lognormal = cmp.Or(lognormal, name)
		case beginsPercentile(name):
			curve = cmp.Or(curve, name)
		}
	}
	if n != nil {
		for _, e := range n.Entries {
			note(e.Key.Text.Value)
		}
	} else {
		for name, given := range map[string]bool{"min": l.Min != 0 || l.Max != 0, "p50": len(l.Curve) > 0, "median": l.Median != 0 || l.Sigma != 0} {
			if given {
				note(name)
			}
		}
	}
	other := cmp.Or(curve, uniform)
	if lognormal == "" || other == "" {
		return true
	}
	c.wrong(fmt.Sprintf("%s and %s are of two forms of latency; expected one: %s", other, lognormal, latencyForms), below(at, lognormal)...)
	return false
}

func (c *checker) uniform(l *Latency, n *syntax.Node, at []string) {
	if low, high := spelt(n, "min", "min-ms"), spelt(n, "max", "max-ms"); l.Max < l.Min {
		c.wrong(fmt.Sprintf("%s (%v) is below %s (%v); expected as much or more", high, l.Max, low, l.Min), below(at, high)...)
	}
}

// curve checks that lengths do not decrease as percentiles rise.
func (c *checker) curve(l *Latency, n *syntax.Node, at []string) {
	low := spelt(n, "min", "min-ms")
	high := spelt(n, "max", "max-ms")
	if l.Max != 0 || n != nil && n.Get("p100") != nil && n.Get(high) != nil {
		c.wrong(table.BothGiven("p100", high)+": they are the same", below(at, high)...)
		return
	}
	if len(l.Curve) > maxPercentiles+1 { // max is one of them
		c.wrong(fmt.Sprintf("%d percentiles; expected %d", len(l.Curve), maxPercentiles), at...)
		return
	}
	last, name := l.Min, low
	rank := 0.0
	for _, p := range l.Curve {
		key := percentileKey(n, p.Rank)
		if !(p.Rank > rank && p.Rank <= 100) {
			c.wrong(fmt.Sprintf("the percentile is %v; expected above %v and up to 100, each above the one before", p.Rank, rank), below(at, key)...)
			return
		}
		rank = p.Rank
		switch {
		case p.Length < 0 || p.Length > maxLatency:
			c.wrong(fmt.Sprintf("is %v; expected a duration of at most %vh", p.Length, maxLatency.Hours()), below(at, key)...)
			return
		case p.Length < last:
			c.wrong(fmt.Sprintf("%s (%v) is below %s (%v); lengths do not fall where percentiles rise", key, p.Length, name, last), below(at, key)...)
			continue
		}
		last, name = p.Length, key
	}
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

func (c *checker) lognormal(l *Latency, at []string) {
	n := c.at(at)
	switch {
	case l.Median == 0:
		c.wrong("median is missing: sigma spreads around it", below(at, "median")...)
	case n != nil && n.Get("sigma") == nil:
		c.wrong("sigma is missing: how far the latency spreads around the median, 0.4, say", below(at, "sigma")...)
	}
}

func (c *checker) rates(l *Latency, n *syntax.Node, at []string) {
	timeout := spelt(n, "timeout", "timeout-ms")
	const slack = 1e-9 // a sum such as 0.7 + 0.2 + 0.1 may come out above 1
	if l.FailureRate+l.TimeoutRate > 1+slack {
		c.wrong(fmt.Sprintf("failure-rate and timeout-rate are %v together; expected 1 at most", l.FailureRate+l.TimeoutRate), below(at, "timeout-rate")...)
	}
	if n != nil && n.Get(timeout) != nil && n.Get("timeout-rate") == nil {
		c.warn("has no effect: it is for timeout-rate, which is not given", below(at, timeout)...)
	}
}

// spelt returns which of two equivalent keys was written; the first if neither was.
func spelt(n *syntax.Node, one, other string) string {
	if n != nil && n.Get(one) == nil && n.Get(other) != nil {
		return other
	}
	return one
}
