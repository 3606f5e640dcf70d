package export

import (
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi"
	"mockserver/config/syntax"
)

// join adds another document to Root: its operations with everything they refer to, its webhooks
// and its tags. The security requirements of the document are copied into each operation that has
// none. join returns the paths that have no place in Root.
func (x *Export) join(doc *syntax.Node, base string) (left []string) {
	if isNewer(doc) && !isNewer(x.Root) {
		x.Root.Set("openapi", doc.Get("openapi"))
		upgradeSchemas(x.Root, openapi.KindOf[openapi3.T]())
	}
	if isNewer(x.Root) && !isNewer(doc) {
		upgradeSchemas(doc, openapi.KindOf[openapi3.T]())
	}
	x.adopt(doc)
	for key, item := range doc.Get("paths").Members() {
		path := itemBase(item, base) + key
		if !x.joinItem(doc, item, path) {
			left = append(left, path)
		}
	}
	for name, item := range doc.Get("webhooks").Members() {
		webhooks := x.Root.Make("webhooks")
		webhooks.Set(unused(webhooks, name), item)
	}
	for _, tag := range doc.Get("tags").List() {
		tags := listIn(x.Root, "tags")
		if !slices.ContainsFunc(tags.List(), func(t *syntax.Node) bool { return t.Get("name").AsText() == tag.Get("name").AsText() }) {
			tags.Append(tag)
		}
	}
	return left
}

// joinItem adds the operations of a path item that Root does not have. It returns false when there
// is no place for them.
func (x *Export) joinItem(doc, item *syntax.Node, path string) bool {
	for _, method := range itemMethods {
		op := item.Get(method)
		if !op.IsMap() || op.Get("security") != nil {
			continue
		}
		if security := doc.Get("security"); security != nil {
			op.Set("security", security.Clone())
		} else if x.Root.Get("security") != nil {
			op.Set("security", syntax.NewList()) // the security of Root does not apply
		}
	}
	key, to := x.Item(path)
	if to == nil {
		return false
	}
	if slices.ContainsFunc(itemMethods, func(m string) bool { return to.Get(m) != nil }) {
		x.mergeItem(to, item, key, path)
		return true
	}
	for name, value := range item.Members() {
		if name != "servers" || to.Get(name) == nil {
			to.Set(name, value)
		}
	}
	return true
}

// mergeItem adds the operations of a path item to another item for the same path. The path
// parameters are renamed to match the key, and the parameters of the item are copied to each
// operation.
func (x *Export) mergeItem(to, item *syntax.Node, key, path string) {
	names := map[string]string{}
	old, now := pathParameter.FindAllString(path, -1), pathParameter.FindAllString(key, -1)
	for i := range min(len(old), len(now)) { // the parameters of a key are the last ones of its path
		names[strings.Trim(old[len(old)-1-i], "{}")] = strings.Trim(now[len(now)-1-i], "{}")
	}
	for _, method := range itemMethods {
		op := item.Get(method)
		if !op.IsMap() || to.Get(method) != nil {
			continue
		}
		list := syntax.NewList()
		for _, from := range []*syntax.Node{op.Get("parameters"), item.Get("parameters")} {
			for _, p := range from.List() {
				p = x.Resolve(p).Clone()
				if has(list, p) {
					continue
				}
				if name := names[p.Get("name").AsText()]; name != "" && p.Get("in").AsText() == "path" {
					p.Set("name", syntax.NewText(name))
				}
				list.Append(p)
			}
		}
		if list.Len() > 0 {
			op.Set("parameters", list)
		}
		to.Set(method, op)
	}
}

// has reports whether a list contains a parameter with the same name and location.
func has(list, p *syntax.Node) bool {
	return slices.ContainsFunc(list.List(), func(q *syntax.Node) bool {
		return q.Get("name").AsText() == p.Get("name").AsText() && q.Get("in").AsText() == p.Get("in").AsText()
	})
}

// isNewer reports whether a document uses OpenAPI 3.1 or later.
func isNewer(doc *syntax.Node) bool {
	version := doc.Get("openapi").AsText()
	return version != "" && !strings.HasPrefix(version, "3.0")
}

// Add adds a document, except for operations that Root already has. All references in the document
// must point into its own components. The Export takes ownership of the document and changes it.
// The first document becomes Root; nothing may be declared in Root before. served reports whether
// an operation is wanted, by its method and its path as requested, "/v1/pets/{id}". Add returns the
// paths that have no place next to the other documents.
func (x *Export) Add(doc *syntax.Node, served func(method, path string) bool) (left []string) {
	base, _ := openapi.ServerPath(doc.Get("servers"))
	prune(doc, base, served)
	if x.main != nil {
		return x.join(doc, base)
	}
	x.Root, x.main, x.base = doc, doc, base
	for key, item := range doc.Make("paths").Members() { // optional in 3.1
		x.keys[Shape(key)] = true
		x.paths[Shape(itemBase(item, base)+key)] = key
	}
	return nil
}
