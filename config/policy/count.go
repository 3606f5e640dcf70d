package policy

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"mockserver/config/syntax"
	"mockserver/config/table"
)

// mostCounted is the largest number of a CountKey.
const mostCounted = 1_000_000

// countFields are the keys of a distribution of whole numbers, whose nanoseconds are the numbers.
var countFields = []table.Field[latencyForm]{
	countKey(table.Row{Key: "min", Doc: "the minimum"}, func(_ *table.Decoder, _ table.Value, l *latencyForm, n time.Duration) { l.Min = n }),
	countKey(table.Row{Key: "max", Doc: "the maximum"}, func(_ *table.Decoder, _ table.Value, l *latencyForm, n time.Duration) { l.Max, l.MaxGiven = n, true }),
	countKey(table.Row{Key: "pNN", Doc: "a percentile such as p50", Many: &table.Many{Pattern: percentilePattern, Takes: beginsPercentile, Near: nearPercentile}}, addPercentile),
	countKey(table.Row{Key: "median", Doc: "the median of a lognormal distribution"}, func(_ *table.Decoder, _ table.Value, l *latencyForm, n time.Duration) { l.Median = n }),
	latencyFields[slices.Index(table.Keys(latencyFields), "sigma")],
}

func countKey(r table.Row, set func(d *table.Decoder, v table.Value, l *latencyForm, n time.Duration)) table.Field[latencyForm] {
	r.Kinds, r.Max = table.Numbers, mostCounted
	return table.With(r, func(d *table.Decoder, v table.Value, l *latencyForm) {
		if n, err := strconv.Atoi(v.Number); err == nil && n >= 0 && n <= mostCounted {
			set(d, v, l, time.Duration(n))
		} else {
			d.Refuse(v)
		}
	})
}

// CountKey returns a key whose value is a whole number, or a distribution of such numbers. T has a Go field for it, a
// *Latency whose nanoseconds are the numbers.
func CountKey[T any](r table.Row) table.Field[T] {
	r.Form, r.Max = "a number from 0 to 1000000, or a map with min and max, percentiles such as p50, or median and sigma", mostCounted
	key := table.Made[T](r, countFields, func(d *table.Decoder, v table.Value) *Latency {
		if v.Kind == syntax.MapNode {
			return fillLatency(d, v, countFields)
		}
		var l latencyForm
		countFields[0].Set(d, v, &l)
		return &Latency{Min: l.Min, Max: l.Min}
	})
	key.Kinds |= table.Numbers
	return key
}

// CheckCount checks the value of a key that CountKey returned, if it is given.
func CheckCount(c *table.Checker, l *Latency, at ...string) {
	if l == nil || c.Faulty(at...) || !c.Node(at...).IsMap() || !checkLatencyForm(c, c.Node(at...), at) {
		return
	}
	checkPoints(c, l, c.Node(at...), at, func(n time.Duration) any { return int(n) })
}

// ratePattern matches rates such as 200/s.
const ratePattern = `^([0-9]+(\.[0-9]+)?)/(s|m|h)$`

var rateText = regexp.MustCompile(ratePattern)

// RateRow returns the row of a key whose value is a rate that Rate reads.
func RateRow(key, doc string) table.Row {
	return table.Row{Key: key, Doc: doc, Kinds: table.Texts, Pattern: ratePattern, Form: "a number of items in a time, such as 200/s or 20000/m"}
}

// Quota is how many of something are allowed in a time.
type Quota struct {
	Most   int // 0 for no limit
	Window time.Duration
}

const quotaPattern = `^([1-9][0-9]{0,8})/(s|m|h)$`

var quotaText = regexp.MustCompile(quotaPattern)

// QuotaRow returns the row of a key whose value is a quota that ReadQuota reads.
func QuotaRow(key, doc string) table.Row {
	return table.Row{Key: key, Doc: doc, Kinds: table.Texts, Pattern: quotaPattern, Form: "a whole number in a time, such as 500/m"}
}

// ReadQuota returns a quota. Any other value is reported.
func ReadQuota(d *table.Decoder, v table.Value) (q Quota) {
	parts := quotaText.FindStringSubmatch(v.Text.Value)
	if parts == nil {
		d.Refuse(v)
		return q
	}
	q.Most, _ = strconv.Atoi(parts[1]) // it matches the pattern
	q.Window = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[parts[2]]
	return q
}

// Rate returns a rate above 0, a second. Any other value is reported.
func Rate(d *table.Decoder, v table.Value) float64 {
	parts := rateText.FindStringSubmatch(v.Text.Value)
	if parts == nil || strings.Trim(parts[1], "0.") == "" {
		d.Refuse(v)
		return 0
	}
	n, _ := strconv.ParseFloat(parts[1], 64) // it matches the pattern
	return n / map[string]float64{"s": 1, "m": 60, "h": 3600}[parts[3]]
}
