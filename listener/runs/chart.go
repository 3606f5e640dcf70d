package runs

import (
	"fmt"
	"html/template"
	"math"
	"time"

	"mockserver/internal/chart"
	"mockserver/listener/verdict"
)

// curves is a chart of figures over time, as an SVG that takes its colours from the
// page around it. Its figures stand in a table beside it too: it is for the eye only.
type curves struct {
	id, title, about string  // id is unique in its page
	length           float64 // seconds
	unit             func(float64) string
	lines            []curve
	shaded           []span     // stretches in which the timing was not trusted
	marks            []axisMark // of the axis below; nil for those of the time
}

// axisMark is a text below a chart.
type axisMark struct {
	at   float64
	text string
}

// curve is one figure: y at the second x; NaN leaves a gap.
type curve struct {
	name string
	x, y []float64
}

// span is from one second to another.
type span struct{ from, to float64 }

// svg draws the chart.
func (c *curves) svg() template.HTML {
	picture := chart.Chart{ID: c.id, Title: c.title, About: c.about}
	top := 0.0
	for _, l := range c.lines {
		for _, y := range l.y {
			if !math.IsNaN(y) {
				top = max(top, y)
			}
		}
		picture.Lines = append(picture.Lines, chart.Line{Name: l.name, X: l.x, Y: l.y})
	}
	picture.Y = upTo(top, c.unit)
	picture.X.To = max(c.length, 1)
	for _, m := range c.marks {
		picture.X.Ticks = append(picture.X.Ticks, chart.Tick{At: m.at, Text: m.text})
	}
	for second, by := 0.0, secondsStep(picture.X.To); c.marks == nil && second <= picture.X.To; second += by {
		picture.X.Ticks = append(picture.X.Ticks, chart.Tick{At: second, Text: clockText(second)})
	}
	for _, s := range c.shaded {
		picture.Shaded = append(picture.Shaded, chart.Span{From: s.from, To: s.to})
	}
	return template.HTML(picture.Embed())
}

// upTo is an axis from 0 to a value that is not below top.
func upTo(top float64, unit func(float64) string) chart.Axis {
	if top <= 0 {
		return chart.UpTo(1, 1, unit)
	}
	return chart.UpTo(top, 4, unit)
}

// bars is a chart of a distribution of lengths of time.
type bars struct {
	id, title, about string
	buckets          []Bucket
}

// Bucket is how many lengths of time were above the bucket before, and at most End.
type Bucket struct {
	End   float64 `json:"end" doc:"upper bound, in milliseconds; 0 is without bound"`
	Count uint64  `json:"count" doc:"how many were up to there, and above the bucket before"`
}

// bucketEnds are the ends of all buckets but the last: 1, 2 and 5 times powers of ten,
// from a microsecond to 50 s.
func bucketEnds() []time.Duration {
	var ends []time.Duration
	for power := time.Microsecond; power <= 10*time.Second; power *= 10 {
		ends = append(ends, power, 2*power, 5*power)
	}
	return ends
}

// filled are the buckets from the first that holds something to the last.
func filled(buckets []Bucket) []Bucket {
	for len(buckets) > 0 && buckets[0].Count == 0 {
		buckets = buckets[1:]
	}
	for len(buckets) > 0 && buckets[len(buckets)-1].Count == 0 {
		buckets = buckets[:len(buckets)-1]
	}
	return buckets
}

// svg draws the chart: what share of all is in each bucket.
func (c *bars) svg() template.HTML {
	all, most := uint64(0), uint64(0)
	for _, bucket := range c.buckets {
		all += bucket.Count
		most = max(most, bucket.Count)
	}
	if all == 0 {
		return ""
	}
	picture := chart.Chart{ID: c.id, Title: c.title, About: c.about}
	picture.Y = upTo(float64(most)/float64(all)*100, func(value float64) string { return verdict.Short(value) + " %" })
	picture.X.To = float64(max(len(c.buckets), 8))
	every := int(math.Ceil(chart.LabelWidth / (chart.PageWidth / picture.X.To)))
	figures := chart.Bars{Bars: make([]chart.Bar, len(c.buckets))}
	for i, bucket := range c.buckets {
		place, percent := float64(i), float64(bucket.Count)/float64(all)*100
		figures.Bars[i] = chart.Bar{From: place, To: place + 1, Value: percent, Text: bucket.text() + ": " + verdict.Short(percent) + " %"}
		if i%every == 0 {
			picture.X.Ticks = append(picture.X.Ticks, chart.Tick{At: place + 0.5, Text: bucket.text()})
		}
	}
	picture.Bars = []chart.Bars{figures}
	return template.HTML(picture.Embed())
}

func (b Bucket) text() string {
	if b.End == 0 {
		return "more"
	}
	return "≤ " + msText(b.End)
}

// secondsStep is how far the marks of the time are from each other.
func secondsStep(length float64) float64 {
	for _, step := range [...]float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400} {
		if length/step <= 6 {
			return step
		}
	}
	return chart.Step(length, 6)
}

// clockText is a second of a run: "45 s", "1:30", "2:00:00".
func clockText(second float64) string {
	whole := int(second)
	switch {
	case whole < 60:
		return fmt.Sprintf("%d s", whole)
	case whole < 3600:
		return fmt.Sprintf("%d:%02d", whole/60, whole%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", whole/3600, whole/60%60, whole%60)
}

// msText is milliseconds in the unit that suits them.
func msText(ms float64) string {
	switch {
	case ms == 0:
		return "0"
	case ms < 1:
		return verdict.Short(ms*1000) + " µs"
	case ms < 1000:
		return verdict.Short(ms) + " ms"
	}
	return verdict.Short(ms/1000) + " s"
}

// countText is a count in groups of three digits, which no line breaks.
func countText(n uint64) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "\u202f" + text[at:]
	}
	return text
}

// rateText is a number a second.
func rateText(value float64) string {
	if value >= 1000 {
		return countText(uint64(math.Round(value)))
	}
	return verdict.Short(value)
}
