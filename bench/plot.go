package bench

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"mockserver/internal/chart"
)

// Colors of the charts.
const (
	blue   = 1
	orange = 2
	green  = 3
	grey   = chart.Colors
)

// errNothingDrawn is the error of a plot without any result.
var errNothingDrawn = errors.New("there is no result to draw")

// draw draws the result into the file of --plot.
func (r *run) draw() error {
	shown := slices.DeleteFunc(slices.Clone(r.results), func(res *result) bool { return res.Void != "" })
	var c chart.Chart
	switch {
	case r.kind() == "curve" && len(r.results) > 0:
		c = curveChart(r.results[0])
	case len(shown) == 0:
		return fmt.Errorf("plot %s: %w", r.opts.Plot, errNothingDrawn)
	case r.kind() == "open_loop":
		c = percentileChart(shown)
	default:
		c = barChart(shown)
	}
	if err := writeWhole(r.opts.Plot, c.File()); err != nil {
		return fmt.Errorf("plot %s: %w", r.opts.Plot, err)
	}
	return nil
}

// barChart shows the CPU time of a request for each result, next to the baseline's; if the CPU time
// is unknown, requests a second.
func barChart(results []*result) chart.Chart {
	c := chart.Chart{Title: "CPU time of a request"}
	unit, of := "µs", cpuOf
	if !results[0].Rounds.median(candidateOf, cpuOf).isKnown() {
		c.Title, unit, of = "Requests answered", "requests/s", rateOf
	}
	height := func(f figure) float64 {
		if !f.isKnown() {
			return 0
		}
		return float64(f)
	}
	bare := chart.Bars{Name: "bare fasthttp handler", Color: grey}
	server := chart.Bars{Name: "mockserver", Color: blue}
	highest := 0.0
	for i, res := range results {
		place := float64(i)
		b := chart.Bar{From: place + 0.14, To: place + 0.5, Value: height(res.Rounds.median(baselineOf, of))}
		s := chart.Bar{From: place + 0.5, To: place + 0.86, Value: height(res.Rounds.median(candidateOf, of))}
		bare.Bars, server.Bars = append(bare.Bars, b), append(server.Bars, s)
		highest = max(highest, b.Value, s.Value)
		c.X.Ticks = append(c.X.Ticks, chart.Tick{At: place + 0.5, Text: clipped(res.Name, 30)})
	}
	c.X.To = max(float64(len(results)), 5) // so that a few bars do not become too wide
	c.Y = chart.UpTo(highest, 8, chart.Number)
	c.Y.Name = unit
	if highest > 0 {
		c.Bars = []chart.Bars{bare, server}
	}
	return c
}

// percentileChart shows latency by percentile, a line for each side of each result. Each further
// nine of a percentile takes the same width.
func percentileChart(results []*result) chart.Chart {
	c := chart.Chart{Title: "Latency from the time a request was due"}
	nines := func(percentile float64) float64 { return -math.Log10(1 - percentile/100) }
	c.X = chart.Axis{Name: "percentile", From: nines(50), To: nines(99.99)}
	for _, q := range []float64{50, 90, 99, 99.9, 99.99} {
		c.X.Ticks = append(c.X.Ticks, chart.Tick{At: nines(q), Text: fmt.Sprint(q)})
	}
	for i, res := range results {
		for _, side := range bothSides {
			l := chart.Line{Name: clipped(res.Name, 30) + ", " + side.name, Color: i%(chart.Colors-1) + 1, Dashed: side.name == "bare"}
			for _, q := range []float64{50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99} {
				addPoint(&l, nines(q), res.Rounds.latency(side.of).at(q))
			}
			addLine(&c, l)
		}
	}
	c.Y = logarithmic(c.Lines)
	return c
}

// curveChart shows latency by load, of both sides. A step with errors has no points.
func curveChart(res *result) chart.Chart {
	c := chart.Chart{Title: fmt.Sprintf("%s: latency by load; capacity %.0f requests/s", clipped(res.Name, 40), res.Capacity)}
	most := 0.0
	for i, q := range []float64{50, 99, 99.9} {
		for _, side := range bothSides {
			l := chart.Line{Name: fmt.Sprintf("p%g, %s", q, side.name), Color: []int{green, blue, orange}[i], Dashed: side.name == "bare"}
			for j := range res.Curve {
				if st := &res.Curve[j]; st.sound() != nil {
					addPoint(&l, 100*st.Share, st.Rounds.latency(side.of).at(q))
					most = max(most, 100*st.Share)
				}
			}
			addLine(&c, l)
		}
	}
	c.X = chart.UpTo(most, 8, chart.Number)
	c.X.Name = "load, % of capacity"
	c.Y = logarithmic(c.Lines)
	return c
}

// addPoint adds a point to a line with a logarithmic y axis, unless y is unknown or not above 0.
func addPoint(l *chart.Line, x float64, y figure) {
	if y > 0 {
		l.X, l.Y = append(l.X, x), append(l.Y, math.Log10(float64(y)))
	}
}

// addLine adds a line, unless it has no points.
func addLine(c *chart.Chart, l chart.Line) {
	if len(l.X) > 0 {
		c.Lines = append(c.Lines, l)
	}
}

// logarithmic returns an axis of milliseconds for lines whose values are logarithms.
func logarithmic(lines []chart.Line) chart.Axis {
	var all []float64
	for i := range lines {
		all = append(all, lines[i].Y...)
	}
	a := chart.Decades(all)
	a.Name = "ms"
	return a
}
