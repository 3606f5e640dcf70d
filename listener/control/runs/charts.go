package runs

import (
	"fmt"
	"html/template"
	"math"
	"reflect"
	"slices"
	"strings"

	"mockserver/internal/chart"
	"mockserver/listener/observe/verdict"
)

// view is a chart with a table of its figures.
type view struct {
	Title, About string
	Legend       []string
	SVG          template.HTML
	Columns      []string
	Rows         [][]string
}

// draw draws the chart, with a vertical axis from 0 to top or more.
func (v *view) draw(picture *chart.Chart, top float64, unit func(float64) string) {
	steps := 4
	if top <= 0 {
		top, steps = 1, 1
	}
	picture.Y = chart.UpTo(top, steps, unit)
	v.SVG = template.HTML(picture.Embed())
}

// column is one figure in a chart over time: a field of Point.
type column struct{ name, field string }

// of returns the figure of a point, or nil if it is unknown.
func (c *column) of(p *Point) *float64 {
	value := reflect.ValueOf(p).Elem().FieldByName(c.field)
	if value.Kind() == reflect.Float64 {
		value = value.Addr()
	}
	return value.Interface().(*float64)
}

// plan describes a chart over time.
type plan struct {
	title   string
	unit    func(float64) string
	columns []column
}

// plans returns the charts over time of a report.
func plans() []plan {
	return []plan{
		{"Requests a second", rateText, []column{{"answered", "Rate"}, {"arrived", "Arrivals"}, {"unmatched", "Unmatched"}}},
		{"Errors a second", rateText, []column{{"declared", "DeclaredErrors"}, {"injected", "InjectedErrors"}, {"the server's own", "OwnErrors"}}},
		{"Own time", msText, []column{{"p99", "OwnP99"}, {"p50", "OwnP50"}}},
		{"Injected latency", msText, []column{{"p99", "InjectedP99"}, {"p50", "InjectedP50"}}},
		{"Injection error", msText, []column{{"p99", "InjectionErrorP99"}}},
		{"Faults and limits a second", rateText, []column{{"faults", "Faults"}, {"refused by limits", "Limited"}}},
		{"Webhook lag", msText, []column{{"p99", "WebhookLagP99"}}},
		{"In flight and pending", rateText, []column{{"requests in flight", "InFlight"}, {"webhooks pending", "WebhooksPending"}}},
		{"Pauses", msText, []column{{"collector, longest", "PauseMax"}, {"scheduler p99", "SchedulerP99"}, {"quota", "Throttled"}}},
		{"CPU", shareText, []column{{"process, of its limit", "CPU"}, {"machine", "MachineCPU"}, {"stolen", "Steal"}}},
	}
}

// rowsShown is the maximum number of rows in the table of a chart.
const rowsShown = 60

// curves returns the charts over time that contain a figure above 0.
func (r *Report) curves() []view {
	var views []view
	shaded, rows := r.shaded(), thinned(slices.Clone(r.Timeline), rowsShown)
	for i, plan := range plans() {
		picture := &chart.Chart{ID: fmt.Sprintf("curves-%d", i+1), Title: plan.title, X: overTime(max(r.Total.Seconds, 1)), Shaded: shaded}
		v := view{Title: plan.title, About: plan.title + ", the maximum of each interval; for counts the average", Columns: []string{"At"}}
		top := 0.0
		for _, c := range plan.columns {
			line := c.line(r.Timeline)
			for _, y := range line.Y {
				if y > top {
					top = y
				}
			}
			picture.Lines = append(picture.Lines, line)
			v.Legend, v.Columns = append(v.Legend, c.name), append(v.Columns, c.name)
		}
		if top == 0 {
			continue
		}
		picture.About = plan.title + " over the run: " + strings.Join(v.Legend, ", ") + ". The figures are in the table below."
		v.draw(picture, top, plan.unit)
		for j := range rows {
			row := []string{clockText(rows[j].At)}
			for _, c := range plan.columns {
				row = append(row, figureText(c.of(&rows[j]), plan.unit))
			}
			v.Rows = append(v.Rows, row)
		}
		views = append(views, v)
	}
	return views
}

// line returns the figures of all points, each placed in the middle of the time that the point
// covers.
func (c *column) line(points []Point) chart.Line {
	var line chart.Line
	for i := range points {
		p := &points[i]
		y := math.NaN()
		if value := c.of(p); value != nil {
			y = *value
		}
		line.X, line.Y = append(line.X, p.At-p.Seconds/2), append(line.Y, y)
	}
	return line
}

