package bench

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"mockserver/internal/wording"
)

// Thresholds of remarks.
const (
	busyGenerator = 0.95 // of its processors' time: above it the generator is the bottleneck
	noisySpread   = 0.15 // of the ratio: rounds farther apart mean little
)

// report prints what was measured, writes the files, and returns the error that the
// run ends with.
func (r *run) report(err error) error {
	var b strings.Builder
	if len(r.results) > 0 {
		r.heading(&b)
	}
	var closed, open, curves []*result
	for _, res := range r.results {
		switch {
		case len(res.curve) > 0:
			curves = append(curves, res)
		case r.opts.Rate.given():
			open = append(open, res)
		default:
			closed = append(closed, res)
		}
	}
	if len(closed) > 0 {
		b.WriteString(closedTable(closed, len(r.opts.Config) > 0))
	}
	if len(open) > 0 {
		b.WriteString(openTable(open))
	}
	for _, res := range curves {
		b.WriteString(curveTable(res))
	}
	r.remarks(&b)
	if len(r.results) > 0 && err != nil {
		b.WriteString("\nThis is incomplete: the run ended before its time.\n")
	}
	if _, failed := fmt.Fprint(r.out, b.String()); failed != nil {
		err = errors.Join(err, failed)
	}
	if len(r.results) > 0 {
		err = errors.Join(err, r.files(err == nil))
	}
	for _, res := range r.results {
		if res.wrong != "" {
			err = errors.Join(err, fmt.Errorf("%s has no result: %s", res.name, res.wrong))
		}
	}
	return err
}

// heading writes where and how it was measured.
func (r *run) heading(b *strings.Builder) {
	m := &r.machine
	cpu := m.CPU
	if cpu == "" {
		cpu = "CPU unknown"
	}
	fmt.Fprintf(b, "%s/%s, %s, %s; %s; mockserver %s, %s, fasthttp %s\n", m.OS, m.Arch, cpu, wording.Count(m.CPUs, "CPU"), r.placed.Why, m.Mockserver, m.Go, m.Fasthttp)
	how := "closed loop: each connection sends its next request when the last was answered"
	switch {
	case r.opts.Curve:
		how = "open loop at a constant rate; latency from when a request was due"
	case r.opts.Rate.given():
		how = "open loop at a constant rate; latency from when a request was due"
	}
	fmt.Fprintf(b, "%s of %s a side, baseline and server in turn, %s; %s\n\n",
		wording.Count(r.opts.Rounds, "round"), r.opts.Duration.Round(time.Millisecond), wording.Count(r.opts.Connections, "connection"), how)
}

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

// closedTable is a row for each result.
func closedTable(results []*result, endpoints bool) string {
	g := &grid{left: 1}
	what := "scenario"
	if endpoints {
		what = "endpoint"
	}
	g.row(what, "requests/s", "CPU µs/request", "ratio to bare", "min–max", "p50 ms", "p99 ms", "memory MB", "errors")
	for _, res := range results {
		if res.wrong != "" {
			g.row(res.name, "–", "–", "–", "–", "–", "–", "–", count64(errorsOf(res.rounds)))
			continue
		}
		ratio := res.of((*pair).ratio)
		h := latency(res.rounds, candidateOf)
		g.row(res.name,
			number(res.of(func(p *pair) float64 { return p.candidate.rate }).median, 0),
			number(res.of(func(p *pair) float64 { return p.candidate.cpu }).median, 1),
			number(ratio.median, 2), span(ratio),
			number(at(h, 50), 2), number(at(h, 99), 2),
			number(memory(res), 1), "0")
	}
	return g.String() + "\nMedians of the rounds. The ratio is CPU time a request beside the bare handler in the same round;\n" +
		"p50 and p99 are those of a closed loop, which waits for slow answers: latency under load is for --rate.\n"
}

