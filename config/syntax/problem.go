package syntax

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Pos is a position in a configuration file. Line and column start at 1; the column counts bytes. A
// zero Line means no position: for endpoints made in Go, Column then numbers them from 1, so that
// their problems are sorted in their order.
type Pos struct {
	File         string // as the user named it
	Line, Column int
}

// String returns "file:line:column", or the part of it that is known.
func (p Pos) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	default:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
}

// Before reports whether a position precedes another one in the same file.
func (p Pos) Before(q Pos) bool {
	return p.Line < q.Line || p.Line == q.Line && p.Column < q.Column
}

// Problem is one error or warning of a configuration.
type Problem struct {
	Pos     Pos
	Key     string // "[3].endpoint.response.status"; "" for the whole file
	What    string // what is wrong, and what was expected
	Warning bool   // the configuration is served nevertheless
	Kind    string // what several warnings of OpenAPI documents have in common, "" for others; see Digest
	Joined  bool   // even two warnings of its kind share a line; see Digest
	Rest    bool   // the problem also represents all later ones, which are not listed

	// Endpoint names a declaration made in Go, which has no position in a file: an endpoint by its
	// method and path, "GET /users/:id". It is "" for any other declaration.
	Endpoint string
}

// String returns "file:line:column: key.path: what is wrong", or for an endpoint made in Go
// "key.path: GET /users/:id: what is wrong".
func (p Problem) String() string {
	var parts []string
	if pos := p.Pos.String(); pos != "" {
		parts = append(parts, pos)
	}
	if p.Key != "" {
		parts = append(parts, p.Key)
	}
	if p.Endpoint != "" {
		parts = append(parts, p.Endpoint)
	}
	return strings.Join(append(parts, p.What), ": ")
}

// Problems are all problems of a configuration.
type Problems []Problem

// shownErrors is how many errors a message lists; the rest are counted.
const shownErrors = 20

// Errors returns the errors, sorted by file (in the order of first appearance in ps), line and
// column.
func (ps Problems) Errors() Problems { return ps.only(false) }

// Warnings returns the warnings, sorted like Errors.
func (ps Problems) Warnings() Problems { return ps.only(true) }

func (ps Problems) only(warning bool) Problems {
	var out Problems
	files := map[string]int{} // the rank of each file
	for _, p := range ps {
		if _, known := files[p.Pos.File]; !known {
			files[p.Pos.File] = len(files)
		}
		if p.Warning == warning {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(p, q Problem) int {
		a, b := p.Pos, q.Pos
		return cmp.Or(cmp.Compare(files[a.File], files[b.File]), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return out
}

// Err returns the errors as one error of type Problems, or nil if there are only warnings.
func (ps Problems) Err() error {
	if errs := ps.Errors(); len(errs) > 0 {
		return errs
	}
	return nil
}

// Lines returns the first 20 problems, one per line, and how many more there are, as far as that is
// known.
func (ps Problems) Lines() []string {
	var lines []string
	for i, p := range ps {
		if i == shownErrors {
			least := ""
			if slices.ContainsFunc(ps, func(p Problem) bool { return p.Rest }) {
				least = "at least "
			}
			lines = append(lines, fmt.Sprintf("and %s%d more", least, len(ps)-shownErrors))
			break
		}
		lines = append(lines, p.String())
	}
	return lines
}

// Error returns Lines joined by line breaks.
func (ps Problems) Error() string { return strings.Join(ps.Lines(), "\n") }

// MaxErrors limits the errors, and also the warnings, that are kept for one file: a file with more
// is hardly a configuration, and may have millions.
const MaxErrors = 1000

// Collector collects a limited number of problems.
type Collector struct {
	Problems             Problems
	ErrorCount, warnings int // how many were added, kept or not
}

// Add adds a problem. The first one beyond the limit represents the rest.
func (t *Collector) Add(p Problem) {
	count := &t.ErrorCount
	if p.Warning {
		count = &t.warnings
	}
	switch *count++; {
	case *count == MaxErrors+1:
		p.Rest = true
		p.What = fmt.Sprintf("there are more than %d errors, and the rest is not read", MaxErrors)
		if p.Warning {
			p.What = fmt.Sprintf("there are more than %d warnings; the rest are not listed", MaxErrors)
		}
	case *count > MaxErrors:
		return
	}
	t.Problems = append(t.Problems, p)
}

// Full reports whether there are too many errors to search for more.
func (t *Collector) Full() bool { return t.ErrorCount > MaxErrors }
