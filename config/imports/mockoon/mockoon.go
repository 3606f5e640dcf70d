// Package mockoon imports environments of Mockoon 1 to 9. Each response of a route becomes an
// endpoint. A route that sends its responses at random or in turn becomes one endpoint, and a CRUD
// route becomes a resource.
package mockoon

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
	"mockserver/config/syntax"
	"mockserver/internal/semantics"
)

// Recognizes reports whether a source is an environment, or an export of several.
func Recognizes(s *draft.Source) bool {
	shape := s.Shape()
	return shape.Keys["routes"] == '[' && (shape.Has("endpointPrefix") || shape.Has("uuid")) || shape.Has("source", "data")
}

// Read adds the routes of the environments of a file.
func Read(s *draft.Source, d *draft.Draft, _ draft.Options) error {
	root, err := s.Nodes()
	if err != nil {
		return err
	}
	environments := []*syntax.Node{root}
	if data := get(root, "data"); get(root, "source") != nil && data != nil { // an export of versions before 2
		environments = nil
		for _, item := range data.Items {
			if inner := get(item, "item"); inner != nil && text(get(item, "type")) == "environment" {
				environments = append(environments, inner)
			}
		}
	}
	for _, n := range environments {
		if routes := get(n, "routes"); routes == nil || routes.Kind != syntax.ListNode {
			return s.ProblemAt(n, "has no list of routes; expected an environment of Mockoon")
		}
		r := &reader{Draft: d, root: n, dir: filepath.Dir(s.Name), sets: map[string]string{}, names: map[string]bool{}, members: map[string][]string{}}
		r.environment()
	}
	return nil
}

var (
	get    = language.Get
	text   = language.Text
	isTrue = language.IsTrue
)

type reader struct {
	*draft.Draft
	root      *syntax.Node
	dir       string
	order     language.Order
	upstreams language.Upstreams
	sets      map[string]string   // names of sets by the identifiers of data buckets and their keys
	names     map[string]bool     // of sets
	members   map[string][]string // by set, the members by which lists are filtered
}

// prefixed returns the path of a route with the prefix of the environment.
func (r *reader) prefixed(route *syntax.Node) string {
	return "/" + strings.Trim(text(get(r.root, "endpointPrefix")), "/") + "/" + strings.TrimPrefix(text(get(route, "endpoint")), "/")
}

// environment adds all routes in their order, then the proxy, and reports what is not imported.
func (r *reader) environment() {
	if isTrue(get(r.root, "cors")) || get(r.root, "cors") == nil {
		r.Note(r.root.Pos(), "cors", "preflights are answered by the server itself")
	} else {
		r.Note(r.root.Pos(), "cors", "the server answers preflights unless it runs with --no-cors")
	}
	if isTrue(get(r.root, "tlsOptions", "enabled")) || isTrue(get(r.root, "https")) {
		r.Warn(r.root.Pos(), "tlsOptions", "the certificate is not imported")
	}
	for _, route := range r.routes() {
		switch kind := text(get(route, "type")); kind {
		case "crud":
			r.crud(route)
		case "ws":
			path := "/" + text(get(route, "endpoint"))
			r.AddLost("websocket", draft.NewMap("path", path), route.Pos(), path, "WebSockets are not imported")
		default:
			r.route(route)
		}
	}
	if isTrue(get(r.root, "proxyMode")) {
		r.proxy()
	}
}

// maxDepth limits the nesting of folders.
const maxDepth = 100

// routes returns the routes in the order of rootChildren and of its folders; routes that are not
// listed there come last.
func (r *reader) routes() []*syntax.Node {
	byID, folders := map[string]*syntax.Node{}, map[string]*syntax.Node{}
	var all []*syntax.Node
	listed := get(r.root, "routes").Items
	for _, n := range listed {
		byID[text(get(n, "uuid"))] = n
	}
	for _, n := range get(r.root, "folders").List() {
		folders[text(get(n, "uuid"))] = n
	}
	seen := map[*syntax.Node]bool{}
	var walk func(children *syntax.Node, depth int)
	walk = func(children *syntax.Node, depth int) {
		for _, child := range children.List() {
			id := text(get(child, "uuid"))
			if n := byID[id]; n != nil && text(get(child, "type")) == "route" && !seen[n] {
				seen[n] = true
				all = append(all, n)
			}
			if f := folders[id]; f != nil && text(get(child, "type")) == "folder" && !seen[f] && depth < maxDepth {
				seen[f] = true
				walk(get(f, "children"), depth+1)
			}
		}
	}
	walk(get(r.root, "rootChildren"), 0)
	for _, n := range listed {
		if !seen[n] {
			seen[n] = true
			all = append(all, n)
		}
	}
	return all
}

// route adds the endpoints of a route.
func (r *reader) route(n *syntax.Node) {
	method := strings.ToUpper(text(get(n, "method")))
	name := method + " /" + strings.TrimPrefix(text(get(n, "endpoint")), "/")
	if n.Kind != syntax.MapNode {
		r.Lost(n.Pos(), "", "a route is %v; expected a map", n.Kind)
		return
	}
	asked := []string{method}
	if method == "ALL" {
		asked = semantics.Methods
	}
	paths, needs, err := routePaths(r.prefixed(n))
	responses := get(n, "responses").List()
	switch {
	case err == nil && !slices.Contains(semantics.Methods, asked[0]):
		err = fmt.Errorf("the method %s is unknown", method)
	case err == nil && len(responses) == 0:
		err = fmt.Errorf("the route has no responses")
	}
	if err != nil {
		e := draft.NewMap("method", method, "path", r.prefixed(n), "response", shown(append(responses, nil)[0]))
		r.AddLost("endpoint", e, n.Pos(), name, err.Error())
		return
	}
	for _, path := range paths {
		for _, method := range asked {
			written, condition := r.order.Place(method, path)
			e := &endpoint{reader: r, route: n, name: name, method: method, own: path, full: paths[0], path: written, needs: language.And(append([]string{condition}, needs...)...),
				silent: method != asked[0] || len(path) != len(paths[0])}
			e.add(responses)
		}
	}
}
