package openapi

import (
	"net/url"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/openapi/tree"
	"mockserver/config/syntax"
	"mockserver/internal/wording"
)

// bundle makes one document of a document and all that it refers to in other files:
// what is referred to is put among the components of the document, and the references
// then name it there. The library is given no reference but those into components.
type bundle struct {
	opts    Options
	layouts layouts
	root    *source
	sources map[string]*source // that were opened, by location
	files   []string           // the local ones among them but the root, or that could not be opened
	mounts  map[mount]string   // the references to what was put among the components
	taken   map[string]map[string]bool
	seen    map[*tree.Node]bool // the texts of references that name components by now
	broken  map[*tree.Node]bool // the texts of references that lead nowhere
	emptied map[syntax.Pos]bool // where objects were such references: they are empty, unless Options are strict
	removed map[*tree.Node][]tree.Entry
	open    map[*tree.Node]bool // the path items that are being walked
	todo    []func()            // what was referred to is walked when what refers to it has been
	late    []func()            // what puts components where they belong, done last
	// sectionOf is where components of a section are kept in the document.
	sectionOf func(section string) []string

	problems []problem
}

// source is a file, local or remote, with what it holds.
type source struct {
	name     string // as messages show it
	location string // the absolute path or the URL
	remote   bool
	root     *tree.Node // nil when it could not be read
	index    map[*tree.Node]keyIndex
	anchors  map[string]*tree.Node // of $anchor; made when one is looked for
}

// mount is what is referred to as a component of a section.
type mount struct {
	node    *tree.Node
	section string
}

const (
	// maxSources bounds the files that one document is read from.
	maxSources = 2000
	// maxInlined bounds how deep path items refer to others.
	maxInlined = 100
	// mostHints is how many references that lead nowhere are compared with what there is.
	mostHints = 50
)

func newBundle(root *tree.Node, location string, ls layouts, opts Options) *bundle {
	b := &bundle{
		opts: opts, layouts: ls, root: &source{name: root.File, location: location, root: root},
		sources: map[string]*source{}, mounts: map[mount]string{}, taken: map[string]map[string]bool{},
		seen: map[*tree.Node]bool{}, broken: map[*tree.Node]bool{}, emptied: map[syntax.Pos]bool{}, removed: map[*tree.Node][]tree.Entry{}, open: map[*tree.Node]bool{},
		sectionOf: func(section string) []string { return []string{"components", section} },
	}
	b.sources[location] = b.root
	return b
}

// run walks the whole document.
func (b *bundle) run(l *layout) {
	b.walk(b.root, b.root.root, l)
	for len(b.todo) > 0 {
		next := b.todo[len(b.todo)-1]
		b.todo = b.todo[:len(b.todo)-1]
		next()
	}
	for _, put := range b.late {
		put()
	}
	b.late = nil
}

// wrong reports a mistake at a node.
func (b *bundle) wrong(n *tree.Node, what string) {
	b.problems = append(b.problems, brokenReference.served(problemAt(n, what), b.opts.Strict))
}

// walk makes the references at and below a node of a source those of the document.
func (b *bundle) walk(src *source, n *tree.Node, l *layout) {
	switch l.want {
	case wantPointer:
		b.walk(src, n, l.elem)
	case wantList:
		for _, item := range n.Items {
			b.walk(src, item, l.elem)
		}
	case wantMap, wantMapLike:
		for i := range n.Entries {
			if l.want == wantMap || !strings.HasPrefix(n.Entries[i].Key, "x-") {
				b.walk(src, n.Entries[i].Value, l.elem)
			}
		}
		if l.elem.want == wantMapping && !b.opts.Strict {
			b.remove(n, func(e tree.Entry) bool { return b.broken[e.Value] })
		}
	case wantObject:
		b.object(src, n, l)
	case wantReferable:
		if ref := n.Get("$ref"); ref != nil && ref.Kind == tree.Text {
			b.refer(src, ref, l)
			b.empty(n, ref)
		}
		b.walk(src, n, l.elem)
	case wantSchemaOrBool:
		b.walk(src, n, l.elem)
	case wantMapping:
		if n.Kind == tree.Text && strings.ContainsAny(n.Text, "/#") {
			b.refer(src, n, b.layouts.of(typeOfSchemaRef))
		}
	}
}

