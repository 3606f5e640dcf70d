package admin

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"
	"time"
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

// The picture, in its own units.
const (
	chartWidth, chartHeight         = 560.0, 200.0
	chartLeft, chartRight           = 64.0, 12.0
	chartTop, chartBottom           = 10.0, 28.0
	plotWidth               float64 = chartWidth - chartLeft - chartRight
	plotHeight              float64 = chartHeight - chartTop - chartBottom
)

// labelWidth is the room that a text such as "≤ 500 µs" needs below a picture, also where
// report.css makes it larger since the picture is small.
const labelWidth = 100.0

// svg draws the chart.
func (c *curves) svg() template.HTML {
	top := 0.0
	for _, l := range c.lines {
		for _, y := range l.y {
			if !math.IsNaN(y) {
				top = max(top, y)
			}
		}
	}
	step := niceStep(top, 4)
	top = max(math.Ceil(top/step), 1) * step
	length := max(c.length, 1)
	marks := c.marks
	for second, by := 0.0, secondsStep(length); c.marks == nil && second <= length; second += by {
		marks = append(marks, axisMark{second, clockText(second)})
	}
	x := func(second float64) float64 { return chartLeft + second/length*plotWidth }
	y := func(value float64) float64 { return chartTop + plotHeight - value/top*plotHeight }

	var b strings.Builder
	opening(&b, c.id, c.title, c.about)
	for _, s := range c.shaded {
		fmt.Fprintf(&b, `<rect class="bad" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, x(s.from), chartTop, max(x(s.to)-x(s.from), 1), plotHeight)
	}
	for value := 0.0; value <= top+step/2; value += step {
		rule(&b, y(value), c.unit(value))
	}
	for _, m := range marks {
		label(&b, x(m.at), m.text)
	}
	for i, l := range c.lines {
		fmt.Fprintf(&b, `<path class="line s%d" d="%s"/>`, i+1, l.path(x, y))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// path is the line through the points, broken where there is a gap. A point alone
// between gaps is a dot.
func (l *curve) path(x, y func(float64) float64) string {
	var b strings.Builder
	open := false
	for i := range l.x {
		if math.IsNaN(l.y[i]) {
			open = false
			continue
		}
		verb := "L"
		if !open {
			verb = "M"
		}
		fmt.Fprintf(&b, "%s%.1f %.1f", verb, x(l.x[i]), y(l.y[i]))
		if !open {
			b.WriteString("h0.1")
		}
		open = true
	}
	return b.String()
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
	top := float64(most) / float64(all) * 100
	step := niceStep(top, 4)
	top = math.Ceil(top/step) * step
	wide := plotWidth / float64(max(len(c.buckets), 8))
	every := int(math.Ceil(labelWidth / wide))

	var b strings.Builder
	opening(&b, c.id, c.title, c.about)
	for value := 0.0; value <= top+step/2; value += step {
		rule(&b, chartTop+plotHeight-value/top*plotHeight, short(value)+" %")
	}
	for i, bucket := range c.buckets {
		percent := float64(bucket.Count) / float64(all) * 100
		tall := percent / top * plotHeight
		left := chartLeft + float64(i)*wide
		fmt.Fprintf(&b, `<rect class="bar" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s: %s %%</title></rect>`,
			left+1, chartTop+plotHeight-tall, wide-2, tall, html.EscapeString(bucket.text()), short(percent))
		if i%every == 0 {
			label(&b, left+wide/2, bucket.text())
		}
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

func (b Bucket) text() string {
	if b.End == 0 {
		return "more"
	}
	return "≤ " + msText(b.End)
}

// opening begins a picture, with what a screen reader says of it.
func opening(b *strings.Builder, id, title, about string) {
	id = html.EscapeString(id)
	fmt.Fprintf(b, `<svg class="chart" viewBox="0 0 %.0f %.0f" role="img" aria-labelledby="%s-title %s-about"><title id="%s-title">%s</title><desc id="%s-about">%s</desc>`,
		chartWidth, chartHeight, id, id, id, html.EscapeString(title), id, html.EscapeString(about))
}

// rule draws a horizontal line with its value.
func rule(b *strings.Builder, y float64, text string) {
	fmt.Fprintf(b, `<line class="rule" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/><text class="tick" text-anchor="end" x="%.1f" y="%.1f">%s</text>`,
		chartLeft, chartWidth-chartRight, y, y, chartLeft-6, y+4, html.EscapeString(text))
}

// label draws a value below the picture.
func label(b *strings.Builder, x float64, text string) {
	fmt.Fprintf(b, `<text class="tick" text-anchor="middle" x="%.1f" y="%.1f">%s</text>`, x, chartHeight-8, html.EscapeString(text))
}

// niceStep is 1, 2 or 5 times a power of ten, so that at most so many steps reach most.
func niceStep(most float64, steps int) float64 {
	if most <= 0 {
		return 1
	}
	rough := most / float64(steps)
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, times := range [...]float64{1, 2, 5} {
		if times*power >= rough {
			return times * power
		}
	}
	return 10 * power
}

// secondsStep is how far the marks of the time are from each other.
func secondsStep(length float64) float64 {
	for _, step := range [...]float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400} {
		if length/step <= 6 {
			return step
		}
	}
	return niceStep(length, 6)
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
		return short(ms*1000) + " µs"
	case ms < 1000:
		return short(ms) + " ms"
	}
	return short(ms/1000) + " s"
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
	return short(value)
}
