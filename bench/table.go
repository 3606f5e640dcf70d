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

// closedTable returns a table with a row for each result.
func closedTable(results []*result, endpoints bool) string {
	g := &grid{left: 1}
	what := "scenario"
	if endpoints {
		what = "endpoint"
	}
	g.row(what, "requests/s", "CPU µs/request", "ratio to bare", "±", "p50 ms", "p99 ms", "memory MB", "errors")
	for _, res := range results {
		m, memory := res.medians(), unknown
		if rs := res.sound(); len(rs) > 0 {
			memory = rs[len(rs)-1].Candidate.Memory / 1e6
		}
		g.row(res.Name, m.Rate.text(0), m.CPU.text(1), m.RatioMean.text(2), m.RatioError.text(2), m.Latency.at(50).text(2), m.Latency.at(99).text(2),
			memory.text(1), fmt.Sprint(res.Rounds.errors(baselineOf, quietOf, aloneOf, candidateOf)))
	}
	return g.String() + "\nMedians of the rounds. The ratio is CPU time a request compared with the bare handler in the same round, the mean\n" +
		"with its standard error. p50 and p99 are of a closed loop, which waits for slow answers: to measure\n" +
		"latency under load, use --rate.\n"
}

// sidesTable returns a table with a row for each side of each result.
func sidesTable(results []*result) string {
	g := &grid{left: 2}
	g.row("what", "", "CPU µs/request", "ratio to bare", "±", "memory MB", "errors")
	for _, res := range results {
		rs, name := res.sound(), res.Name
		for _, side := range res.sides() {
			memory, ratio := unknown, rs.ratioOf(side.of)
			if len(rs) > 0 {
				memory = side.of(&rs[len(rs)-1]).Memory / 1e6
			}
			g.row(name, side.name, rs.median(side.of, cpuOf).text(2), ratio.mean.text(3), ratio.deviation.text(3), memory.text(1), fmt.Sprint(res.Rounds.errors(side.of)))
			name = ""
		}
	}
	return g.String() + "\nThe ratio is CPU time a request compared with the bare handler in the same round: the mean of the rounds, with its\n" +
		"standard error.\n"
}

// openTable returns a table with two rows for each result: the baseline and the server.
func openTable(results []*result) string {
	g := &grid{left: 2}
	g.row("what", "", "rate/s", "answered/s", "p50 ms", "p90", "p99", "p99.9", "p99.99", "max", "missed", "late", "CPU µs/request", "errors")
	for _, res := range results {
		rs := res.sound()
		for _, side := range bothSides {
			cells := append([]string{res.Name, side.name, figure(res.Rate).text(0)}, rs.answers(side.of, 50, 90, 99, 99.9, 99.99, 100)...)
			late := rs.sum(side.of, func(f *figures) uint64 { return f.Late })
			g.row(append(cells, rs.missed(side.of).text(0), late.text(0), rs.median(side.of, cpuOf).text(1), fmt.Sprint(res.Rounds.errors(side.of)))...)
		}
	}
	return g.String() + "\nPercentiles over all rounds, from the time each request was due. Missed were due and never sent; late were sent\n" +
		"more than a millisecond after they were due: the time until then is in their latency.\n"
}

// curveTable returns a table with a row for each step.
func curveTable(res *result) string {
	g := &grid{}
	g.row("load", "rate/s", "answered/s", "p50 ms", "p99", "p99.9", "missed", "bare: answered/s", "p50 ms", "p99", "p99.9")
	for i := range res.Curve {
		st := &res.Curve[i]
		rs := st.sound()
		cells := append([]string{fmt.Sprintf("%.0f %%", 100*st.Share), figure(st.Rate).text(0)}, rs.answers(candidateOf, 50, 99, 99.9)...)
		g.row(append(append(cells, rs.missed(candidateOf).text(0)), rs.answers(baselineOf, 50, 99, 99.9)...)...)
	}
	return fmt.Sprintf("%s: %s; capacity %s requests/s\n", res.Name, res.Shows, figure(res.Capacity).text(0)) + g.String() +
		"\nLatency from the time each request was due.\n"
}

// answers returns the cells of one side: requests answered a second, and percentiles.
func (rs rounds) answers(of sideOf, percentiles ...float64) []string {
	cells := []string{rs.median(of, rateOf).text(0)}
	l := rs.latency(of)
	for _, q := range percentiles {
		cells = append(cells, l.at(q).text(3))
	}
	return cells
}

func (rs rounds) missed(of sideOf) figure {
	return rs.sum(of, func(f *figures) uint64 { return f.Missed })
}
