package syntax

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Pos is a place in a configuration file. Line and column count from 1, the
// column in bytes. A zero Line means there is no place: of endpoints made in Go
// Column counts them from 1 then, so that their problems are in their order.
type Pos struct {
	File         string // as the user named it
	Line, Column int
}

// String is "file:line:column", or as much of it as is known.
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

// Before reports whether a place stands in front of another of the same file.
func (p Pos) Before(q Pos) bool {
	return p.Line < q.Line || p.Line == q.Line && p.Column < q.Column
}

// Problem is one error, or one warning, of a configuration.
type Problem struct {
	Pos     Pos
	Key     string // "[3].endpoint.response.status"; "" when the file as a whole is meant
	What    string // what is wrong, and what is accepted
	Warning bool   // the configuration is served all the same
	Kind    string // what many warnings of OpenAPI documents have in common, "" for others; see Digest
	Rest    bool   // it stands for what is after it too, which was not looked at

	// Endpoint is the method and path of an endpoint made in Go, "GET /users/:id",
	// which has no place in a file; "" otherwise.
	Endpoint string
}

// String is "file:line:column: key.path: what is wrong", and for an endpoint made
// in Go "key.path: GET /users/:id: what is wrong".
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

// Problems is every problem of one configuration.
type Problems []Problem

// shownErrors is how many errors one message lists; the rest are counted.
const shownErrors = 20

// Errors returns the errors: the files in the order they first appear in ps,
// each file's by line and column.
func (ps Problems) Errors() Problems { return ps.only(false) }

// Warnings returns the warnings, in the order of Errors.
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

// Err returns the errors as one error of type Problems, or nil when there are
// none but warnings.
func (ps Problems) Err() error {
	if errs := ps.Errors(); len(errs) > 0 {
		return errs
	}
	return nil
}

// Lines are the first 20 problems, one a line, and how many more there are, as far
// as that is known.
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

// Error is Lines, one under the other.
func (ps Problems) Error() string { return strings.Join(ps.Lines(), "\n") }

// MaxErrors bounds the mistakes that are kept of one file, and the warnings: what
// has more is hardly a configuration, and a file may hold millions.
const MaxErrors = 1000

// Collector collects problems, as many as are worth keeping.
type Collector struct {
	Problems             Problems
	ErrorCount, warnings int // how many came, kept or not
}

// Add keeps a problem. The first that is one too many stands for the rest.
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
			p.What = fmt.Sprintf("there are more than %d warnings, and the rest is not listed", MaxErrors)
		}
	case *count > MaxErrors:
		return
	}
	t.Problems = append(t.Problems, p)
}

// Full reports whether there are so many errors that no more are looked for.
func (t *Collector) Full() bool { return t.ErrorCount > MaxErrors }
