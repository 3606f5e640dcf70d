package listener

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"mockserver/config"
	"mockserver/config/openapi"
	"mockserver/config/syntax"
)

// logDocuments logs the summary of each OpenAPI document, unless a document that was served until
// now had the same summary. Warnings that the summary only counts are added to known.
func (s *Server) logDocuments(spec *config.Spec, known map[syntax.Problem]bool) {
	var lines []string
	for _, d := range spec.Documents() {
		if warnings := d.Problems.Warnings(); len(warnings) > openapi.ListedWarnings {
			for _, w := range warnings {
				known[w] = true
			}
		}
		attrs := d.Summary()
		line := fmt.Sprint(attrs)
		lines = append(lines, line)
		if !slices.Contains(s.documents, line) {
			s.log.LogAttrs(context.Background(), slog.LevelInfo, "OpenAPI document", attrs...)
		}
	}
	s.documents = lines
}

// logWarnings logs each warning, except that warnings of the same kind, of which an OpenAPI
// document may have many, share one line if they are more than a few.
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
