package export

import (
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi"
	"mockserver/config/syntax"
)

// join adds another document to the root: its operations with everything they refer to, its webhooks
// and its tags. The security requirements of the document are copied into each operation that has
// none. join returns the paths that have no place in the root.
func (x *exporter) join(doc *syntax.Node, base string) (left []string) {
	if isNewer(doc) && !isNewer(x.root) {
		x.root.Set("openapi", doc.Get("openapi"))
		upgradeSchemas(x.root, openapi.KindOf[openapi3.T]())
	}
	if isNewer(x.root) && !isNewer(doc) {
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
		webhooks := x.root.Make("webhooks")
		webhooks.Set(unused(webhooks, name), item)
	}
	for _, tag := range doc.Get("tags").List() {
		tags := listIn(x.root, "tags")
		if !slices.ContainsFunc(tags.List(), func(t *syntax.Node) bool { return t.Get("name").AsText() == tag.Get("name").AsText() }) {
			tags.Append(tag)
		}
	}
	return left
}

// joinItem adds the operations of a path item that the root does not have. It returns false when there
// is no place for them.
func (x *exporter) joinItem(doc, item *syntax.Node, path string) bool {
	for _, method := range itemMethods {
		op := item.Get(method)
		if !op.IsMap() || op.Get("security") != nil {
			continue
		}
		if security := doc.Get("security"); security != nil {
			op.Set("security", security.Clone())
		} else if x.root.Get("security") != nil {
			op.Set("security", syntax.NewList()) // the security of the root does not apply
		}
	}
	key, to := x.pathItem(path)
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
func (x *exporter) mergeItem(to, item *syntax.Node, key, path string) {
	names := map[string]string{}
	old, now := pathNames(path), pathNames(key)
	for i := range min(len(old), len(now)) { // the parameters of a key are the last ones of its path
		names[old[len(old)-1-i]] = now[len(now)-1-i]
	}
	for _, method := range itemMethods {
		op := item.Get(method)
		if !op.IsMap() || to.Get(method) != nil {
			continue
		}
		list := syntax.NewList()
		for _, p := range slices.Concat(op.Get("parameters").List(), item.Get("parameters").List()) {
			p = x.resolve(p).Clone()
			in, name := p.Get("in").AsText(), p.Get("name").AsText()
			if x.has(list.List(), in, name) {
				continue
			}
			if in == "path" {
				p.SetText("name", names[name])
			}
			list.Append(p)
		}
		if list.Len() > 0 {
			op.Set("parameters", list)
		}
		to.Set(method, op)
	}
}

// has reports whether one of the parameters has a location and a name.
func (x *exporter) has(parameters []*syntax.Node, in, name string) bool {
	return slices.ContainsFunc(parameters, func(p *syntax.Node) bool {
		p = x.resolve(p)
		return p.Get("in").AsText() == in && p.Get("name").AsText() == name
	})
}

// isNewer reports whether a document uses OpenAPI 3.1 or later.
func isNewer(doc *syntax.Node) bool {
	version := doc.Get("openapi").AsText()
	return version != "" && !strings.HasPrefix(version, "3.0")
}

// add adds a document, except for operations that the root already has. All references in the document
// must point into its own components; add changes it. The first document becomes the root; nothing
// may be declared before. Operations that are not served are left out. add returns the paths that
// have no place next to the other documents.
func (x *exporter) add(doc *syntax.Node, isFirst bool) (left []string) {
	base, _ := openapi.ServerPath(doc.Get("servers"))
	prune(doc, base, x.served)
	if !isFirst {
		return x.join(doc, base)
	}
	x.root, x.base = doc, base
	for key, item := range doc.Make("paths").Members() { // optional in 3.1
		x.keys[shapeOf(key)] = true
		x.paths[shapeOf(itemBase(item, base)+key)] = key
	}
	return nil
}