// object walks the fields of an object. A path item that refers to another becomes
// what that is.
func (b *bundle) object(src *source, n *tree.Node, l *layout) {
	if l.section == pathSection {
		if b.open[n] {
			return
		}
		b.open[n] = true
		defer delete(b.open, n)
		if ref := n.Get("$ref"); ref != nil && ref.Kind == tree.Text {
			b.inline(src, n, ref, l)
		}
	} else if ref := n.Get("$ref"); l.section != "" && ref != nil && ref.Kind == tree.Text { // of Swagger 2.0
		b.refer(src, ref, l)
		b.empty(n, ref)
	}
	for i := range n.Entries {
		if f, ok := l.fields[n.Entries[i].Key]; ok {
			b.walk(src, n.Entries[i].Value, f.layout)
		}
	}
	if l.typ == typeOfComponents {
		if items := n.Get("pathItems"); items != nil {
			for i := range items.Entries {
				b.object(src, items.Entries[i].Value, b.layouts.of(reflect.TypeFor[openapi3.PathItem]()))
			}
		}
	}
}

// empty takes a reference that does not resolve out of its object: a schema accepts anything
// then.
func (b *bundle) empty(n, ref *tree.Node) {
	if b.broken[ref] && !b.opts.Strict {
		b.remove(n, func(e tree.Entry) bool { return e.Value == ref })
		b.emptied[n.Pos()] = true
	}
}

// remove takes entries out of a map, and keeps them for the pointers of problems.
func (b *bundle) remove(n *tree.Node, wrong func(e tree.Entry) bool) {
	n.Entries = slices.DeleteFunc(n.Entries, func(e tree.Entry) bool {
		if wrong(e) {
			b.removed[n] = append(b.removed[n], e)
			return true
		}
		return false
	})
}

// inline puts what a path item refers to in its place, below what it says itself.
func (b *bundle) inline(src *source, n, ref *tree.Node, l *layout) {
	from, target := b.find(src, ref)
	if target == nil {
		return
	}
	switch {
	case b.open[target]:
		b.wrong(ref, "the reference leads back to itself, so that it would have no end")
		return
	case len(b.open) > maxInlined:
		b.wrong(ref, "path items refer to others more than "+strconv.Itoa(maxInlined)+" deep")
		return
	case target.Kind != tree.Map:
		b.wrong(ref, "the reference leads to "+target.Kind.String()+"; a path item is accepted")
		return
	}
	b.object(from, target, l)
	own := n.Entries[:0:0]
	for _, e := range n.Entries {
		if e.Key != "$ref" {
			own = append(own, e)
		}
	}
	for _, e := range target.Entries {
		if n.Get(e.Key) == nil {
			own = append(own, e)
		}
	}
	n.Entries = own
}

// refer makes the text of a reference name a component of the document.
func (b *bundle) refer(src *source, ref *tree.Node, l *layout) {
	if b.seen[ref] {
		return
	}
	b.seen[ref] = true
	from, target := b.find(src, ref)
	if target == nil {
		b.broken[ref] = true
		return
	}
	at := b.sectionOf(l.section)
	tokens := b.tokens(ref.Text)
	if len(tokens) == 3 && tokens[0] == "components" && tokens[1] != l.section && b.layouts.isSection(tokens[1]) {
		b.broken[ref] = true
		b.wrong(ref, "the reference leads to one of "+tokens[1]+"; one of "+l.section+" is accepted here")
		return
	}
	if from == b.root {
		if len(tokens) == len(at)+1 && strings.Join(tokens[:len(at)], "/") == strings.Join(at, "/") {
			ref.Text = componentRef(at, tokens[len(at)])
			return
		}
	}
	m := mount{target, l.section}
	if b.mounts[m] == "" {
		b.put(m, at, b.nameFor(ref.Text, from))
		b.todo = append(b.todo, func() { b.walk(from, target, l) })
	}
	ref.Text = b.mounts[m]
}

// isSection tells whether components have a section of that name.
func (ls layouts) isSection(name string) bool {
	_, ok := ls.of(typeOfComponents).fields[name]
	return ok
}

