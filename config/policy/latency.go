package policy

import (
	"cmp"
	"slices"
	"time"

	"mockserver/config/samples"
	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/wording"
)

// Latency is the time from the arrival of a request to its response. One of the forms is declared:
// Min and Max, the points of Curve, Median and Sigma, or none if there are only rates. The zero
// value is no latency.
type Latency struct {
	// Min and Max are the bounds of a uniform latency. Min alone is a fixed latency, and Max alone
	// begins at 0. Decoding makes Max at least Min.
	Min, Max time.Duration

	// Curve holds the points of the distribution, with rising percentiles and lengths: {50, 20ms},
	// {99, 120ms}, and finally {100, 1s} for its maximum. Lengths between two points are
	// interpolated; below the first point they go down to Min. Decoding appends Max, if it
	// is declared, as the last point.
	Curve []Percentile

	Median time.Duration // log-normal
	Sigma  float64       // 0..10; 0 always gives the median

	FailureRate float64       // 0..1, the share of requests that are answered with 500
	TimeoutRate float64       // 0..1, the share of requests that wait for Timeout and are answered with 504
	Timeout     time.Duration // 0 means DefaultLatencyTimeout
}

// Percentile is one point of a distribution: Rank percent of all values are at most Length.
type Percentile = samples.Point

const (
	// DefaultLatencyTimeout is how long a request that times out waits.
	DefaultLatencyTimeout = 30 * time.Second

	maxLatency     = 24 * time.Hour
	maxSigma       = 10
	maxPercentiles = 100
	// latencyForms lists the forms of a latency, apart from its rates.
	latencyForms = "min and max, percentiles such as p50 and p99 (with min and max), median and sigma, or from"
)

var latencyFields = []table.Field[latencyForm]{
	table.Of[latencyForm](table.Row{Key: "min", Unless: "min-ms", Doc: "the minimum; alone, or with the same max, a fixed latency", Kinds: table.Texts | table.Numbers, Length: table.UnitFromZero, Most: maxLatency}),
	table.Of[latencyForm](table.Row{Key: "max", Unless: "max-ms", Given: "max-given", Doc: "the maximum; without min, the latency begins at 0; with percentiles, it is the last one, p100", Kinds: table.Texts | table.Numbers, Length: table.UnitFromZero, Most: maxLatency}),
	table.Of[latencyForm](table.Row{Key: "min-ms", Of: "min", Doc: "min in milliseconds", Kinds: table.Numbers, Length: table.MillisFromZero, Most: maxLatency}),
	table.Of[latencyForm](table.Row{Key: "max-ms", Of: "max", Given: "max-given", Doc: "max in milliseconds", Kinds: table.Numbers, Length: table.MillisFromZero, Most: maxLatency}),
	table.With(table.Row{Key: "pNN", Doc: "a percentile such as p50, p99 or p99.9: the latency that this percentage of requests does not exceed", Kinds: table.Texts | table.Numbers, Length: table.UnitFromZero, Most: maxLatency,
		Many: &table.Many{Pattern: percentilePattern, Takes: beginsPercentile, Near: nearPercentile}}, setPercentile),
	table.Of[latencyForm](table.Row{Key: "median", Doc: "the median of a lognormal distribution", Kinds: table.Texts, Length: table.UnitAboveZero, Most: maxLatency}),
	table.Of[latencyForm](table.Row{Key: "sigma", Doc: "the spread of the distribution: the standard deviation of the logarithm, such as 0.4", Kinds: table.Numbers, UpTo: maxSigma}),
	table.Of[latencyForm](table.Row{Key: "from", Doc: "a file of measured latencies: a recording, a log of HdrHistogram, percentiles of wrk2 or vegeta, or a table", Kinds: table.Texts, Filled: true}),
	table.Of[latencyForm](table.Row{Key: "unit", Doc: "the unit of the numbers in that file", Kinds: table.Texts, Enum: UnitsOfSamples}),
	table.Of[latencyForm](table.Row{Key: "column", Doc: "the column of a table that holds the latencies; the first by default", Kinds: table.Scalars}),
	table.Of[latencyForm](table.Row{Key: "failure-rate", Doc: "the share of requests that are answered with 500", Kinds: table.Numbers | table.Texts, Pattern: table.PercentPattern, UpTo: 1}),
	table.Of[latencyForm](table.Row{Key: "timeout-rate", Doc: "the share of requests that wait for the timeout and are answered with 504", Kinds: table.Numbers | table.Texts, Pattern: table.PercentPattern, UpTo: 1}),
	table.Of[latencyForm](table.Row{Key: "timeout", Unless: "timeout-ms", Doc: "how long those requests wait; 30s by default", Kinds: table.Texts, Length: table.UnitAboveZero, Most: maxLatency}),
	table.Of[latencyForm](table.Row{Key: "timeout-ms", Of: "timeout", Doc: "timeout in milliseconds", Kinds: table.Numbers, Length: table.MillisAboveZero, Most: maxLatency}),
}

