package matcher

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mockserver/config/syntax"
)

// shadows warns about each route that an earlier one with the same host, shape and method makes
// unreachable.
func (s *site) shadows(routes []Route) (out syntax.Problems) {
	for _, l := range s.leaves {
		out = append(out, l.shadows(routes)...)
	}
	return out
}

// declaration contains what two routes of one leaf must share for the later one to be shadowed: the
// forms of segments that contain parameters and text, the types encoded as a string, and the text
// of the condition.
type declaration struct {
	forms, types, condition string
}

// shadows looks each route up among the types of the earlier ones, which are few, and among their
// conditions, which are many.
func (l *leaf) shadows(routes []Route) syntax.Problems {
	var out syntax.Problems
	vectors := map[string][]string{} // type vectors, keyed by forms
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
		switch {
		case by < 0:
			first[own] = e.index
			if !slices.Contains(vectors[own.forms], types) {
				vectors[own.forms] = append(vectors[own.forms], types)
			}
		case isMade(&routes[e.index]) && !isMade(&routes[by]):
			// A declared endpoint is meant to replace one of a document or resource.
		case ofOneDocument(&routes[e.index], &routes[by]): // the document already has a warning about it
		default:
			if p := shadowed(&routes[e.index], &routes[by]); len(out) == 0 || out[len(out)-1] != p { // endpoints of a model are alike
				out = append(out, p)
			}
		}
	}
	return out
}

// isMade reports whether a route belongs to an operation of a document, to a resource or to a model.
func isMade(r *Route) bool {
	return r.Endpoint.Operation != nil || r.Endpoint.Resource != nil || r.Endpoint.LLM != nil
}

// ofOneDocument reports whether two routes belong to operations in the same file.
func ofOneDocument(a, b *Route) bool {
	x, y := a.Endpoint.Operation, b.Endpoint.Operation
	return x != nil && y != nil && x != y && x.Pos.File == y.Pos.File
}

// formsOf encodes the forms of segments that contain parameters and text as a string, which is the
// same for forms that differ only in names; "" if there are none. Whether different forms accept
// the same texts is not determined.
func formsOf(all []*mixed) string {
	var b strings.Builder
	for i, m := range all {
		if m != nil {
			fmt.Fprintf(&b, "%d%q", i, m.texts)
		}
	}
	return b.String()
}

// conditionOf returns the text of a route's condition; "" if the route has none.
func conditionOf(r *Route) string {
	e := r.Endpoint
	if r.If == nil || len(e.Find)+len(e.State) > 0 && e.Condition() == "" { // rows are found in any case
		return ""
	}
	return fmt.Sprint(" ", e.If.Value, e.Condition(), e.Find) // never "", even for a predicate without a text
}

// typeVector encodes types as a string, which can be compared and used as a map key.
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
	kind := ""
	if later.Endpoint.Operation != nil && earlier.Endpoint.Resource != nil {
		kind = "operations of the document are never reached, because the resource" + at + " answers instead"
	}
	return syntax.Problem{
		Pos: later.Endpoint.Pos, Key: later.Endpoint.Key, Warning: true, Kind: kind, Joined: true,
		What: fmt.Sprintf("%s is never reached: shadowed by %s%s", title(later), title(earlier), at),
	}
}

// title names an endpoint in a message: "GET /users/:id".
func title(r *Route) string {
	return cmp.Or(r.Kind, r.Endpoint.EffectiveMethod()) + " " + r.Endpoint.Path.Value
}