// shaded returns the times during which the timing was not trusted.
func (r *Report) shaded() []chart.Span {
	var spans []chart.Span
	for _, p := range r.Timeline {
		if p.Trusted {
			continue
		}
		from := max(p.At-p.Seconds, 0)
		if n := len(spans); n > 0 && from-spans[n-1].To < 0.01 {
			spans[n-1].To = p.At
			continue
		}
		spans = append(spans, chart.Span{From: from, To: p.At})
	}
	return spans
}

// overTime returns a time axis of the given length in seconds.
func overTime(length float64) chart.Axis {
	step := chart.Step(length, 6)
	for _, round := range [...]float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400} {
		if length/round <= 6 {
			step = round
			break
		}
	}
	axis := chart.Axis{To: length}
	for second := 0.0; second <= length; second += step {
		axis.Ticks = append(axis.Ticks, chart.Tick{At: second, Text: clockText(second)})
	}
	return axis
}

// distributions returns the distributions that are not empty, each as a bar chart and as a curve by
// percentile.
func (r *Report) distributions() []view {
	var views []view
	for i, d := range distributions {
		buckets, points := *r.Histograms.All()[i], *r.Percentiles.All()[i]
		var all uint64
		for _, b := range buckets {
			all += b.Count
		}
		if all == 0 {
			continue
		}
		views = append(views, bars(fmt.Sprintf("bars-%d", i+1), d.title, all, buckets))
		if len(points) > 0 {
			views = append(views, byPercentile(fmt.Sprintf("percentiles-%d", i+1), d.title, all, points))
		}
	}
	return views
}

// bars shows the share of each bucket, from the first to the last one that is not empty.
func bars(id, title string, all uint64, buckets []Bucket) view {
	holds := func(b Bucket) bool { return b.Count > 0 }
	buckets = buckets[slices.IndexFunc(buckets, holds):]
	for !holds(buckets[len(buckets)-1]) {
		buckets = buckets[:len(buckets)-1]
	}
	v := view{Title: title, About: "The number of values in each range, and their share of all", Columns: []string{"Duration", "Count", "Share"}}
	picture := &chart.Chart{ID: id, Title: title, About: "The share of all values in each range of durations. The figures are in the table below."}
	picture.X.To = float64(max(len(buckets), 8))
	every := int(math.Ceil(chart.LabelWidth / (chart.PageWidth / picture.X.To)))
	top := 0.0
	for i, b := range buckets {
		place, share := float64(i), float64(b.Count)/float64(all)
		text := "more"
		if b.End > 0 {
			text = "≤ " + msText(b.End)
		}
		top = max(top, share*100)
		picture.Bars = append(picture.Bars, chart.Bar{From: place, To: place + 1, Value: share * 100, Text: text + ": " + shareText(share)})
		if i%every == 0 {
			picture.X.Ticks = append(picture.X.Ticks, chart.Tick{At: place + 0.5, Text: text})
		}
		v.Rows = append(v.Rows, []string{text, countText(b.Count), shareText(share)})
	}
	v.draw(picture, top, func(percent float64) string { return verdict.Short(percent) + " %" })
	return v
}

// byPercentile shows a distribution by percentile, on the axis that HdrHistogram uses: each
// additional nine takes as much space as the one before.
func byPercentile(id, title string, count uint64, points []Percentile) view {
	last := math.Log10(max(float64(count), 10))
	v := view{Title: title + " by percentile", About: "The longest time of each percentage, from the fastest", Columns: []string{"Percentile", "At most"}}
	line, top := chart.Line{}, 0.0
	for _, p := range points {
		x := last
		if p.Percentile < 100 {
			x = min(-math.Log10(1-p.Percentile/100), last)
		}
		line.X, line.Y = append(line.X, x), append(line.Y, p.MS)
		top = max(top, p.MS)
		v.Rows = append(v.Rows, []string{percentText(p.Percentile), msText(p.MS)})
	}
	v.draw(&chart.Chart{
		ID: id, Title: v.Title, X: chart.Axis{To: max(last, 1), Ticks: nines(last)}, Lines: []chart.Line{line},
		About: "The longest time in each share of all values, from the fastest; each further nine of the percentage takes as much space as the one before. The figures are in the table below.",
	}, top, msText)
	return v
}

// nines returns the tick marks of an axis by percentile: 0 %, 50 %, 90 %, 99 % and so on.
func nines(last float64) []chart.Tick {
	marks := []chart.Tick{{At: 0, Text: "0 %"}, {At: math.Log10(2), Text: "50 %"}}
	for n := 1.0; n <= last; n++ {
		marks = append(marks, chart.Tick{At: n, Text: percentText(math.Round((100-math.Pow(10, 2-n))*1e10) / 1e10)})
	}
	if last > 3 { // there is no space for the mark at 50 %
		marks = append(marks[:1], marks[2:]...)
	}
	return marks
}
