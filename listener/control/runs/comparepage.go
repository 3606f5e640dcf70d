package runs

import (
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"

	"mockserver/internal/wording"
	"mockserver/listener/observe/verdict"
)

// Page returns the comparison as a page that loads nothing.
func (c *Comparison) Page() ([]byte, error) { return rendered("compare.html", c) }

// Write writes the comparison as text, with the figures of the whole runs and those of endpoints that
// changed.
func (c *Comparison) Write(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	return errors.Join(writeText(w, "compare.txt", c), w.Flush())
}

// changed returns those rows of an endpoint whose figures differ by more than chance explains.
func changed(d Differences) []pairRow {
	return slices.DeleteFunc(rows(d), func(r pairRow) bool {
		return slices.Contains([]string{"", notDistinguishable, notDetermined}, r.Finding)
	})
}

// findings counts the figures by finding.
func (c *Comparison) findings() map[string]int {
	all, found := rows(c.Total), map[string]int{}
	for i := range c.Endpoints {
		all = append(all, rows(c.Endpoints[i].Differences)...)
	}
	for _, row := range all {
		found[row.Finding]++
	}
	return found
}

// charts returns the charts that have the curves of both runs.
func (c *Comparison) charts() []view {
	a, b := c.sides[0], c.sides[1]
	most := max(a.Total.Times.Total.Count, b.Total.Times.Total.Count)
	views := []view{byPercentile("percentiles", "Response time", []string{"A", "B"}, most, a.Percentiles.Total, b.Percentiles.Total)}
	for i, p := range []plan{
		{"Response time p99", "The response time of all requests", msText, []curve{{"A", "TotalP99", a.Timeline}, {"B", "TotalP99", b.Timeline}}},
		{"Requests a second", "Requests that were answered", rateText, []curve{{"A", "Rate", a.Timeline}, {"B", "Rate", b.Timeline}}},
	} {
		v, _ := p.view(fmt.Sprintf("curves-%d", i+1), max(a.Total.Seconds, b.Total.Seconds), nil)
		views = append(views, v)
	}
	return views
}

// pairRow is a pair formatted as text; Both has A and B without their intervals. Short is the name of
// the column of the table of endpoints, if the figure has one.
type pairRow struct{ Name, Short, About, A, B, Both, Difference, Change, Finding string }

// units contains functions that format figures, keyed by the unit in the tag of their field.
var units = map[string]func(float64) string{
	"count": func(n float64) string { return wording.Thousands(uint64(n)) },
	"rate":  rateText, "share": shareText, "ms": msText, "cores": verdict.Short,
	"bytes": func(n float64) string { return verdict.Short(n/(1<<20)) + " MiB" },
}

// rows returns the row for each field of a struct that has a row tag.
func rows(differences any) []pairRow {
	v := reflect.ValueOf(differences)
	var list []pairRow
	for _, f := range reflect.VisibleFields(v.Type()) {
		if name := f.Tag.Get("row"); name != "" {
			p, text := v.FieldByIndex(f.Index).Interface().(Pair), units[f.Tag.Get("unit")]
			difference := differenceText(p.Difference, text)
			if p.Low != nil {
				difference += " (" + differenceText(p.Low, text) + " to " + differenceText(p.High, text) + ")"
			}
			a, b := intervalText(p.A, text), intervalText(p.B, text)
			if isOfStreams(&f) && strings.Trim(a+b, none+"0") == "" {
				continue
			}
			list = append(list, pairRow{name, f.Tag.Get("short"), f.Tag.Get("doc"), a, b, fromTo(shortened(a), shortened(b)), difference, changeText(p.Change), p.Finding})
		}
	}
	return list
}

// isOfStreams reports whether the figure of a field exists only if there are streams.
func isOfStreams(f *reflect.StructField) bool { return strings.HasPrefix(f.Name, "Stream") }

// fromTo formats two figures with their unit once: "84.1 → 81.5 ms".
func fromTo(a, b string) string {
	if a == b {
		return a
	}
	if number, unit, found := strings.Cut(a, " "); found && strings.HasSuffix(b, " "+unit) {
		a = number
	}
	return a + " → " + b
}

// differenceText formats a difference in the unit of its figures. The difference between two
// percentages is in percentage points, so that it is not mistaken for a change in percent.
func differenceText(difference *float64, text func(float64) string) string {
	if difference == nil {
		return none
	}
	size := strings.Replace(text(math.Abs(*difference)), " %", " points", 1)
	if !strings.ContainsAny(size, "123456789") {
		size = "0"
	}
	return signed(*difference, size)
}

// changeText formats a change in percent.
func changeText(change *float64) string {
	if change == nil {
		return none
	}
	size := math.Abs(*change)
	if size < 0.0005 {
		size = 0
	}
	return signed(*change, shareText(size))
}

// signed prefixes the text of a figure's size with its sign: ± if the size is rounded to 0.
func signed(figure float64, size string) string {
	switch {
	case !strings.ContainsAny(size, "123456789"):
		return "±" + size
	case figure > 0:
		return "+" + size
	}
	return "\u2212" + size
}