func componentRef(at []string, name string) string {
	return "#/" + strings.Join(at, "/") + "/" + jsonvalue.EscapePointer(name)
}

// tokens are those of the fragment of a reference.
func (b *bundle) tokens(ref string) []string {
	_, fragment, _ := strings.Cut(ref, "#")
	if !strings.HasPrefix(fragment, "/") {
		return nil
	}
	return jsonvalue.TokensOf(fragment)
}

// identifier is what may not stand in the name of a component.
var identifier = regexp.MustCompile(`[^a-zA-Z0-9._-]+`)

// nameFor proposes a name for what a reference leads to: the last part of its
// fragment, else that of its file.
func (b *bundle) nameFor(ref string, from *source) string {
	name := strings.TrimSuffix(filepath.Base(filepath.FromSlash(from.location)), filepath.Ext(from.location))
	if tokens := b.tokens(ref); len(tokens) > 0 {
		name = tokens[len(tokens)-1]
	} else if _, fragment, _ := strings.Cut(ref, "#"); fragment != "" {
		name = fragment
	}
	if name = strings.Trim(identifier.ReplaceAllString(name, "_"), "_"); name == "" {
		return "referred"
	}
	return name
}

// put adds what is referred to to the components, under the name or one like it.
func (b *bundle) put(m mount, at []string, name string) {
	n := b.root.root
	for _, key := range at {
		next := n.Get(key)
		if next == nil || next.Kind != tree.Map {
			next = &tree.Node{Kind: tree.Map, File: n.File, Line: n.Line, Column: n.Column}
			n.Set(key, next)
		}
		n = next
	}
	taken := b.taken[m.section]
	if taken == nil {
		taken = map[string]bool{}
		for i := range n.Entries {
			taken[n.Entries[i].Key] = true
		}
		b.taken[m.section] = taken
	}
	free := name
	for i := 2; taken[free]; i++ {
		free = name + "_" + strconv.Itoa(i)
	}
	taken[free] = true
	b.mounts[m] = componentRef(at, free)
	// Not before all is walked: its references are those of its own file.
	b.late = append(b.late, func() {
		n.Entries = append(n.Entries, tree.Entry{Key: free, Line: m.node.Line, Column: m.node.Column, Value: m.node})
	})
}

// find opens what a reference of a source leads to. It reports why it does not resolve,
// and returns a nil node then.
func (b *bundle) find(src *source, ref *tree.Node) (*source, *tree.Node) {
	file, fragment, _ := strings.Cut(ref.Text, "#")
	from := src
	if file != "" {
		if from = b.sourceOf(src, ref, file); from == nil {
			return nil, nil
		}
	}
	if from.root == nil {
		return nil, nil // why is said where it is
	}
	switch {
	case fragment == "":
		return from, from.root
	case fragment[0] != '/':
		if n := from.anchor(fragment); n != nil {
			return from, n
		}
		b.wrong(ref, "there is no $anchor "+strconv.Quote(wording.Clip(fragment))+" in "+from.name+"; behind # stands the name of one, or a JSON pointer such as #/components/schemas/Pet")
		return nil, nil
	}
	n := from.root
	for _, token := range jsonvalue.TokensOf(fragment) {
		next := from.step(n, token)
		if next == nil {
			hint := ""
			if b.opts.Suggest != nil && n.Kind == tree.Map && len(b.problems) < mostHints {
				hint = b.opts.Suggest(token, n.Keys())
			}
			b.wrong(ref, "the reference "+strconv.Quote(wording.Clip(ref.Text))+" does not resolve: there is no "+strconv.Quote(wording.Clip(token))+" there"+hint)
			return nil, nil
		}
		n = next
	}
	return from, n
}

// step is what a token leads to from a node of the source; of large maps by an index.
func (s *source) step(n *tree.Node, token string) *tree.Node {
	const large = 32
	if n.Kind != tree.Map || len(n.Entries) < large {
		return n.Step(token)
	}
	index, known := s.index[n]
	if !known || index.entries != len(n.Entries) {
		index = keyIndex{values: make(map[string]*tree.Node, len(n.Entries)), entries: len(n.Entries)}
		for i := range n.Entries {
			index.values[n.Entries[i].Key] = n.Entries[i].Value
		}
		if s.index == nil {
			s.index = map[*tree.Node]keyIndex{}
		}
		s.index[n] = index
	}
	return index.values[token]
}