// latencyForm is a latency that is being decoded.
type latencyForm struct {
	Latency
	measured
	MaxGiven bool
}

// decodeLatency decodes a latency, and reports an empty one.
func decodeLatency(d *table.Decoder, v table.Value) *Latency {
	if len(v.Entries) == 0 && !v.Faulty {
		d.About(v, "is an empty map; expected %s, or failure-rate and timeout-rate", latencyForms)
	}
	return fillLatency(d, v, latencyFields)
}

func fillLatency(d *table.Decoder, v table.Value, fields []table.Field[latencyForm]) *Latency {
	var l latencyForm
	table.Fill(d, v.Node, v.Key, fields, &l)
	if curve, given := l.read(d, v); given {
		l.Min, l.Max, l.MaxGiven, l.Curve = curve.Min, curve.Max, true, curve.Points
	}
	slices.SortStableFunc(l.Curve, byRank)
	l.complete(l.MaxGiven)
	return &l.Latency
}

// decodeLength decodes a latency without rates: a duration, or a map.
func decodeLength(d *table.Decoder, v table.Value) *Latency {
	if v.Kind == syntax.MapNode {
		if len(v.Entries) == 0 {
			d.About(v, "is an empty map; expected %s", latencyForms)
		}
		return fillLatency(d, v, lengthFields)
	}
	var l latencyForm
	length := latencyFields[0]
	one := v
	one.Row = length.Row
	length.Set(d, one, &l)
	return &Latency{Min: l.Min, Max: l.Min}
}

func byRank(a, b Percentile) int { return cmp.Compare(a.Rank, b.Rank) }

// complete sets Max of a fixed latency, and makes Max of a curve its last point. maxGiven means
// that Max was declared, even if it is 0.
func (l *Latency) complete(maxGiven bool) {
	switch {
	case len(l.Curve) == 0:
		if !maxGiven && l.Max == 0 {
			l.Max = l.Min
		}
	case (maxGiven || l.Max != 0) && l.Curve[len(l.Curve)-1].Rank != 100: // Max and p100: an error
		l.Curve = append(slices.Clip(l.Curve), Percentile{Rank: 100, Length: l.Max})
		l.Max = 0
	}
}

func setPercentile(d *table.Decoder, v table.Value, l *latencyForm) {
	length, ok := v.Duration()
	if _, named := rankOf(v.Name); named && !ok {
		d.Refuse(v)
		return
	}
	addPercentile(d, v, l, length)
}

// addPercentile adds the length of the percentile that a key names.
func addPercentile(d *table.Decoder, v table.Value, l *latencyForm, length time.Duration) {
	rank, ok := rankOf(v.Name)
	if !ok {
		d.About(v, "%s is not a percentile; expected p0.1 to p100, such as p50, p99 and p99.9", wording.Label(v.Name))
		return
	}
	if len(l.Curve) == maxPercentiles {
		d.About(v, "%s is one too many; expected at most %d percentiles", wording.Label(v.Name), maxPercentiles)
		return
	}
	if slices.ContainsFunc(l.Curve, func(p Percentile) bool { return p.Rank == rank }) {
		d.About(v, "the percentile %v is already given; each may be given once", rank)
		return
	}
	l.Curve = append(l.Curve, Percentile{Rank: rank, Length: length})
}

// lengthFields are the keys of a latency except its rates and the timeout.
var lengthFields = slices.DeleteFunc(slices.Clone(latencyFields), func(f table.Field[latencyForm]) bool {
	return slices.Contains([]string{"failure-rate", "timeout-rate", "timeout", "timeout-ms"}, f.Key)
})
