// Package postman imports collections of Postman, 2.0 and 2.1: each saved answer becomes an
// endpoint. As on Postman's mock servers, answers to one method and path are told apart by their
// original requests and by the headers x-mock-response-name and x-mock-response-code.
package postman

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
	"mockserver/config/syntax"
)

// Recognizes reports whether a source is a collection.
func Recognizes(s *draft.Source) bool {
	shape := s.Shape()
	return shape.Has("info", "item") || shape.Has("collection")
}

var (
	get  = language.Get
	text = language.Text
)

// maxDepth limits the nesting of folders.
const maxDepth = 100

// Read adds the saved answers of a collection.
func Read(s *draft.Source, d *draft.Draft, opts draft.Options) error {
	root, err := s.Nodes()
	if err != nil {
		return err
	}
	if inner := root.Get("collection"); root.Kind == syntax.MapNode && inner != nil {
		root = inner // as the API of Postman exports it
	}
	items := get(root, "item")
	if items == nil || items.Kind != syntax.ListNode {
		return s.ProblemAt(root, "has no list of items; expected a collection of Postman, version 2.0 or 2.1")
	}
	r := &reader{Draft: d}
	if r.vars, err = variables(root, opts); err != nil {
		return err
	}
	r.items(items, nil, r.vars)
	for _, g := range r.groups {
		r.group(g)
	}
	return nil
}

type reader struct {
	*draft.Draft
	vars   vars
	groups []*group // by method and shape of the path, in the order of the file
	byKey  map[string]*group
}

// group contains all answers to one method and path.
type group struct {
	method    string
	responses []*response
}

// items reads the items of a folder.
func (r *reader) items(list *syntax.Node, folder []string, v vars) {
	for _, n := range list.Items {
		name := text(get(n, "name"))
		inner := v.with(get(n, "variable"))
		switch children := get(n, "item"); {
		case n.Kind != syntax.MapNode:
			r.Lost(n.Pos(), strings.Join(folder, " / "), "an item is %v; expected a map", n.Kind)
		case children != nil && len(folder) >= maxDepth:
			r.Lost(n.Pos(), name, "folders are nested more than %d deep", maxDepth)
		case children != nil:
			r.items(children, append(slices.Clone(folder), name), inner)
		default:
			r.item(n, name, folder, inner)
		}
	}
}

// item reads one request and its saved answers.
func (r *reader) item(n *syntax.Node, name string, folder []string, v vars) {
	request := get(n, "request")
	if request == nil {
		r.Lost(n.Pos(), name, "the item has neither a request nor items")
		return
	}
	saved := get(n, "response")
	if saved == nil || len(saved.Items) == 0 {
		q := readRequest(request, v)
		r.AddLost("endpoint", q.declaration("", name, folder).Set("response", draft.Of(syntax.NewMap())), n.Pos(), name, "the request has no saved answer")
		return
	}
	for i, s := range saved.Items {
		r.saved(s, request, name+" / "+cmp.Or(text(get(s, "name")), strconv.Itoa(i+1)), name, folder, v)
	}
}

// saved reads one saved answer.
func (r *reader) saved(n, request *syntax.Node, name, of string, folder []string, v vars) {
	if n.Kind != syntax.MapNode {
		r.Lost(n.Pos(), name, "the answer is %v; expected a map", n.Kind)
		return
	}
	if original := get(n, "originalRequest"); original != nil {
		request = original
	}
	a := &response{request: readRequest(request, v), name: text(get(n, "name")), label: name, pos: n.Pos(), summary: of, folder: folder}
	a.read(n, v)
	if a.lost != "" {
		r.AddLost("endpoint", a.declaration("", of, folder).Set("response", a.response), a.pos, name, a.lost)
		return
	}
	if r.byKey == nil {
		r.byKey = map[string]*group{}
	}
	key := a.method + " " + language.Shape(a.path)
	g := r.byKey[key]
	if g == nil {
		g = &group{method: a.method}
		r.byKey[key] = g
		r.groups = append(r.groups, g)
	}
	g.responses = append(g.responses, a)
}
