package openapi

import (
	"fmt"
	"log/slog"
	"strings"

	"mockserver/config/syntax"
	"mockserver/internal/list"
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
	routes, more := first(shownRoutes, d.Operations, func(o *Operation) string { return wording.Label(o.Method) + " " + wording.Label(o.Path) })
	bases, others := first(shownBasePaths, d.BasePaths, wording.Label)
	if others > 0 {
		bases += fmt.Sprintf(" and %d more", others)
	}
	return []slog.Attr{
		slog.String("file", d.File), slog.String("title", wording.Bounded(d.Title)), slog.String("version", wording.Bounded(d.Version)),
		slog.Int("operations", len(d.Operations)), slog.String("base_paths", bases), slog.String("routes", routes),
		slog.Int("more", more), slog.String("warnings", counted),
	}
}

// first returns the first of some things, and how many more there are.
func first[T any](most int, all []T, name func(T) string) (text string, more int) {
	shown := all[:min(most, len(all))]
	return strings.Join(list.Map(shown, name), ", "), len(all) - len(shown)
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
