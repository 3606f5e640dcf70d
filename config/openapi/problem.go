package openapi

import (
	"fmt"
	"strconv"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/openapi/tree"
)

// Kinds of warnings, of which a document may have many.
const (
	manyKeys      = "keys have no meaning where they stand"
	manyResponses = "responses have a key that is no status, and are left out"
)

// maxProblems bounds the errors that are said of one document, and the warnings.
const maxProblems = 1000

// overflow is the warning, or the error, that stands for the rest.
var overflow = map[bool]string{
	true:  fmt.Sprintf("there are more than %d warnings, and the rest is not listed", maxProblems),
	false: fmt.Sprintf("there are more than %d errors, and the rest is not listed", maxProblems),
}

// spot is a place in a file.
type spot struct {
	file         string
	line, column int
	key          bool
}

// pointed gives the problems of a document the pointers of the places they are at, and
// leaves out what is said twice. The sources are searched once for all of them.
func pointed(problems []Problem, sources map[string]*source) []Problem {
	wanted := make(map[spot]string, len(problems))
	said := make(map[Problem]bool, len(problems))
	kept := problems[:0]
	count := map[bool]int{}
	for _, p := range problems {
		if said[p] || count[p.Warning] > maxProblems {
			continue
		}
		said[p] = true
		if count[p.Warning]++; count[p.Warning] > maxProblems {
			p.What, p.Kind = overflow[p.Warning], ""
		}
		kept = append(kept, p)
		if p.Pointer == "" && p.Line > 0 {
			wanted[spot{p.File, p.Line, p.Column, p.key}] = ""
		}
	}
	if len(wanted) > 0 {
		for _, s := range sources {
			if s.root != nil {
				point(s.root, "#", wanted)
			}
		}
	}
	for i := range kept {
		if p := &kept[i]; p.Pointer == "" {
			p.Pointer = wanted[spot{p.File, p.Line, p.Column, p.key}]
		}
	}
	return kept
}

// point fills in the pointers of the nodes and keys at wanted places.
func point(n *tree.Node, pointer string, wanted map[spot]string) {
	note := func(at spot, pointer string) {
		if known, ok := wanted[at]; ok && known == "" {
			wanted[at] = pointer
		}
	}
	note(spot{n.File, n.Line, n.Column, false}, pointer)
	for i := range n.Entries {
		e := &n.Entries[i]
		if e.Value.File != n.File { // of another file, where it has a pointer of its own
			continue
		}
		at := pointer + "/" + jsonvalue.EscapePointer(e.Key)
		note(spot{n.File, e.Line, e.Column, true}, at)
		point(e.Value, at, wanted)
	}
	for i, item := range n.Items {
		point(item, pointer+"/"+strconv.Itoa(i), wanted)
	}
}

// problemAt is a problem at a node.
func problemAt(n *tree.Node, what string) Problem {
	return Problem{File: n.File, Line: n.Line, Column: n.Column, What: what}
}

// entryProblem is a problem at the key of an entry of n.
func entryProblem(n *tree.Node, e *tree.Entry, what string) Problem {
	return Problem{File: n.File, Line: e.Line, Column: e.Column, What: what, key: true}
}
