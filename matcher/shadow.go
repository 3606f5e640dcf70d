package matcher

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mockserver/config/syntax"
)

// shadows warns of every route that an earlier one of the same host, shape and
// method makes unreachable.
func (s *site) shadows(routes []Route) syntax.Problems {
	var out syntax.Problems
	for _, l := range s.leaves {
		out = append(out, l.shadows(routes)...)
	}
	return out
}

// declaration is what two routes of one leaf must share for the later one to be
// shadowed: the forms of segments that parameters are a part of, the types, written as a
// string, and the condition's text.
type declaration struct {
	forms, types, condition string
}

// shadows looks every route up among the types of the earlier ones, which are
// few, and their conditions, which are not.
func (l *leaf) shadows(routes []Route) syntax.Problems {
	var out syntax.Problems
	vectors := map[string][]string{} // of types, by forms
	first := map[declaration]int{}
	for _, e := range l.entries {
		types := typeVector(e.types, len(l.params))
		own := declaration{formsOf(e.mixed), types, conditionOf(&routes[e.index])}
		by := -1
		for _, v := range vectors[own.forms] {
			if !vectorCovers(v, types) {
				continue
			}
			for _, condition := range []string{"", own.condition} {
				if i, ok := first[declaration{own.forms, v, condition}]; ok && (by < 0 || i < by) {
					by = i
				}
			}
		}
		if by >= 0 && routes[e.index].Endpoint.Operation != nil && routes[by].Endpoint.Operation == nil {
			continue // what is declared is meant to take the place of a document's
		}
		if by >= 0 && ofOneDocument(&routes[e.index], &routes[by]) {
			continue // the document has a warning of it
		}
		if by >= 0 {
			out = append(out, shadowed(&routes[e.index], &routes[by]))
			continue
		}
		first[own] = e.index
		if !slices.Contains(vectors[own.forms], types) {
			vectors[own.forms] = append(vectors[own.forms], types)
		}
	}
	return out
}

// ofOneDocument reports whether two routes are those of operations in one file.
func ofOneDocument(a, b *Route) bool {
	x, y := a.Endpoint.Operation, b.Endpoint.Operation
	return x != nil && y != nil && x != y && x.File == y.File
}

// formsOf writes the forms of segments that parameters are a part of as a string, which
// is the same for those that differ in names only; "" for none. Whether other forms take
// the same texts is not worked out.
func formsOf(all []*mixed) string {
	var b strings.Builder
	for i, m := range all {
		if m != nil {
			fmt.Fprintf(&b, "%d%q", i, m.texts)
		}
	}
	return b.String()
}

// conditionOf is the text of a route's condition, "" for one that always holds.
func conditionOf(r *Route) string {
	if r.If == nil {
		return ""
	}
	return " " + r.Endpoint.If.Value // never "", even for a predicate without a text
}

// typeVector writes types as a string that maps and comparisons take.
func typeVector(types []paramType, n int) string {
	b := make([]byte, n)
	for i, t := range types {
		b[i] = byte(t)
	}
	return string(b)
}

func vectorCovers(earlier, later string) bool {
	for i := range len(earlier) {
		if !paramType(earlier[i]).covers(paramType(later[i])) {
			return false
		}
	}
	return true
}

func shadowed(later, earlier *Route) syntax.Problem {
	at := cmp.Or(earlier.Endpoint.Pos.String(), earlier.Endpoint.Key)
	if at != "" {
		at = " at " + at
	}
	return syntax.Problem{
		Pos: later.Endpoint.Pos, Key: later.Endpoint.Key, Warning: true,
		What: fmt.Sprintf("%s is never reached: shadowed by %s%s", title(later), title(earlier), at),
	}
}

// title names an endpoint in a message: "GET /users/:id".
func title(r *Route) string {
	return cmp.Or(r.Kind, r.Endpoint.EffectiveMethod()) + " " + r.Endpoint.Path.Value
}
