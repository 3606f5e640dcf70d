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

// bundle merges a document with everything that it references in other files. Referenced nodes are
// added to the components of the document, and the references are changed to point there. The
// library sees only references to components.
type bundle struct {
	opts    Options
	layouts layouts
	root    *source
	sources map[string]*source // the opened sources, by location
	files   []string           // local files other than the root, including those that could not be opened
	mounts  map[mount]string   // references to the nodes added to the components
	taken   map[string]map[string]bool
	seen    map[*tree.Node]bool // $ref values that were already processed
	broken  map[*tree.Node]bool // the $ref values of dangling references
	emptied map[syntax.Pos]bool // positions of objects whose dangling references were removed
	removed map[*tree.Node][]tree.Entry
	open    map[*tree.Node]bool // the path items being walked
	todo    []func()            // walks of referenced nodes, done after the walk of the referring node
	late    []func()            // functions that add components to the document, run last
	// sectionOf returns the path of a section of components in the document.
	sectionOf func(section string) []string

	problems []problem
}

// source is a local or remote file and its contents.
type source struct {
	name     string // the name in messages
	location string // an absolute path or a URL
	remote   bool
	root     *tree.Node // nil when the file could not be read
	index    map[*tree.Node]keyIndex
	anchors  map[string]*tree.Node // by $anchor; built on first use
}

// mount is a node that is referenced as a component of a section.
type mount struct {
	node    *tree.Node
	section string
}

