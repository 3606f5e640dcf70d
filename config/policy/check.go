package policy

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"mockserver/config/syntax"
	"mockserver/config/table"
)

func (l *Latency) replies() (all []Reply) {
	if l.FailureRate > 0 {
		all = append(all, Reply{http.StatusInternalServerError, "an injected failure"})
	}
	if l.TimeoutRate > 0 {
		all = append(all, Reply{http.StatusGatewayTimeout, "an injected timeout"})
	}
	return all
}

func (l *Latency) check(c *table.Checker, _ string, at []string) {
	if c.Faulty(at...) {
		return
	}
	n := c.Node(at...)
	if !checkLatencyForm(c, n, at) {
		return
	}
	switch {
	case l.Median == 0 && l.Sigma == 0:
		checkPoints(c, l, n, at, func(length time.Duration) any { return length })
	case l.Median == 0:
		c.Wrong("median is missing: sigma is the spread around it", table.Below(at, "median")...)
	case n.Get("sigma") == nil:
		c.Wrong("sigma is missing; expected the spread of the latency around the median, such as 0.4", table.Below(at, "sigma")...)
	}
	checkRates(c, l, n, at)
}

// checkLatencyForm reports whether a latency has a single form, and adds a problem if it has more.
func checkLatencyForm(c *table.Checker, n *syntax.Node, at []string) bool {
	uniform, curve, lognormal := "", "", ""
	for _, e := range n.Entries {
		switch name := e.Key.Text.Value; {
		case slices.Contains([]string{"min", "max", "min-ms", "max-ms"}, name):
			uniform = cmp.Or(uniform, name)
		case name == "median" || name == "sigma":
			lognormal = cmp.Or(lognormal, name)
		case beginsPercentile(name):
			curve = cmp.Or(curve, name)
		}
	}
	other := cmp.Or(curve, uniform)
	if lognormal == "" || other == "" {
		return true
	}
	c.Wrong(fmt.Sprintf("%s and %s belong to different forms of latency; expected one: %s", other, lognormal, latencyForms), table.Below(at, lognormal)...)
	return false
}

// checkPoints checks the points of a uniform distribution or a curve, whose lengths show writes: they must not decrease
// as percentiles rise.
func checkPoints(c *table.Checker, l *Latency, n *syntax.Node, at []string, show func(time.Duration) any) {
	low, high := spelt(n, "min", "min-ms"), spelt(n, "max", "max-ms")
	switch {
	case len(l.Curve) == 0 && l.Max < l.Min:
		c.Wrong(fmt.Sprintf("%s (%v) is below %s (%v); expected at least as much", high, show(l.Max), low, show(l.Min)), table.Below(at, high)...)
		return
	case n.Get("p100") != nil && n.Get(high) != nil:
		c.Wrong(table.BothGiven("p100", high)+"; expected one, because both are the maximum", table.Below(at, high)...)
		return
	}
	last, name := l.Min, low
	for _, p := range l.Curve {
		key := percentileKey(n, p.Rank)
		if p.Length < last {
			c.Wrong(fmt.Sprintf("%s (%v) is below %s (%v); lengths must not fall as percentiles rise", key, show(p.Length), name, show(last)), table.Below(at, key)...)
			continue
		}
		last, name = p.Length, key
	}
}

func checkRates(c *table.Checker, l *Latency, n *syntax.Node, at []string) {
	timeout := spelt(n, "timeout", "timeout-ms")
	const slack = 1e-9 // rates that add up to 1 may have a sum slightly above 1 after rounding
	if l.FailureRate+l.TimeoutRate > 1+slack {
		c.Wrong(fmt.Sprintf("failure-rate and timeout-rate add up to %v; expected at most 1", l.FailureRate+l.TimeoutRate), table.Below(at, "timeout-rate")...)
	}
	if n.Get(timeout) != nil && n.Get("timeout-rate") == nil {
		c.Warn("has no effect without timeout-rate", table.Below(at, timeout)...)
	}
}

// spelt returns which of two equivalent keys was written; the first if neither was.
func spelt(n *syntax.Node, one, other string) string {
	if n.Get(one) == nil && n.Get(other) != nil {
		return other
	}
	return one
}

// percentileKey returns the key that a percentile was declared with.
func percentileKey(n *syntax.Node, rank float64) string {
	for _, e := range n.Entries {
		if r, ok := rankOf(e.Key.Text.Value); ok && r == rank {
			return e.Key.Text.Value
		}
	}
	return spelt(n, "max", "max-ms")
}
