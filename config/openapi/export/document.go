// Package export writes documents: those that were read, joined, and what is declared beside
// them.
package export

import (
	"cmp"
	"net/url"
	"path"
	"regexp"
	"strings"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/openapi/tree"
)

// Export is a document that is written: documents as they were read, joined, and what
// is declared beside them. Not for concurrent use.
type Export struct {
	// Root is the document. It may be changed.
	Root *tree.Node

	main  *tree.Node            // the document that Root was; nil for none
	base  string                // its base path: "" or "/v1"
	names map[origin]string     // references to components that were put in
	done  map[*tree.Node]bool   // objects whose references are those of Root
	paths map[string]string     // the key of each served path, by its shape
	keys  map[string]bool       // the shapes of all keys of paths
	items map[string]*tree.Node // path items by key, those that were asked for
	newer bool                  // what is walked is of OpenAPI 3.0, and Root of 3.1
}

// origin is where a component comes from: a document, and a reference in it.
type origin struct {
	doc *tree.Node
	ref string
}

// New is a document without anything in it.
func New(title string) *Export {
	info := tree.NewMap().SetText("title", title).SetText("version", "1.0.0")
	root := tree.NewMap().SetText("openapi", "3.0.3").Set("info", info).Set("paths", tree.NewMap())
	return &Export{
		Root: root, names: map[origin]string{}, done: map[*tree.Node]bool{},
		paths: map[string]string{}, keys: map[string]bool{}, items: map[string]*tree.Node{},
	}
}

// Add adds a document whose references are all into its own components, but for
// operations that Root has already. It belongs to the Export then, and is changed. The
// first document becomes Root; nothing may be declared in that before. Served tells
// which operations are wanted, by method and path as a request has it, "/v1/pets/{id}".
// What has no place beside other documents is returned: their methods and paths.
func (x *Export) Add(doc *tree.Node, served func(method, path string) bool) (left []string) {
	base := serverPath(doc.Get("servers"))
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

// itemBase is the base path of a path item or an operation: that of its own servers, if
// it has any.
func itemBase(item *tree.Node, base string) string {
	if own := item.Get("servers"); own.Len() > 0 {
		return serverPath(own)
	}
	return base
}

// prune takes the operations that are not wanted from a document, and paths that are
// left without any.
func prune(doc *tree.Node, base string, served func(method, path string) bool) {
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

// walk makes the references in an object of another document references into Root.
func (x *Export) walk(t *tree.Node, of element, doc *tree.Node) {
	if !t.IsMap() || x.done[t] {
		return
	}
	x.done[t] = true
	if ref := t.Get("$ref").AsText(); ref != "" {
		t.Set("$ref", tree.NewText(x.component(ref, of, doc)))
	}
	if of == schemaObject {
		if x.newer {
			upgrade(t)
		}
		x.mapping(t.Get("discriminator", "mapping"), doc)
	}
	each(t, of, func(value *tree.Node, of element) { x.walk(value, of, doc) })
	if of == operationObject {
		x.security(t.Get("security"), doc)
	}
}

// component is the reference to a component of another document, which is put into
// those of Root when it is first wanted. What is no reference into components stays.
func (x *Export) component(ref string, of element, doc *tree.Node) string {
	section := sections[of]
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

// mapping makes the schemas that a discriminator names those of Root. What cannot be
// found stays as it is: it may be the name of nothing.
func (x *Export) mapping(t *tree.Node, doc *tree.Node) {
	for value, name := range t.Members() {
		ref := name.AsText()
		if !strings.Contains(ref, "/") {
			ref = "#/components/schemas/" + ref
		}
		if to := x.component(ref, schemaObject, doc); to != ref {
			t.Set(value, tree.NewText(to))
		}
	}
}

// security makes the schemes that an operation of another document names those of Root.
func (x *Export) security(list, doc *tree.Node) {
	if x.done[list] {
		return
	}
	x.done[list] = true
	for _, one := range list.List() {
		for name, scopes := range one.Members() {
			ref := x.component("#/components/securitySchemes/"+jsonvalue.EscapePointer(name), securityObject, doc)
			one.Delete(name)
			one.Set(jsonvalue.UnescapePointer(ref[strings.LastIndexByte(ref, '/')+1:]), scopes)
		}
	}
}

// Embed puts examples that lie in files (externalValue) where a document refers to them.
func Embed(root *tree.Node, read func(name string) ([]byte, error)) {
	embed(root, root, documentObject, read)
}

// embed puts examples that lie in files (externalValue) where they are referred to.
func embed(root, t *tree.Node, of element, read func(name string) ([]byte, error)) {
	for media, m := range t.Get("content").Members() {
		for name, example := range m.Get("examples").Members() {
			if pointer, ok := strings.CutPrefix(example.Get("$ref").AsText(), "#"); ok {
				example = root.At(pointer)
			}
			file := example.Get("externalValue").AsText()
			if file == "" || strings.Contains(file, "://") {
				continue
			}
			text, err := read(file)
			if err != nil {
				continue // a warning of Read says so
			}
			value := tree.NewText(string(text))
			if parsed, err := tree.ParseJSON(text); err == nil && jsonvalue.IsJSON(jsonvalue.BaseType(media)) {
				value = parsed
			}
			example = example.Clone()
			example.Delete("externalValue")
			m.Get("examples").Set(name, example.Set("value", value))
		}
	}
	if t.IsMap() {
		each(t, of, func(value *tree.Node, of element) { embed(root, value, of, read) })
	}
}

// serverPath is what basePath is, of servers as a document has them.
func serverPath(servers *tree.Node) string {
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

// Shape is a path with nothing in it but what tells it from others.
func Shape(path string) string {
	if strings.Contains(path, "{") {
		path = pathParameter.ReplaceAllString(path, "{}")
	}
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	return path
}

// Item is the path item of a served path, "/v1/pets/{id}": that of a document, or a
// new one at the end, which names a server of its own where the base path of the
// document is not in front. Key is where it stands in paths; item is nil when a
// document cannot say it beside what it says already.
func (x *Export) Item(path string) (key string, item *tree.Node) {
	if key, ok := x.paths[Shape(path)]; ok {
		if x.items[key] == nil {
			x.items[key] = x.Root.Make("paths").Make(key)
		}
		return key, x.items[key]
	}
	put := func(key string) (string, *tree.Node) {
		item := tree.NewMap()
		x.paths[Shape(path)], x.keys[Shape(key)], x.items[key] = key, true, item
		paths := x.Root.Make("paths")
		paths.Entries = append(paths.Entries, tree.Entry{Key: key, Value: item}) // no other key is of its shape
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
			server := tree.NewMap().SetText("url", cmp.Or(path[:at], "/"))
			return key, item.Set("servers", tree.NewList(server))
		}
	}
	return "", nil
}

// nextSlash is where the next segment begins, at last the end; -1 behind that.
func nextSlash(path string, at int) int {
	if at >= len(path) {
		return -1
	}
	if i := strings.IndexByte(path[at+1:], '/'); i >= 0 {
		return at + 1 + i
	}
	return len(path)
}

// PathNames are the names of the parameters of a path, "/pets/{id}", in order.
func PathNames(path string) []string {
	names := pathParameter.FindAllString(path, -1)
	for i, name := range names {
		names[i] = strings.Trim(name, "{}")
	}
	return names
}