// openTable is two rows for each result: the baseline, and the server.
func openTable(results []*result) string {
	g := &grid{left: 2}
	g.row("what", "", "rate/s", "answered/s", "p50 ms", "p90", "p99", "p99.9", "p99.99", "max", "missed", "late", "CPU µs/request", "errors")
	for _, res := range results {
		for _, s := range []struct {
			name string
			of   func(p *pair) *figures
		}{{"bare", baselineOf}, {"server", candidateOf}} {
			h := latency(res.rounds, s.of)
			var missed, late, wrong uint64
			for i := range res.rounds {
				f := s.of(&res.rounds[i])
				missed, late = missed+f.missed, late+f.late
				for _, n := range f.errors {
					wrong += n
				}
			}
			cells := []string{res.name, s.name, number(res.rate, 0)}
			if res.wrong != "" {
				g.row(append(cells, "–", "–", "–", "–", "–", "–", "–", "–", "–", "–", count64(wrong))...)
				continue
			}
			cells = append(cells, number(res.of(func(p *pair) float64 { return s.of(p).rate }).median, 0))
			for _, q := range []float64{50, 90, 99, 99.9, 99.99, 100} {
				cells = append(cells, number(at(h, q), 3))
			}
			g.row(append(cells, count64(missed), count64(late),
				number(res.of(func(p *pair) float64 { return s.of(p).cpu }).median, 1), count64(wrong))...)
		}
	}
	return g.String() + "\nPercentiles over all rounds, from the time each request was due. Missed were due and never sent; late were sent\n" +
		"more than a millisecond after they were due: the time until then is in their latency.\n"
}

// curveTable is a row for each step.
func curveTable(res *result) string {
	g := &grid{}
	g.row("load", "rate/s", "answered/s", "p50 ms", "p99", "p99.9", "missed", "bare: answered/s", "p50 ms", "p99", "p99.9")
	for i := range res.curve {
		st := &res.curve[i]
		cells := []string{fmt.Sprintf("%.0f %%", 100*st.share), number(st.rate, 0)}
		if !st.isSound() {
			g.row(append(cells, "–", "–", "–", "–", "–", "–", "–", "–", "–")...)
			continue
		}
		for n, of := range []func(p *pair) *figures{candidateOf, baselineOf} {
			h := latency(st.rounds, of)
			var answered []float64
			var missed uint64
			for j := range st.rounds {
				f := of(&st.rounds[j])
				answered, missed = append(answered, f.rate), missed+f.missed
			}
			cells = append(cells, number(summarize(answered).median, 0))
			for _, q := range []float64{50, 99, 99.9} {
				cells = append(cells, number(at(h, q), 3))
			}
			if n == 0 {
				cells = append(cells, count64(missed))
			}
		}
		g.row(cells...)
	}
	return fmt.Sprintf("%s: %s; capacity %s requests/s\n", res.name, res.shows, number(res.capacity, 0)) + g.String() +
		"\nLatency from the time each request was due.\n"
}

// number is a figure for a table; a dash if it is unknown.
func number(v float64, digits int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	return fmt.Sprintf("%.*f", digits, v)
}

func count64(n uint64) string { return fmt.Sprint(n) }

func span(s summary) string {
	if math.IsNaN(s.median) {
		return "–"
	}
	return number(s.least, 2) + "–" + number(s.most, 2)
}

// memory is the memory of the server after the last round, in MB; NaN if it is unknown.
func memory(res *result) float64 {
	if len(res.rounds) == 0 {
		return math.NaN()
	}
	n := res.rounds[len(res.rounds)-1].candidate.memory
	if n == 0 {
		return math.NaN()
	}
	return float64(n) / 1e6
}

// errorsOf counts the errors of both sides in some rounds.
func errorsOf(rounds []pair) uint64 {
	var n uint64
	for i := range rounds {
		p := &rounds[i]
		for _, f := range []*figures{&p.baseline, &p.candidate, p.quiet} {
			if f == nil {
				continue
			}
			for _, k := range f.errors {
				n += k
			}
		}
	}
	return n
}
