package imports

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"mockserver/config/imports/draft"
	"mockserver/config/syntax"
	"mockserver/internal/list"
	"mockserver/internal/wording"
)

// shownItems is the maximum number of inexact items that Summary lists.
const shownItems = 20

// Summary writes the warnings, the first items that were not imported exactly, and the number of
// items of each kind.
func Summary(w io.Writer, d *draft.Draft) {
	exact, approximate, lost := d.Count(draft.Exact), d.Count(draft.Approximate), d.Count(draft.Lost)
	for _, n := range d.Notes {
		if n.Kind == draft.Warned {
			fmt.Fprintln(w, "warning:", line(n.Pos, n.Name, n.Why))
		}
	}
	shown := 0
	for _, i := range d.Items {
		if i.Kind == draft.Exact {
			continue
		}
		if shown++; shown > shownItems {
			fmt.Fprintf(w, "and %d more; --report FILE lists them all\n", approximate+lost-shownItems)
			break
		}
		fmt.Fprintf(w, "%v: %s\n", i.Kind, line(i.Pos, i.Name, i.Why))
	}
	fmt.Fprintf(w, "%s: %d exact, %d approximate, %d lost\n", wording.Count(len(d.Items), "item"), exact, approximate, lost)
}

// line returns "file:line:column: name: what".
func line(pos syntax.Pos, name, what string) string {
	var parts []string
	for _, part := range []string{pos.String(), name, what} {
		if part != "" {
			parts = append(parts, strings.Map(printable, part))
		}
	}
	return strings.Join(parts, ": ")
}

// printable replaces characters that would move the cursor of a terminal.
func printable(r rune) rune {
	if r < ' ' || r == 0x7F || r >= 0x80 && r < 0xA0 {
		return ' '
	}
	return r
}

// reported is an item or a note of a report.
type reported struct {
	Kind   string `json:"kind"`
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Name   string `json:"name"`
	Why    string `json:"why,omitempty"`
}

// reports returns items or notes as a report has them.
func reports(items []draft.Item) []reported {
	return list.Map(items, func(i draft.Item) reported {
		return reported{i.Kind.String(), i.Pos.File, i.Pos.Line, i.Pos.Column, i.Name, i.Why}
	})
}

// Report writes all items and notes as a table of four columns.
func Report(w io.Writer, d *draft.Draft) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, i := range slices.Concat(d.Items, d.Notes) {
		fmt.Fprintf(t, "%v\t%s\t%s\t%s\n", i.Kind, i.Pos, strings.Map(printable, i.Name), strings.Map(printable, i.Why))
	}
	return t.Flush()
}

// ReportJSON writes the report as a JSON object with counts, items and notes.
func ReportJSON(w io.Writer, d *draft.Draft) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Exact       int        `json:"exact"`
		Approximate int        `json:"approximate"`
		Lost        int        `json:"lost"`
		Items       []reported `json:"items"`
		Notes       []reported `json:"notes"`
	}{d.Count(draft.Exact), d.Count(draft.Approximate), d.Count(draft.Lost), reports(d.Items), reports(d.Notes)})
}
