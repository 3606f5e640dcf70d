package runs

import (
	"fmt"
	"math"

	"mockserver/internal/histogram"
	"mockserver/listener/verdict"
)

// Percentile is one point of a distribution: so many percent took at most MS.
type Percentile struct {
	Percentile float64 `json:"percentile" doc:"0 to 100"`
	MS         float64 `json:"ms" doc:"so many percent took at most this long"`
}

// Percentiles are the distributions of a run by percentile, finer towards 100, as those
// of HdrHistogram are: empty where nothing was timed.
type Percentiles struct {
	Own            []Percentile `json:"own" doc:"the server's own time"`
	Injected       []Percentile `json:"injected" doc:"latency as declared"`
	InjectionError []Percentile `json:"injection_error" doc:"how much later than declared answers were"`
	WebhookLag     []Percentile `json:"webhook_lag" doc:"how late first attempts of webhooks were"`
}

// percentilesOf reads a distribution at the same steps between any two nines: 0 to 90,
// 90 to 99, 99 to 99.9. It ends where less than one of all is left, with the longest.
func percentilesOf(l histogram.Snapshot) []Percentile {
	list := []Percentile{}
	if l.Count == 0 {
		return list
	}
	for nine := 1.0; ; nine /= 10 {
		for _, tenth := range [...]float64{10, 9, 8, 7, 6, 5, 4, 3, 2.5, 2, 1.5, 1.2} {
			left := nine * tenth / 10
			if left*float64(l.Count) < 1 {
				return append(list, Percentile{100, verdict.Milliseconds(l.Max)})
			}
			// As a person writes it: 99.97 and not 99.970000000000013.
			list = append(list, Percentile{math.Round((1-left)*1e12) / 1e10, verdict.Milliseconds(l.Quantile(1 - left))})
		}
	}
}

// percentileChart is the curve of a distribution by percentile. Its axis is that of
// HdrHistogram: each nine takes as much room as the one before.
func percentileChart(id, title string, count uint64, points []Percentile) chartView {
	last := math.Log10(max(float64(count), 10))
	line := curve{name: title}
	view := chartView{Title: title + " by percentile", About: "What the fastest so many percent took at most", Columns: []string{"Percentile", "At most"}}
	for _, p := range points {
		x := last
		if p.Percentile < 100 {
			x = min(-math.Log10(1-p.Percentile/100), last)
		}
		line.x, line.y = append(line.x, x), append(line.y, p.MS)
		view.Rows = append(view.Rows, []string{percentText(p.Percentile), msText(p.MS)})
	}
	chart := curves{
		id: id, title: view.Title, length: last, unit: msText, lines: []curve{line}, marks: nines(last),
		about: "Up to which length of time each share of all took; each further nine of the share takes as much room as the one before. The figures are in the table below.",
	}
	view.SVG = chart.svg()
	return view
}

// percentText is a percentile with all of its nines.
func percentText(p float64) string { return fmt.Sprintf("%.10g %%", p) }

// nines are the marks of an axis by percentile: 0 %, 50 %, 90 %, 99 %, as far as it goes.
func nines(last float64) []axisMark {
	marks := []axisMark{{0, "0 %"}, {math.Log10(2), "50 %"}}
	for n := 1.0; n <= last; n++ {
		marks = append(marks, axisMark{n, percentText(math.Round((100-math.Pow(10, 2-n))*1e10) / 1e10)})
	}
	if last > 3 { // the marks come too near for it
		marks = append(marks[:1], marks[2:]...)
	}
	return marks
}
