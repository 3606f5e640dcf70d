package runs

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"reflect"
	"slices"
	"strings"

	"mockserver/internal/chart"
)

// view is a chart with a table of its figures.
type view struct {
	Title, About string
	Legend       []string
	SVG          template.HTML
	Columns      []string
	Rows         []viewRow
}

// viewRow has the figures at a place of the x axis: At is its share of the width, 0 to 1.
type viewRow struct {
	At    float64
	Cells []string
}

// near returns the number of the row that is nearest to a place of the x axis; -1 if none is nearer than most.
func (v *view) near(at, most float64) int {
	row := -1
	for i, r := range v.Rows {
		if d := math.Abs(r.At - at); d < most {
			row, most = i, d
		}
	}
	return row
}

// cell adds the text of the n-th curve to a row, or to a new one if there is none, whose number is -1.
func (v *view) cell(row int, at float64, head string, n int, text string) {
	if row < 0 {
		row = len(v.Rows)
		v.Rows = append(v.Rows, viewRow{at, append([]string{head}, slices.Repeat([]string{none}, len(v.Columns)-1)...)})
	}
	v.Rows[row].Cells[n+1] = text
}

// sort puts the rows in the order of the x axis.
func (v *view) sort() {
	slices.SortStableFunc(v.Rows, func(a, b viewRow) int { return cmp.Compare(a.At, b.At) })
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

// curve is a figure over time: a field of Point.
type curve struct {
	name, field string
	points      []Point // nil for those of the report
}

// of returns the figure of a point, or nil if it is unknown.
func (c *curve) of(p *Point) *float64 {
	value := reflect.ValueOf(p).Elem().FieldByName(c.field)
	if value.Kind() == reflect.Float64 {
		value = value.Addr()
	}
	return value.Interface().(*float64)
}

// plan describes a chart over time.
type plan struct {
	title, about string
	unit         func(float64) string
	curves       []curve
}

// mainPlans returns the charts of what clients get, and plans the other charts of a report.
func mainPlans() []plan {
	return []plan{
		{"Response time", "Delivered is the response time of all requests. Declared is the latency drawn for those that have one", msText, []curve{{name: "delivered p99", field: "TotalP99"}, {name: "declared p99", field: "InjectedP99"}, {name: "p50", field: "TotalP50"}}},
		{"Failed requests", "The share of the requests that a client saw fail", shareText, []curve{{name: "failed", field: "FailedShare"}}},
		{"Requests a second", "Requests that were answered, that arrived, and that no endpoint matched", rateText, []curve{{name: "answered", field: "Rate"}, {name: "arrived", field: "Arrivals"}, {name: "unmatched", field: "Unmatched"}}},
	}
}

func plans() []plan {
	return []plan{
		{"Own time", "What the server itself took for a request", msText, []curve{{name: "p99", field: "OwnP99"}, {name: "p50", field: "OwnP50"}}},
		{"Injected latency", "The declared latency as it was drawn, of the requests that have one", msText, []curve{{name: "p99", field: "InjectedP99"}, {name: "p50", field: "InjectedP50"}}},
		{"Injection error", "How much later than the declared latency responses were ready", msText, []curve{{name: "p99", field: "InjectionErrorP99"}}},
		{"Lateness of items", "How late items of streams were that follow the first one", msText, []curve{{name: "p99", field: "StreamGapErrorP99"}}},
		{"Faults and limits a second", "Responses with a fault, and requests that a limit refused", rateText, []curve{{name: "faults", field: "Faults"}, {name: "refused by limits", field: "Limited"}}},
		{"Webhook lag", "How late first attempts of webhooks were", msText, []curve{{name: "p99", field: "WebhookLagP99"}}},
		{"In flight and pending", "Requests without a response yet, and webhooks that are not sent yet", rateText, []curve{{name: "requests in flight", field: "InFlight"}, {name: "webhooks pending", field: "WebhooksPending"}}},
		{"Pauses", "Stops of the garbage collector, waits of goroutines, and time lost to a CPU quota", msText, []curve{{name: "collector, longest", field: "PauseMax"}, {name: "scheduler p99", field: "SchedulerP99"}, {name: "quota", field: "Throttled"}}},
		{"CPU", "The process as a share of what it may use, the machine, and what the hypervisor gave to others", shareText, []curve{{name: "process, of its limit", field: "CPU"}, {name: "machine", field: "MachineCPU"}, {name: "stolen", field: "Steal"}}},
	}
}

// rowsShown is the maximum number of rows in the table of a chart over time.
const rowsShown = 60

// curves returns the charts over time of a report; empty is whether charts without a figure above 0 are
// among them.
func (r *Report) curves(id string, plans []plan, empty bool) []view {
	var views []view
	for i, p := range plans {
		for j := range p.curves {
			p.curves[j].points = r.Timeline
		}
		if v, top := p.view(fmt.Sprintf("%s-%d", id, i+1), r.Total.Seconds, r.shaded()); top > 0 || empty {
			views = append(views, v)
		}
	}
	return views
}

// view draws the chart, and returns its largest value.
func (p *plan) view(id string, seconds float64, shaded []chart.Span) (v view, top float64) {
	picture := &chart.Chart{ID: id, Title: p.title, X: overTime(max(seconds, 1)), Shaded: shaded}
	v = view{Title: p.title, About: p.about + ": the maximum of each interval; of counts the average", Columns: []string{"At"}}
	for _, c := range p.curves {
		line := c.line()
		for _, y := range line.Y {
			if y > top {
				top = y
			}
		}
		picture.Lines = append(picture.Lines, line)
		v.Legend, v.Columns = append(v.Legend, c.name), append(v.Columns, c.name)
	}
	each := 1.0 // seconds of a row
	for each*rowsShown < seconds {
		each *= 2
	}
	most := 0.0 // the distance from a row; each point of the first curve has a row of its own
	for n, c := range p.curves {
		points := c.points
		for len(points) > 1 && points[len(points)/2].Seconds < 0.75*each {
			points = inPairs(points, func(p, q *Point) Point { return p.join(*q) })
		}
		for _, point := range points {
			at := (point.At - point.Seconds/2) / picture.X.To
			v.cell(v.near(at, most), at, clockText(point.At), n, figureText(c.of(&point), p.unit))
		}
		most = 0.55 * each / picture.X.To
	}
	v.sort()
	picture.About = p.about + ", over the run: " + strings.Join(v.Legend, ", ") + ". The arrow keys move through its values, which are in the table below too."
	v.draw(picture, top, p.unit)
	return v, top
}

// line returns the figures of all points, each placed in the middle of the time that the point
// covers.
func (c *curve) line() chart.Line {
	var line chart.Line
	for i := range c.points {
		p := &c.points[i]
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

// distributions returns the distributions that are not empty, each as a curve by percentile.
func (r *Report) distributions() []view {
	var views []view
	for i, d := range distributions {
		if points := *r.Percentiles.All()[i]; len(points) > 0 {
			views = append(views, byPercentile(fmt.Sprintf("percentiles-%d", i+1), d.title, []string{"at most"}, r.Total.Times.All()[i].Count, points))
		}
	}
	return views
}

// byPercentile shows distributions by percentile, on the axis that HdrHistogram uses: each additional
// nine takes as much space as the one before. count is the number of values in the largest one.
func byPercentile(id, title string, names []string, count uint64, curves ...[]Percentile) view {
	last := math.Log10(max(float64(count), 10))
	v := view{Title: title + " by percentile", About: "The longest time of each percentage, from the fastest", Columns: append([]string{"Percentile"}, names...)}
	picture := &chart.Chart{
		ID: id, Title: v.Title, X: chart.Axis{To: max(last, 1), Ticks: nines(last)},
		About: "The longest time in each share of all values, from the fastest; each further nine of the percentage takes as much space as the one before. The figures are in the table below.",
	}
	top := 0.0
	for n, points := range curves {
		line := chart.Line{}
		for _, p := range points {
			x := last
			if p.Percentile < 100 {
				x = min(-math.Log10(1-p.Percentile/100), last)
			}
			line.X, line.Y = append(line.X, x), append(line.Y, p.MS)
			top = max(top, p.MS)
			text := percentText(p.Percentile)
			v.cell(slices.IndexFunc(v.Rows, func(r viewRow) bool { return r.Cells[0] == text }), x/picture.X.To, text, n, msText(p.MS))
		}
		picture.Lines = append(picture.Lines, line)
	}
	if len(names) > 1 {
		v.Legend = names
	}
	v.sort()
	v.draw(picture, top, msText)
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