// keyIndex is the values of a map by their keys, as of when it had so many entries.
type keyIndex struct {
	values  map[string]*tree.Node
	entries int
}

// anchor is the schema with an $anchor.
func (s *source) anchor(name string) *tree.Node {
	if s.anchors == nil {
		s.anchors = map[string]*tree.Node{}
		s.findAnchors(s.root)
	}
	return s.anchors[name]
}

func (s *source) findAnchors(n *tree.Node) {
	for _, key := range []string{"$anchor", "$dynamicAnchor"} {
		if name := n.Get(key).AsText(); name != "" && s.anchors[name] == nil {
			s.anchors[name] = n
		}
	}
	for i := range n.Entries {
		s.findAnchors(n.Entries[i].Value)
	}
	for _, item := range n.Items {
		s.findAnchors(item)
	}
}

// sourceOf opens the file part of a reference.
func (b *bundle) sourceOf(src *source, ref *tree.Node, file string) *source {
	u, err := url.Parse(file)
	scheme := ""
	if err == nil {
		scheme = strings.ToLower(u.Scheme)
	}
	switch {
	case scheme == "http" || scheme == "https":
		return b.remote(ref, u)
	case src.remote && scheme == "" && err == nil:
		base, _ := url.Parse(src.location)
		return b.remote(ref, base.ResolveReference(u))
	case src.remote:
		b.wrong(ref, "a document from another host refers to "+strconv.Quote(wording.Clip(file))+"; it may refer to http and https URLs")
		return nil
	case scheme == "file" && (u.Host == "" || u.Host == "localhost"):
		return b.local(src, ref, u.Path)
	case len(scheme) > 1:
		b.wrong(ref, "references of "+wording.Clip(scheme)+": are not followed; a file, or an http or https URL, is accepted")
		return nil
	}
	if decoded, err := url.PathUnescape(file); err == nil {
		file = decoded
	}
	return b.local(src, ref, filepath.FromSlash(file))
}

// local opens a local file, as seen from a source.
func (b *bundle) local(src *source, ref *tree.Node, path string) *source {
	name, location := path, path
	if !filepath.IsAbs(path) {
		name = filepath.Join(filepath.Dir(src.name), path)
		location = filepath.Join(filepath.Dir(src.location), path)
	}
	location = filepath.Clean(location)
	if s := b.sources[location]; s != nil {
		return b.opened(s, ref)
	}
	if !b.mayOpen(ref) {
		return nil
	}
	s := &source{name: name, location: location}
	b.sources[location] = s
	b.files = append(b.files, name)
	var problems syntax.Problems
	s.root, problems = b.opts.Open(name)
	b.take(s, ref, problems)
	return s
}

// opened is a source that was opened before. One that could not be read is said again:
// each reference to it is wrong.
func (b *bundle) opened(s *source, ref *tree.Node) *source {
	if s.root == nil {
		b.wrong(ref, s.name+" cannot be read, which is said above")
	}
	return s
}

// mayOpen tells whether one more file may be read.
func (b *bundle) mayOpen(ref *tree.Node) bool {
	if len(b.sources) < maxSources {
		return true
	}
	if len(b.sources) == maxSources {
		b.sources[""] = &source{}
		b.wrong(ref, "the document refers to more than "+strconv.Itoa(maxSources)+" files, and the rest is not read")
	}
	return false
}

// take notes what is wrong with a source. What is wrong with the file as a whole is
// said where it is referred to.
func (b *bundle) take(s *source, ref *tree.Node, problems syntax.Problems) {
	for _, p := range problems {
		at := problem{Problem: p}
		if at.Key = ""; p.Pos.Line == 0 {
			at.What, at.Pos = s.name+": "+p.What, ref.Pos()
			at = badFile.served(at, b.opts.Strict)
		}
		b.problems = append(b.problems, at)
	}
}
