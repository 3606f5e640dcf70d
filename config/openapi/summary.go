package openapi

import (
	"fmt"
	"log/slog"
	"strings"

	"mockserver/config/syntax"
	"mockserver/internal/wording"
)

const (
	// ListedWarnings is the maximum number of warnings of a document that are logged one by one. If
	// there are more, the log contains only their number, in the summary.
	ListedWarnings = 10

	shownRoutes    = 5
	shownBasePaths = 5
)

// Summary returns the description of the document for a line of the log.
func (d *Document) Summary() []slog.Attr {
	warnings := d.Problems.Warnings()
	counted := countWarnings(warnings)
	if len(warnings) > ListedWarnings {
		counted += `; "mockserver validate" lists them`
	}
	routes, more := d.firstRoutes()
	return []slog.Attr{
		slog.String("file", d.File), slog.String("title", wording.Bounded(d.Title)), slog.String("version", wording.Bounded(d.Version)),
		slog.Int("operations", len(d.Operations)), slog.String("base_paths", d.firstBasePaths()), slog.String("routes", routes),
		slog.Int("more", more), slog.String("warnings", counted),
	}
}

// countWarnings returns "none", or a text such as "147 warnings of 6 kinds". Each warning without a
// kind counts as its own kind.
func countWarnings(warnings syntax.Problems) string {
	if len(warnings) == 0 {
		return "none"
	}
	kinds, single := map[string]bool{}, 0
	for _, w := range warnings {
		if w.Kind == "" {
			single++
		} else {
			kinds[w.Kind] = true
		}
	}
	return wording.Count(len(warnings), "warning") + " of " + wording.Count(len(kinds)+single, "kind")
}

// firstRoutes returns the first routes of a document, and how many more there are.
func (d *Document) firstRoutes() (routes string, more int) {
	var first []string
	for _, o := range d.Operations[:min(shownRoutes, len(d.Operations))] {
		first = append(first, wording.Label(o.Method)+" "+wording.Label(o.Path))
	}
	return strings.Join(first, ", "), len(d.Operations) - len(first)
}

// firstBasePaths returns a text with the first base paths of a document and the number of others.
func (d *Document) firstBasePaths() string {
	var first []string
	for _, base := range d.BasePaths[:min(shownBasePaths, len(d.BasePaths))] {
		first = append(first, wording.Label(base))
	}
	text := strings.Join(first, ", ")
	if more := len(d.BasePaths) - len(first); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
