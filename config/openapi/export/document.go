// Package export writes OpenAPI documents: it joins the documents that were read and adds the
// endpoints that are declared in addition to them.
package export

import (
	"cmp"
	"net/url"
	"path"
	"reflect"
	"regexp"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi"
	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/syntax"
)

// Export is a document being written: it joins the documents that were read and adds the
// declarations that they do not contain. It is not safe for concurrent use.
type Export struct {
	// Root is the document. It may be changed.
	Root *syntax.Node

	main  *syntax.Node            // the document that became Root; nil for none
	base  string                  // the base path of main: "" or "/v1"
	names map[origin]string       // references to components that were added
	done  map[*syntax.Node]bool   // objects whose references already point into Root
	paths map[string]string       // the key of each served path, by its shape
	keys  map[string]bool         // the shapes of all keys in paths
	items map[string]*syntax.Node // path items by key, once requested
	newer bool                    // the walked document is OpenAPI 3.0, and Root is 3.1
}

// origin is where a component comes from: a document and a reference in it.
type origin struct {
	doc *syntax.Node
	ref string
}

// New returns an Export with an empty document.
func New(title string) *Export {
	info := syntax.NewMap().SetText("title", title).SetText("version", "1.0.0")
	root := syntax.NewMap().SetText("openapi", "3.0.3").Set("info", info).Set("paths", syntax.NewMap())
	return &Export{
		Root: root, names: map[origin]string{}, done: map[*syntax.Node]bool{},
		paths: map[string]string{}, keys: map[string]bool{}, items: map[string]*syntax.Node{},
	}
}

