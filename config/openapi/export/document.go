// Package export writes OpenAPI documents: the document that was read, with the endpoints that are
// declared in addition to it.
package export

import (
	"cmp"
	"regexp"
	"strings"

	"mockserver/config/openapi"
	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/syntax"
)

// itemBase returns the base path of a path item or an operation: the one from its own servers, if
// it has any, else base.
func itemBase(item *syntax.Node, base string) string {
	if own := item.Get("servers"); len(own.List()) > 0 {
		base, _ = openapi.ServerPath(own)
	}
	return base
}

// prune removes unwanted operations from a document, and paths that have no operations left.
func prune(doc *syntax.Node, base string, served func(method, path string) bool) {
	for key, item := range doc.Get("paths").Members() {
		left, had := 0, 0
		for _, method := range itemMethods {
			switch {
			case item.Get(method) == nil:
			case served(strings.ToUpper(method), itemBase(item.Get(method), itemBase(item, base))+key):
				left, had = left+1, had+1
			default:
				item.Delete(method)
				had++
			}
		}
		if had > 0 && left == 0 {
			doc.Get("paths").Delete(key)
		}
	}
}

// itemMethods are the members of a path item that are operations.
var itemMethods = []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}

// add makes a document the root. All its references must point into its own components; add changes it.
// Operations that are not served are left out.
func (x *exporter) add(doc *syntax.Node) {
	base, _ := openapi.ServerPath(doc.Get("servers"))
	prune(doc, base, x.served)
	x.root, x.base = doc, base
	for key, item := range doc.Make("paths").Members() { // optional in 3.1
		x.keys[shapeOf(key)] = true
		x.paths[shapeOf(itemBase(item, base)+key)] = key
	}
}

var pathParameter = regexp.MustCompile(`\{[^}]*\}`)

// shapeOf reduces a path to the parts that distinguish it from other paths.
func shapeOf(path string) string {
	if strings.Contains(path, "{") {
		path = pathParameter.ReplaceAllString(path, "{}")
	}
	return trimmed(path)
}

// pathItem returns the path item for a served path, "/v1/pets/{id}": the item of a document, or a new
// one at the end. A new item has its own server unless its key can be the path without the base
// path of the document. key is the item's key in paths. item is nil when the path conflicts with a
// path that the document already has.
func (x *exporter) pathItem(path string) (key string, item *syntax.Node) {
	if key, ok := x.paths[shapeOf(path)]; ok {
		if x.made[key] == nil {
			x.made[key] = x.root.Make("paths").Make(key)
		}
		return key, x.made[key]
	}
	put := func(key string) (string, *syntax.Node) {
		item := syntax.NewMap()
		x.paths[shapeOf(path)], x.keys[shapeOf(key)], x.made[key] = key, true, item
		paths := x.root.Make("paths")
		paths.Entries = append(paths.Entries, syntax.NewEntry(key, item)) // no other key has the same shape
		return key, item
	}
	if rest, ok := strings.CutPrefix(path, x.base); ok && (rest == "" || rest[0] == '/') {
		if key := cmp.Or(rest, "/"); !x.keys[shapeOf(key)] {
			return put(key)
		}
	}
	for at := 0; at >= 0 && !strings.Contains(path[:at], "{"); at = nextSlash(path, at) {
		if key := cmp.Or(path[at:], "/"); !x.keys[shapeOf(key)] {
			key, item := put(key)
			server := syntax.NewMap().SetText("url", cmp.Or(path[:at], "/"))
			return key, item.Set("servers", syntax.NewList(server))
		}
	}
	return "", nil
}

// nextSlash returns the index of the first slash after index at. It returns the length of the path
// if there is none, and -1 if at is already the end of the path.
func nextSlash(path string, at int) int {
	if at >= len(path) {
		return -1
	}
	if i := strings.IndexByte(path[at+1:], '/'); i >= 0 {
		return at + 1 + i
	}
	return len(path)
}

// pathNames returns the parameter names in a path such as "/pets/{id}", in order.
func pathNames(path string) []string {
	names := pathParameter.FindAllString(path, -1)
	for i, name := range names {
		names[i] = strings.Trim(name, "{}")
	}
	return names
}

// resolve returns the target of a reference into the root, or the object itself.
func (x *exporter) resolve(t *syntax.Node) *syntax.Node {
	for range 10 { // deeper than any real document, but finite
		pointer, ok := strings.CutPrefix(t.Get("$ref").AsText(), "#")
		to := jsonvalue.At(x.root, pointer)
		if !ok || to == nil {
			break
		}
		t = to
	}
	return t
}
