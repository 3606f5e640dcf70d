package samples

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"mockserver/internal/histogram"
	"mockserver/internal/wording"
)

// recording reads a recording of this program. An incomplete end, as left by a killed process, is
// ignored.
func (l *lines) recording() (Curve, error) {
	var all []time.Duration
	for {
		text, whole, err := l.next()
		var wrong *Problem
		switch {
		case errors.As(err, &wrong):
			return Curve{}, err
		case err != nil || !whole: // this includes a compressed frame that was cut off
			return Of(all), nil
		case l.line == 1 || len(text) == 0:
			continue
		}
		var x struct {
			Error string `json:"error"`
			First int64  `json:"first_us"`
			Last  int64  `json:"last_us"`
		}
		if err := json.Unmarshal(text, &x); err != nil {
			return Curve{}, l.problem("is not an exchange: %v", err)
		}
		if x.First < 0 || x.First > int64(MaxLength/time.Microsecond) {
			return Curve{}, l.problem("first_us is %d; expected 0 to 24h", x.First)
		}
		if x.Error == "" && x.Last > 0 {
			all = append(all, time.Duration(x.First)*time.Microsecond)
		}
	}
}

// vegeta reads a report of vegeta in JSON. Its numbers are nanoseconds.
func (l *lines) vegeta() (Curve, error) {
	var report struct {
		Latencies map[string]float64 `json:"latencies"`
		Requests  int64              `json:"requests"`
	}
	text, err := io.ReadAll(io.LimitReader(l.r, 1<<20))
	if err != nil {
		return Curve{}, err
	}
	if err := json.Unmarshal(text, &report); err != nil || report.Latencies == nil {
		return Curve{}, &Problem{Line: 1, Column: 1, What: "is not a report of vegeta; expected an object with latencies"}
	}
	var t percentileTable
	for name, value := range report.Latencies {
		if rank, ok := rankNamed(strings.TrimSuffix(name, "th")); ok && rank <= 100 { // not total and mean
			t.rows = append(t.rows, percentileRow{rank: rank, length: time.Duration(min(value, math.MaxInt64/2))})
		}
	}
	slices.SortFunc(t.rows, func(a, b percentileRow) int { return int(1000 * (a.rank - b.rank)) })
	t.count = report.Requests
	return t.curve()
}

// hdr reads a log of HdrHistogram: the histograms of all its tags.
func (l *lines) hdr(o Options) (Curve, error) {
	o.Unit = cmp.Or(o.Unit, time.Nanosecond)
	counts, total := map[int64]int64{}, int64(0)
	err := l.each(func(line string) string {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '"' {
			return ""
		}
		err := histogram.ReadHDR(line[strings.LastIndexByte(line, ',')+1:], func(value, count int64) {
			total += min(count, math.MaxInt64-total)
			counts[value] += count
		})
		switch {
		case err != nil:
			return "is not a histogram: " + err.Error()
		case total == math.MaxInt64:
			return "has too many samples; expected fewer than 2^63"
		}
		return ""
	})
	if err != nil {
		return Curve{}, err
	}
	values := slices.Sorted(maps.Keys(counts))
	sums, n := make([]int64, len(values)), int64(0) // samples up to each value
	for i, value := range values {
		if value < 0 || float64(value)*float64(o.Unit) > float64(MaxLength) {
			return Curve{}, &Problem{What: fmt.Sprintf("has the value %d, which is longer than 24h with a unit of %v", value, o.Unit)}
		}
		n += counts[value]
		sums[i] = n
	}
	return curve(n, func(i int64) time.Duration {
		at, _ := slices.BinarySearch(sums, i+1)
		return time.Duration(values[at]) * o.Unit
	}), nil
}