const (
	// maxSources limits the number of files that one document is read from.
	maxSources = 2000
	// maxInlined limits how deeply path items refer to others, and the length of reference chains.
	maxInlined = 100
	// mostHints limits how many dangling references get a suggestion.
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

// run walks the document and all referenced nodes, and then adds these to the components.
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

// wrong reports a reference that does not resolve: an error in strict mode, otherwise a warning.
func (b *bundle) wrong(n *tree.Node, what string) {
	b.problems = append(b.problems, brokenReference.served(problemAt(n, what), b.opts.Strict))
}

// walk changes the references at and below a node so that they point into the document.
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

// object walks the fields of an object. In a path item, a reference to another path item is
// replaced with the entries of that path item.
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
	} else if ref := n.Get("$ref"); l.section != "" && ref != nil && ref.Kind == tree.Text { // Swagger 2.0
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

// empty removes a dangling reference from its object, unless Options.Strict is set. A schema then
// accepts anything.
func (b *bundle) empty(n, ref *tree.Node) {
	if b.broken[ref] && !b.opts.Strict {
		b.remove(n, func(e tree.Entry) bool { return e.Value == ref })
		b.emptied[n.Pos()] = true
	}
}

// remove removes entries from a map, and keeps them for the pointers of problems.
func (b *bundle) remove(n *tree.Node, wrong func(e tree.Entry) bool) {
	n.Entries = slices.DeleteFunc(n.Entries, func(e tree.Entry) bool {
		if wrong(e) {
			b.removed[n] = append(b.removed[n], e)
			return true
		}
		return false
	})
}

// inline replaces the reference of a path item with the entries of the path item that it refers to.
// The item's own entries take precedence. A reference that cannot be followed is reported and kept.
func (b *bundle) inline(src *source, n, ref *tree.Node, l *layout) {
	from, target := b.find(src, ref)
	if target == nil {
		return
	}
	switch {
	case b.open[target]:
		b.wrong(ref, "the reference leads back to itself, so it would never end")
		return
	case len(b.open) > maxInlined:
		b.wrong(ref, "path items refer to others more than "+strconv.Itoa(maxInlined)+" levels deep")
		return
	case target.Kind != tree.Map:
		b.wrong(ref, "the reference leads to "+target.Kind.String()+"; expected a path item")
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

// refer changes a reference so that it names a component of the document, or marks it as broken.
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
		b.wrong(ref, "the reference leads to one of "+tokens[1]+"; expected one of "+l.section)
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

// isSection reports whether components have a section of that name.
func (ls layouts) isSection(name string) bool {
	_, ok := ls.of(typeOfComponents).fields[name]
	return ok
}

func componentRef(at []string, name string) string {
	return "#/" + strings.Join(at, "/") + "/" + jsonvalue.EscapePointer(name)
}

// tokens returns the tokens in the fragment of a reference.
func (b *bundle) tokens(ref string) []string {
	_, fragment, _ := strings.Cut(ref, "#")
	if !strings.HasPrefix(fragment, "/") {
		return nil
	}
	return jsonvalue.TokensOf(fragment)
}

// identifier matches the characters that are not allowed in a component name.
var identifier = regexp.MustCompile(`[^a-zA-Z0-9._-]+`)

// nameFor proposes a component name for the target of a reference: the last token of the fragment,
// else the name of the file.
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

// put adds a referenced node to the components, under the given name or a similar one.
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
	// Only after everything is walked: the references in the node are relative to its own file.
	b.late = append(b.late, func() {
		n.Entries = append(n.Entries, tree.Entry{Key: free, Line: m.node.Line, Column: m.node.Column, Value: m.node})
	})
}

// find returns the source and the node that a reference points to. For a dangling reference it
// reports the reason and returns a nil node.
func (b *bundle) find(src *source, ref *tree.Node) (*source, *tree.Node) {
	file, fragment, _ := strings.Cut(ref.Text, "#")
	from := src
	if file != "" {
		if from = b.sourceOf(src, ref, file); from == nil {
			return nil, nil
		}
	}
	if from.root == nil {
		return nil, nil // already reported
	}
	switch {
	case fragment == "":
		return from, from.root
	case fragment[0] != '/':
		if n := from.anchor(fragment); n != nil {
			return from, n
		}
		b.wrong(ref, "there is no $anchor "+strconv.Quote(wording.Clip(fragment))+" in "+from.name+"; expected after # the name of one, or a JSON pointer such as #/components/schemas/Pet")
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

// step returns the node that a token leads to from n. It uses an index for large maps.
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

// keyIndex maps the keys of a map to its values. It is valid while the map has the same number of
// entries.
type keyIndex struct {
	values  map[string]*tree.Node
	entries int
}

// anchor returns the schema with the given $anchor or $dynamicAnchor; nil when there is none.
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

// sourceOf opens the file or URL that a reference names. It returns nil when the reference cannot
// be followed, and reports the reason.
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
		b.wrong(ref, "a document from another host refers to "+strconv.Quote(wording.Clip(file))+"; it may refer only to http and https URLs")
		return nil
	case scheme == "file" && (u.Host == "" || u.Host == "localhost"):
		return b.local(src, ref, u.Path)
	case len(scheme) > 1:
		b.wrong(ref, "references of "+wording.Clip(scheme)+" are not followed; expected a file, or an http or https URL")
		return nil
	}
	if decoded, err := url.PathUnescape(file); err == nil {
		file = decoded
	}
	return b.local(src, ref, filepath.FromSlash(file))
}

// local opens a local file. A relative path is relative to src.
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

// opened returns a source that was opened before. A source that could not be read is reported again
// for each reference to it.
func (b *bundle) opened(s *source, ref *tree.Node) *source {
	if s.root == nil {
		b.wrong(ref, s.name+" cannot be read, as reported above")
	}
	return s
}

// mayOpen reports whether another file may be read.
func (b *bundle) mayOpen(ref *tree.Node) bool {
	if len(b.sources) < maxSources {
		return true
	}
	if len(b.sources) == maxSources {
		b.sources[""] = &source{}
		b.wrong(ref, "the document refers to more than "+strconv.Itoa(maxSources)+" files; the rest are not read")
	}
	return false
}

// take records the problems of a source. A problem with the file as a whole is reported at the
// reference to it.
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