// itemBase returns the base path of a path item or an operation: the one from its own servers, if
// it has any, else base.
func itemBase(item *syntax.Node, base string) string {
	if own := item.Get("servers"); own.Len() > 0 {
		return serverPath(own)
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

// walk changes the references in an object of another document to references into Root. It converts
// the schemas in the object if Root has a newer version of OpenAPI.
func (x *Export) walk(t *syntax.Node, of openapi.Kind, doc *syntax.Node) {
	if !t.IsMap() || x.done[t] {
		return
	}
	x.done[t] = true
	if ref := t.Get("$ref").AsText(); ref != "" {
		t.Set("$ref", syntax.NewText(x.component(ref, of, doc)))
	}
	if of.Is(typeOfSchema) {
		if x.newer {
			upgrade(t)
		}
		x.mapping(t.Get("discriminator", "mapping"), doc)
	}
	of.Each(t, func(value *syntax.Node, of openapi.Kind) { x.walk(value, of, doc) })
	if of.Is(reflect.TypeFor[openapi3.Operation]()) {
		x.security(t.Get("security"), doc)
	}
}

// component returns the reference for a component of another document. It adds the component to
// Root on first use. A reference that does not point into components is returned unchanged.
func (x *Export) component(ref string, of openapi.Kind, doc *syntax.Node) string {
	section := of.Section
	name, ok := strings.CutPrefix(ref, "#/components/"+section+"/")
	t := doc.Get("components", section, jsonvalue.UnescapePointer(name))
	if !ok || t == nil {
		return ref
	}
	from := origin{doc, ref}
	if x.names[from] == "" {
		in := x.Root.Make("components").Make(section)
		name = unused(in, jsonvalue.UnescapePointer(name))
		x.names[from] = "#/components/" + section + "/" + jsonvalue.EscapePointer(name)
		in.Set(name, t)
		x.walk(t, of, doc)
	}
	return x.names[from]
}

// mapping changes the schemas that a discriminator names to those of Root. A name that cannot be
// found stays unchanged, because it may not refer to anything.
func (x *Export) mapping(t *syntax.Node, doc *syntax.Node) {
	for value, name := range t.Members() {
		ref := name.AsText()
		if !strings.Contains(ref, "/") {
			ref = "#/components/schemas/" + ref
		}
		if to := x.component(ref, openapi.KindOf[openapi3.SchemaRef](), doc); to != ref {
			t.Set(value, syntax.NewText(to))
		}
	}
}

// security changes the security schemes that an operation of another document names to those of
// Root.
func (x *Export) security(list, doc *syntax.Node) {
	if x.done[list] {
		return
	}
	x.done[list] = true
	for _, one := range list.List() {
		for name, scopes := range one.Members() {
			ref := x.component("#/components/securitySchemes/"+jsonvalue.EscapePointer(name), openapi.KindOf[openapi3.SecuritySchemeRef](), doc)
			one.Delete(name)
			one.Set(jsonvalue.UnescapePointer(ref[strings.LastIndexByte(ref, '/')+1:]), scopes)
		}
	}
}

// Embed replaces references to example files (externalValue) in a document with the examples.
func Embed(root *syntax.Node, read func(name string) ([]byte, error)) {
	embed(root, root, openapi.KindOf[openapi3.T](), read)
}

// embed replaces references to example files (externalValue) with the examples.
func embed(root, t *syntax.Node, of openapi.Kind, read func(name string) ([]byte, error)) {
	for media, m := range t.Get("content").Members() {
		for name, example := range m.Get("examples").Members() {
			if pointer, ok := strings.CutPrefix(example.Get("$ref").AsText(), "#"); ok {
				example = jsonvalue.At(root, pointer)
			}
			file := example.Get("externalValue").AsText()
			if file == "" || strings.Contains(file, "://") {
				continue
			}
			text, err := read(file)
			if err != nil {
				continue // openapi.Read has reported a warning
			}
			value := syntax.NewText(string(text))
			if parsed, err := syntax.ParseJSON(text); err == nil && jsonvalue.IsJSON(jsonvalue.BaseType(media)) {
				value = parsed
			}
			example = example.Clone()
			example.Delete("externalValue")
			m.Get("examples").Set(name, example.Set("value", value))
		}
	}
	if t.IsMap() {
		of.Each(t, func(value *syntax.Node, of openapi.Kind) { embed(root, value, of, read) })
	}
}

// serverPath returns the path of the first server in a servers node, without a trailing slash, as
// basePath in package openapi does.
func serverPath(servers *syntax.Node) string {
	if servers.Len() == 0 {
		return ""
	}
	server := servers.List()[0]
	text := server.Get("url").AsText()
	for name, variable := range server.Get("variables").Members() {
		value := variable.Get("default").AsText()
		if enum := variable.Get("enum").List(); value == "" && len(enum) > 0 {
			value = enum[0].AsText()
		}
		text = strings.ReplaceAll(text, "{"+name+"}", value)
	}
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || strings.ContainsAny(text, "{}") {
		return ""
	}
	if base := path.Join("/", u.EscapedPath()); base != "/" {
		return base
	}
	return ""
}

var pathParameter = regexp.MustCompile(`\{[^}]*\}`)

// Shape reduces a path to the parts that distinguish it from other paths.
func Shape(path string) string {
	if strings.Contains(path, "{") {
		path = pathParameter.ReplaceAllString(path, "{}")
	}
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	return path
}

// Item returns the path item for a served path, "/v1/pets/{id}": the item of a document, or a new
// one at the end. A new item has its own server unless its key can be the path without the base
// path of the document. key is the item's key in paths. item is nil when the path conflicts with a
// path that the document already has.
func (x *Export) Item(path string) (key string, item *syntax.Node) {
	if key, ok := x.paths[Shape(path)]; ok {
		if x.items[key] == nil {
			x.items[key] = x.Root.Make("paths").Make(key)
		}
		return key, x.items[key]
	}
	put := func(key string) (string, *syntax.Node) {
		item := syntax.NewMap()
		x.paths[Shape(path)], x.keys[Shape(key)], x.items[key] = key, true, item
		paths := x.Root.Make("paths")
		paths.Entries = append(paths.Entries, syntax.NewEntry(key, item)) // no other key has the same shape
		return key, item
	}
	if rest, ok := strings.CutPrefix(path, x.base); ok && (rest == "" || rest[0] == '/') {
		if key := cmp.Or(rest, "/"); !x.keys[Shape(key)] {
			return put(key)
		}
	}
	for at := 0; at >= 0 && !strings.Contains(path[:at], "{"); at = nextSlash(path, at) {
		if key := cmp.Or(path[at:], "/"); !x.keys[Shape(key)] {
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

// PathNames returns the parameter names in a path such as "/pets/{id}", in order.
func PathNames(path string) []string {
	names := pathParameter.FindAllString(path, -1)
	for i, name := range names {
		names[i] = strings.Trim(name, "{}")
	}
	return names
}

// Resolve returns the target of a reference into Root, or the object itself.
func (x *Export) Resolve(t *syntax.Node) *syntax.Node {
	for range 10 { // deeper than any real document, but finite
		pointer, ok := strings.CutPrefix(t.Get("$ref").AsText(), "#")
		to := jsonvalue.At(x.Root, pointer)
		if !ok || to == nil {
			break
		}
		t = to
	}
	return t
}
