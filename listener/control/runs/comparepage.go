package runs

import (
	"errors"
	"html/template"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"

	"mockserver/listener/observe/verdict"
)

// comparisonPage is the data of the template of a comparison.
type comparisonPage struct {
	Comparison
	Style template.CSS
}

// Page returns the comparison as a page that loads nothing.
func (c *Comparison) Page() ([]byte, error) {
	return rendered("compare.html", comparisonPage{*c, Style()})
}

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

// pairRow is a pair formatted as text.
type pairRow struct{ Name, A, B, Difference, Change, Finding string }

// units contains functions that format figures, keyed by the unit in the tag of their field.
var units = map[string]func(float64) string{
	"count": func(n float64) string { return countText(uint64(n)) },
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
			list = append(list, pairRow{name, intervalText(p.A, text), intervalText(p.B, text), difference, changeText(p.Change), p.Finding})
		}
	}
	return list
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
