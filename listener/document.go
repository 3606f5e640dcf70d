package listener

import (
	"fmt"
	"slices"
	"strings"

	"mockserver/config"
	"mockserver/config/openapi"
	"mockserver/config/syntax"
	"mockserver/internal/wording"
)

const (
	// listedWarnings is how many warnings of a document are logged individually. If there are more,
	// the line about the document has their number instead.
	listedWarnings = 10

	shownRoutes    = 5 // of a document
	shownBasePaths = 5
)

// logDocuments logs a line for each OpenAPI document that has changed since it was last served.
// Warnings that are only counted in that line are added to known.
func (s *Server) logDocuments(spec *config.Spec, known map[syntax.Problem]bool) {
	var lines []string
	for _, d := range spec.Documents() {
		warnings := d.Problems.Warnings()
		counted := countWarnings(warnings)
		if len(warnings) > listedWarnings {
			for _, w := range warnings {
				known[w] = true
			}
			counted += `; "mockserver validate" lists them`
		}
		routes, more := routesOf(d)
		attrs := []any{
			"file", d.File, "title", wording.Bounded(d.Title), "version", wording.Bounded(d.Version), "operations", len(d.Operations),
			"base_paths", basePathsOf(d), "routes", routes, "more", more, "warnings", counted,
		}
		line := fmt.Sprint(attrs...)
		lines = append(lines, line)
		if !slices.Contains(s.documents, line) {
			s.log.Info("OpenAPI document", attrs...)
		}
	}
	s.documents = lines
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

// routesOf returns the first routes of a document, and how many more there are.
func routesOf(d *openapi.Document) (routes string, more int) {
	var first []string
	for _, o := range d.Operations[:min(shownRoutes, len(d.Operations))] {
		first = append(first, wording.Label(o.Method)+" "+wording.Label(o.Path))
	}
	return strings.Join(first, ", "), len(d.Operations) - len(first)
}

// basePathsOf returns the first base paths of a document, and how many more there are.
func basePathsOf(d *openapi.Document) string {
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

// logWarnings logs each warning, and combines those that OpenAPI documents often have many of into
// one line.
func (s *Server) logWarnings(warnings syntax.Problems) {
	for _, d := range warnings.Digest() {
		attrs := []any{"at", d.Pos.String(), "key", d.Key, "what", d.What}
		if d.Count == 1 {
			s.log.Warn("configuration warning", attrs...)
		} else {
			s.log.Warn("configuration warnings", append([]any{"count", d.Count}, attrs...)...)
		}
	}
}
