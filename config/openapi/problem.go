package openapi

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/syntax"
	"mockserver/internal/wording"

	"github.com/getkin/kin-openapi/openapi3"
)

// Kinds of warnings that can occur many times in one document.
const (
	manyKeys      = "keys have no meaning where they are"
	manyEnums     = "enums are empty, and allow no value"
	manyDynamic   = "dynamic references are not followed, and allow any value"
	manyResponses = "responses have a key that is not a status, and are left out"
)

// maxProblems limits the number of errors reported for one document, and the number of warnings.
const maxProblems = 1000

// overflow is the text that replaces further problems: warnings under true, errors under false.
var overflow = map[bool]string{
	true:  fmt.Sprintf("there are more than %d warnings; the rest are not listed", maxProblems),
	false: fmt.Sprintf("there are more than %d errors; the rest are not listed", maxProblems),
}

// spot is a place in a file.
type spot struct {
	syntax.Pos
	key bool
}

// pointed adds the JSON pointers of their places to the problems of a document, removes duplicates,
// and limits the number of problems (see maxProblems). It searches the sources once for all
// problems.
func pointed(problems []problem, sources map[string]*source, removed map[*syntax.Node][]syntax.Entry) syntax.Problems {
	wanted := make(map[spot]string, len(problems))
	known := make(map[problem]bool, len(problems))
	kept := problems[:0]
	count := map[bool]int{}
	for _, p := range problems {
		if known[p] || count[p.Warning] > maxProblems {
			continue
		}
		known[p] = true
		if count[p.Warning]++; count[p.Warning] > maxProblems {
			p.What, p.Kind = overflow[p.Warning], ""
		}
		kept = append(kept, p)
		if p.Key == "" && p.Pos.Line > 0 {
			wanted[spot{p.Pos, p.key}] = ""
		}
	}
	if len(wanted) > 0 {
		for _, location := range jsonvalue.SortedNames(sources) { // the quoted one of a converted document comes first
			if s := sources[location]; s.root != nil {
				point(s.root, nil, wanted, removed)
			}
		}
	}
	all := make(syntax.Problems, len(kept))
	for i, p := range kept {
		p.Key = PointerLabel(cmp.Or(p.Key, wanted[spot{p.Pos, p.key}]))
		all[i] = p.Problem
	}
	return all
}

// PointerLabel returns a JSON pointer as messages show it: unchanged if possible, and always on one
// line.
func PointerLabel(pointer string) string {
	if len(pointer) > maxPointer || strings.ContainsFunc(pointer, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return wording.Label(pointer)
	}
	return pointer
}

// maxPointer is the length in bytes up to which a pointer is shown unchanged.
const maxPointer = 500

// pointer is a place in a tree of nodes. Its text is built on demand, because most places have no
// problem.
type pointer struct {
	above *pointer // nil for the root
	token string
}

func (p *pointer) String() string {
	if p == nil {
		return "#"
	}
	return p.above.String() + "/" + jsonvalue.EscapePointer(p.token)
}

// point fills in the pointers of the nodes and keys at the requested places.
func point(n *syntax.Node, at *pointer, wanted map[spot]string, removed map[*syntax.Node][]syntax.Entry) {
	note := func(place spot, at *pointer) {
		if known, ok := wanted[place]; ok && known == "" {
			wanted[place] = at.String()
		}
	}
	note(spot{n.Pos(), false}, at)
	for i := range n.Entries {
		e := &n.Entries[i]
		if e.Value.Pos().File != n.Pos().File { // from another file, where it has its own pointer
			continue
		}
		below := pointer{at, e.Name()}
		note(spot{e.Key.Pos(), true}, &below)
		point(e.Value, &below, wanted, removed)
	}
	for _, e := range removed[n] {
		note(spot{e.Value.Pos(), false}, &pointer{at, e.Name()})
	}
	for i, item := range n.Items {
		if item.Pos().File != n.Pos().File {
			continue
		}
		point(item, &pointer{at, strconv.Itoa(i)}, wanted, removed)
	}
}

func problemAt(n *syntax.Node, what string) problem {
	return problem{Problem: syntax.Problem{Pos: n.Pos(), What: what}}
}

// entryProblem returns a problem at the key of an entry, which may come from another file than its
// map.
func entryProblem(e *syntax.Entry, what string) problem {
	return problem{Problem: syntax.Problem{Pos: e.Key.Pos(), What: what}, key: true}
}

// problem is a problem with the details needed to find its pointer.
type problem struct {
	syntax.Problem
	key bool // the problem is at a key of a map, not at the value that begins at the same place
}

// originProblem returns a problem at the place of an object.
func originProblem(o *openapi3.Origin, what string) problem {
	p := syntax.Problem{What: what}
	if o != nil && o.Key != nil {
		p.Pos = syntax.Pos{File: o.Key.File, Line: o.Key.Line, Column: o.Key.Column}
	}
	return problem{Problem: p}
}

// reports are the problems of a document that was read so far.
type reports struct {
	strict   bool // see Options
	problems []problem
}

// wrong reports an error.
func (r *reports) wrong(n *syntax.Node, format string, args ...any) {
	r.problems = append(r.problems, problemAt(n, fmt.Sprintf(format, args...)))
}

// warn reports a warning that is not a fault.
func (r *reports) warn(n *syntax.Node, kind, what string) {
	p := problemAt(n, what)
	p.Warning, p.Kind = true, kind
	r.problems = append(r.problems, p)
}

// fault reports an error that does not prevent the document from being served.
func (r *reports) fault(n *syntax.Node, f fault, format string, args ...any) {
	r.report(problemAt(n, fmt.Sprintf(format, args...)), f)
}

func (r *reports) report(p problem, f fault) { r.problems = append(r.problems, f.served(p, r.strict)) }

// failed reports whether one of the problems is an error.
func (r *reports) failed() bool {
	return slices.ContainsFunc(r.problems, func(p problem) bool { return !p.Warning })
}
