package bench

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// grid is a table of texts.
type grid struct {
	rows [][]string
	left int // the number of columns that are aligned to the left
}

func (g *grid) row(cells ...string) { g.rows = append(g.rows, cells) }

func (g *grid) String() string {
	var widths []int
	for _, row := range g.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range g.rows {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i < g.left {
				line.WriteString(cell + pad + "  ")
			} else {
				line.WriteString(pad + cell + "  ")
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// closedTable returns a table with a row for each result, and one for each rival below it.
func (r *run) closedTable() string {
	g := &grid{left: 1}
	what := "scenario"
	if len(r.opts.Config) > 0 {
		what = "endpoint"
	}
	g.row(what, "requests/s", "CPU µs/request", "ratio to bare", "±", "p50 ms", "p99 ms", "memory MB", "errors")
	for _, res := range r.results {
		m, rs := res.medians(), res.sound()
		memory := func(side string) string { // after the last round
			return (rs[max(len(rs)-1, 0):].median(side, func(f *figures) figure { return f.Memory }) / 1e6).text(1)
		}
		g.row(res.Name, m.Rate.text(0), m.CPU.text(1), m.RatioMean.text(3), m.RatioError.text(3), m.Latency.at(50).text(2), m.Latency.at(99).text(2),
			memory(nameOfCandidate), fmt.Sprint(res.Rounds.errors(nameOfBaseline, nameOfCandidate, nameOfAlone)))
		for _, rival := range r.opts.Rivals {
			ratio := rs.summarize(func(r *round) figure { return r.Sides[rival.Name].CPU / r.Sides[nameOfBaseline].CPU })
			g.row("  "+rival.Name, "", rs.median(rival.Name, cpuOf).text(1), ratio.mean.text(3), ratio.deviation.text(3), "", "",
				memory(rival.Name), fmt.Sprint(res.Rounds.errors(rival.Name)))
		}
	}
	return g.String() + "\nMedians of the rounds. The ratio is CPU time a request compared with the bare handler in the same round, the mean\n" +
		"with its standard error. p50 and p99 are of a closed loop, which waits for slow answers: to measure\n" +
		"latency under load, use --rate.\n"
}

// openTable returns a table with a row for each side of each result.
func openTable(results []*result) string {
	g := &grid{left: 2}
	g.row("what", "", "rate/s", "answered/s", "p50 ms", "p90", "p99", "p99.9", "p99.99", "max", "missed", "late", "CPU µs/request", "errors")
	for _, res := range results {
		rs := res.sound()
		for _, side := range res.Rounds[0].names() {
			cells := []string{res.Name, side, figure(res.Rate).text(0), rs.median(side, rateOf).text(0)}
			l := rs.latency(side)
			for _, percentile := range []float64{50, 90, 99, 99.9, 99.99, 100} {
				cells = append(cells, l.at(percentile).text(3))
			}
			missed, late := rs.sum(side, func(f *figures) uint64 { return f.Missed }), rs.sum(side, func(f *figures) uint64 { return f.Late })
			g.row(append(cells, missed.text(0), late.text(0), rs.median(side, cpuOf).text(1), fmt.Sprint(res.Rounds.errors(side)))...)
		}
	}
	return g.String() + "\nPercentiles over all rounds, from the time each request was due. Missed were due and never sent; late were sent\n" +
		"more than a millisecond after they were due: the time until then is in their latency.\n"
}
