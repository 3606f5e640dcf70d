package samples

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// percentileTable is a distribution by percentiles that another program has computed.
type percentileTable struct {
	rows  []percentileRow
	count int64 // samples; 0 if unknown
}

type percentileRow struct {
	rank   float64 // 0 to 100
	length time.Duration
	line   int // in the file
}

// add adds a percentile, and returns what is wrong with it.
func (t *percentileTable) add(rank float64, text string, line int, unit time.Duration) string {
	d, wrong := length(text, unit)
	if wrong == "" && !(rank >= 0 && rank <= 100) {
		wrong = fmt.Sprintf("the percentile is %v; expected 0 to 100", rank)
	}
	t.rows = append(t.rows, percentileRow{rank, d, line})
	return wrong
}

// spectrumRow adds a row of a table: a value, the fraction of all samples up to it, and their
// number.
func (t *percentileTable) spectrumRow(cells []string, line int, unit time.Duration) string {
	part, err := number(cells[2])
	n, _ := strconv.ParseInt(cells[3], 10, 64)
	if err != nil {
		return fmt.Sprintf("%q is not a percentile", cells[2])
	}
	t.count = max(t.count, n)
	return t.add(rounded(part*100), cells[1], line, unit)
}

// vegeta adds the percentiles of a line "[min, mean, 50, 90, 95, 99, max]  1ms, 2ms, …".
func (t *percentileTable) vegeta(cells []string, line int) string {
	names, values := strings.Split(cells[1], ","), strings.Split(cells[2], ",")
	if len(names) != len(values) {
		return fmt.Sprintf("declares %d latencies and has %d", len(names), len(values))
	}
	for i, name := range names {
		if rank, ok := rankNamed(strings.TrimSpace(name)); ok { // not mean
			if wrong := t.add(rank, values[i], line, 0); wrong != "" {
				return wrong
			}
		}
	}
	return ""
}

// rankNamed returns the rank of a percentile by its name: min, 99.9 or max.
func rankNamed(name string) (rank float64, ok bool) {
	switch name {
	case "min":
		return 0, true
	case "max":
		return 100, true
	}
	rank, err := number(name)
	return rank, err == nil
}

// curve returns the points of a table: all of them if they are few, otherwise the lengths at the
// ranks of a curve with as many samples as the table.
func (t *percentileTable) curve() (Curve, error) {
	rows := t.rows[:0:0]
	for i, r := range t.rows {
		if i > 0 && r.rank < t.rows[i-1].rank {
			return Curve{}, &Problem{r.line, min(r.line, 1), fmt.Sprintf("the percentile %v comes after %v; expected rising percentiles", r.rank, t.rows[i-1].rank)}
		}
		if i > 0 && r.length < t.rows[i-1].length {
			return Curve{}, &Problem{r.line, min(r.line, 1), fmt.Sprintf("the length at %v percent, %v, is below that at %v percent, %v; lengths must not fall as percentiles rise",
				r.rank, r.length, t.rows[i-1].rank, t.rows[i-1].length)}
		}
		if n := len(rows); n > 0 && rows[n-1].rank == r.rank {
			rows = rows[:n-1] // the last of several lengths is the one at the percentile
		}
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		return Curve{}, nil
	}
	c := Curve{Count: max(t.count, 1), Max: rows[len(rows)-1].length}
	c.Min = rows[0].length // if the minimum is not known, nothing is shorter than the first percentile
	if len(rows) <= pointEach {
		for _, r := range rows {
			if r.rank > 0 && r.rank < 100 {
				c.Points = append(c.Points, Point{r.rank, r.length})
			}
		}
		return c, nil
	}
	for _, rank := range ranksOf(max(t.count, pointEach)) {
		c.Points = append(c.Points, Point{rank, at(rows, rank)})
	}
	return c, nil
}

// at returns the length at a rank, between the rows around it.
func at(rows []percentileRow, rank float64) time.Duration {
	for i, r := range rows {
		if r.rank < rank {
			continue
		}
		if i == 0 || r.rank == rank {
			return r.length
		}
		low := rows[i-1]
		return low.length + time.Duration(math.Round((rank-low.rank)/(r.rank-low.rank)*float64(r.length-low.length)))
	}
	return rows[len(rows)-1].length
}
