package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"mockserver/config/syntax"
	"mockserver/config/table"
)

// CheckLatency checks the latency at the given keys; nil means none.
func CheckLatency(c *table.Checker, l *Latency, at []string) {
	if l == nil || c.Faulty(at...) {
		return
	}
	n := c.Node(at...)
	form := latencyForm{Latency: *l}
	if l.Max == l.Min { // a fixed latency is checked only once
		form.Max = 0
	}
	if !checkLatencyForm(c, l, n, at) || !table.InBounds(c, latencyFields, &form, at) {
		return
	}
	switch {
	case len(l.Curve) > 0:
		checkCurve(c, l, n, at)
	case l.Median != 0 || l.Sigma != 0:
		checkLognormal(c, l, at)
	default:
		checkUniform(c, l, n, at)
	}
	checkRates(c, l, n, at)
}

// checkLatencyForm reports whether a latency has a single form, and adds a problem if it has more.
func checkLatencyForm(c *table.Checker, l *Latency, n *syntax.Node, at []string) bool {
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
	c.Wrong(fmt.Sprintf("%s and %s belong to different forms of latency; expected one: %s", other, lognormal, latencyForms), table.Below(at, lognormal)...)
	return false
}

func checkUniform(c *table.Checker, l *Latency, n *syntax.Node, at []string) {
	if low, high := spelt(n, "min", "min-ms"), spelt(n, "max", "max-ms"); l.Max < l.Min {
		c.Wrong(fmt.Sprintf("%s (%v) is below %s (%v); expected at least as much", high, l.Max, low, l.Min), table.Below(at, high)...)
	}
}

// checkCurve checks the number, ranks and lengths of the points; lengths must not decrease as
// percentiles rise.
func checkCurve(c *table.Checker, l *Latency, n *syntax.Node, at []string) {
	low := spelt(n, "min", "min-ms")
	high := spelt(n, "max", "max-ms")
	if l.Max != 0 || n != nil && n.Get("p100") != nil && n.Get(high) != nil {
		c.Wrong(table.BothGiven("p100", high)+"; expected one, because both are the maximum", table.Below(at, high)...)
		return
	}
	if len(l.Curve) > maxPercentiles+1 { // max is one of the points
		c.Wrong(fmt.Sprintf("%d percentiles; expected at most %d", len(l.Curve), maxPercentiles), at...)
		return
	}
	last, name := l.Min, low
	rank := 0.0
	for _, p := range l.Curve {
		key := percentileKey(n, p.Rank)
		if !(p.Rank > rank && p.Rank <= 100) {
			c.Wrong(fmt.Sprintf("the percentile is %v; expected more than %v and at most 100, in rising order", p.Rank, rank), table.Below(at, key)...)
			return
		}
		rank = p.Rank
		switch {
		case p.Length < 0 || p.Length > maxLatency:
			c.Wrong(fmt.Sprintf("is %v; expected a duration of at most %vh", p.Length, maxLatency.Hours()), table.Below(at, key)...)
			return
		case p.Length < last:
			c.Wrong(fmt.Sprintf("%s (%v) is below %s (%v); lengths must not fall as percentiles rise", key, p.Length, name, last), table.Below(at, key)...)
			continue
		}
		last, name = p.Length, key
	}
}

func checkLognormal(c *table.Checker, l *Latency, at []string) {
	n := c.Node(at...)
	switch {
	case l.Median == 0:
		c.Wrong("median is missing: sigma is the spread around it", table.Below(at, "median")...)
	case n != nil && n.Get("sigma") == nil:
		c.Wrong("sigma is missing; expected the spread of the latency around the median, such as 0.4", table.Below(at, "sigma")...)
	}
}

func checkRates(c *table.Checker, l *Latency, n *syntax.Node, at []string) {
	timeout := spelt(n, "timeout", "timeout-ms")
	const slack = 1e-9 // rates that add up to 1 may have a sum slightly above 1 after rounding
	if l.FailureRate+l.TimeoutRate > 1+slack {
		c.Wrong(fmt.Sprintf("failure-rate and timeout-rate add up to %v; expected at most 1", l.FailureRate+l.TimeoutRate), table.Below(at, "timeout-rate")...)
	}
	if n != nil && n.Get(timeout) != nil && n.Get("timeout-rate") == nil {
		c.Warn("has no effect without timeout-rate", table.Below(at, timeout)...)
	}
}

// spelt returns which of two equivalent keys was written; the first if neither was.
func spelt(n *syntax.Node, one, other string) string {
	if n != nil && n.Get(one) == nil && n.Get(other) != nil {
		return other
	}
	return one
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