// table reads a column of a table. The first row names the columns if o names a column, or if its
// first cell is not a length.
func (l *lines) table(name string, o Options) (Curve, error) {
	r := csv.NewReader(l.r)
	r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord, r.TrimLeadingSpace = -1, true, true, true
	if filepath.Ext(name) == ".tsv" {
		r.Comma = '\t'
	}
	var all []time.Duration
	column := 0
	for first := true; ; first = false {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var bad *csv.ParseError
		switch {
		case errors.As(err, &bad):
			return Curve{}, &Problem{bad.Line, bad.Column, bad.Err.Error()}
		case err != nil:
			return Curve{}, err
		case first && o.Column != "":
			if column = slices.IndexFunc(cells, func(c string) bool { return strings.TrimPrefix(c, "\uFEFF") == o.Column }); column < 0 {
				return Curve{}, &Problem{1, 1, fmt.Sprintf("has no column %q; expected %s", o.Column, wording.OneOf(cells))}
			}
			continue
		case column >= len(cells):
			line, at := r.FieldPos(0)
			return Curve{}, &Problem{line, at, fmt.Sprintf("the row has %s; expected %d", wording.Count(len(cells), "cell"), column+1)}
		}
		d, wrong := length(strings.TrimPrefix(cells[column], "\uFEFF"), o.Unit)
		if wrong == "" {
			all = append(all, d)
			continue
		}
		if _, wrong := length(cells[column], time.Second); first && strings.Contains(wrong, "not a duration") {
			continue // a title
		}
		line, at := r.FieldPos(column)
		return Curve{}, &Problem{line, at, wrong}
	}
	return Of(all), nil
}

var (
	// spectrumRow is a line such as "1.223 0.500000 500 2.00": value, part, count, 1/(1-part).
	spectrumRow = regexp.MustCompile(`^\s*([0-9.]+)\s+([01](?:\.[0-9]+)?)\s+([0-9]+)(?:\s+\S+)?\s*$`)
	// spectrumHead is the line above such rows, which has a unit in the output of vegeta.
	spectrumHead = regexp.MustCompile(`^\s*Value(?:\((ns|us|ms|s)\))?\s+Percentile\s+TotalCount`)
	// summaryRow is a line such as " 99.900%    1.23ms" of wrk.
	summaryRow = regexp.MustCompile(`^\s*([0-9.]+)%\s+([0-9.]+(?:ns|us|µs|ms|s|m|h))\s*$`)
	// vegetaRow is the line of latencies in the output of vegeta.
	vegetaRow = regexp.MustCompile(`^Latencies\s+\[([^\]]*)\]\s+(.*)$`)
)

// percentiles reports whether a text looks like percentiles that a program has printed.
func percentiles(head string) bool {
	for line := range strings.SplitSeq(head, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if spectrumHead.MatchString(line) || summaryRow.MatchString(line) || vegetaRow.MatchString(line) {
			return true
		}
	}
	return false
}

// spectrum reads percentiles that a program has printed. A complete table takes precedence
// over a summary.
func (l *lines) spectrum(o Options) (Curve, error) {
	var summary, full percentileTable
	inTable := false
	unit := cmp.Or(o.Unit, time.Millisecond)
	err := l.each(func(line string) string {
		switch {
		case spectrumHead.MatchString(line):
			inTable = true
			if u, ok := Units[spectrumHead.FindStringSubmatch(line)[1]]; ok {
				unit = u
			}
		case inTable && spectrumRow.MatchString(line):
			return full.spectrumRow(spectrumRow.FindStringSubmatch(line), l.line, unit)
		case summaryRow.MatchString(line):
			m := summaryRow.FindStringSubmatch(line)
			rank, _ := number(m[1])
			return summary.add(rank, m[2], l.line, 0)
		case vegetaRow.MatchString(line):
			return summary.vegeta(vegetaRow.FindStringSubmatch(line), l.line)
		}
		return ""
	})
	if err != nil {
		return Curve{}, err
	}
	if len(full.rows) > 0 {
		return full.curve()
	}
	return summary.curve()
}
