package openapi

import (
	"math"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/syntax"
	"mockserver/internal/wording"
)

// bundle merges a document with everything that it references in other files. Referenced nodes are
// added to the components of the document, and the references are changed to point there. The
// library sees only references to components.
type bundle struct {
	*reports
	opts    Options
	layouts layouts
	root    *source
	sources map[string]*source // the opened sources, by location
	files   []string           // local files other than the root, including those that could not be opened
	mounts  map[mount]string   // references to the nodes added to the components
	taken   map[string]map[string]bool
	found   map[*syntax.Node]found // the targets of $ref values that were already processed
	broken  map[*syntax.Node]bool  // the $ref values of dangling references
	emptied map[syntax.Pos]bool    // positions of objects whose dangling references were removed
	removed map[*syntax.Node][]syntax.Entry
	named   map[string]*source // the opened sources, by the file in their nodes
	spread  int                // how many nodes took the place of references
	todo    []func()           // walks of referenced nodes, done after the walk of the referring node
	late    []func()           // functions that add components to the document, run last
	// sectionOf returns the path of a section of components in the document.
	sectionOf func(section string) []string
}

// source is a local or remote file and its contents.
type source struct {
	name     string // the name in messages
	location string // an absolute path or a URL
	remote   bool
	root     *syntax.Node // nil when the file could not be read
	index    map[*syntax.Node]keyIndex
	anchors  map[string]*syntax.Node // by $anchor; built on first use
}

// label returns the name as messages show it: on one line.
func (s *source) label() string {
	if strings.ContainsFunc(s.name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s.name)
	}
	return s.name
}

// found is the node that a reference points to, in its source; the node is nil if it dangles.
type found struct {
	in   *source
	node *syntax.Node
}

// mount is a node that is referenced as a component of a section.
type mount struct {
	node    *syntax.Node
	section string
}

const (
	// maxSources limits the number of files that one document is read from.
	maxSources = 2000
	// mostHints limits how many dangling references get a suggestion.
	mostHints = 50
)

func newBundle(root *syntax.Node, location string, ls layouts, opts Options, to *reports) *bundle {
	b := &bundle{
		reports: to, opts: opts, layouts: ls, root: &source{name: root.Pos().File, location: location, root: root},
		sources: map[string]*source{}, mounts: map[mount]string{}, taken: map[string]map[string]bool{},
		found: map[*syntax.Node]found{}, broken: map[*syntax.Node]bool{}, emptied: map[syntax.Pos]bool{}, removed: map[*syntax.Node][]syntax.Entry{}, named: map[string]*source{},
		sectionOf: func(section string) []string { return []string{"components", section} },
	}
	b.add(b.root)
	return b
}

func (b *bundle) add(s *source) { b.sources[s.location], b.named[s.name] = s, s }

// run walks the document and all referenced nodes, and then adds these to the components.
func (b *bundle) run(l *layout) {
	b.walk(b.root.root, l)
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

// unresolved reports a reference that does not resolve.
func (b *bundle) unresolved(ref *syntax.Node, what string) { b.fault(ref, brokenReference, "%s", what) }

// walk changes the references at and below a node so that they point into the document. Where
// OpenAPI has no references, it follows them.
func (b *bundle) walk(n *syntax.Node, l *layout) {
	if !l.refers() {
		b.unfold(n, l)
	}
	b.below(n, l)
}

// refers reports whether a reference may stand in place of a value, or whether the value is data.
func (l *layout) refers() bool {
	return l.section != "" || l.want == wantReferable || l.want == wantSchemaOrBool || l.want == wantPointer || l.want == wantAny
}

// isAny reports whether a value is data, or a list or map of data.
func (l *layout) isAny() bool { return l.want == wantAny || l.elem != nil && l.elem.want == wantAny }

// below does the same for a value that is not itself a reference.
func (b *bundle) below(n *syntax.Node, l *layout) {
	switch l.want {
	case wantPointer, wantSchemaOrBool:
		b.walk(n, l.elem)
	case wantList, wantMap, wantMapLike:
		for value, of := range l.parts(n) {
			b.walk(value, of)
		}
		if l.elem.want == wantMapping && !b.strict {
			b.remove(n, func(e syntax.Entry) bool { return b.broken[e.Value] })
		}
	case wantObject:
		b.object(n, l)
	case wantReferable:
		b.component(n, l)
		b.below(n, l.elem)
	case wantMapping:
		if n.Kind == syntax.TextNode && strings.ContainsAny(n.Text.Value, "/#") {
			b.refer(n, b.layouts.of(typeOfSchemaRef))
		}
	}
}

// object walks the fields of an object. In a path item, a reference to another path item is
// replaced with the entries of that path item.
func (b *bundle) object(n *syntax.Node, l *layout) {
	if l.section == pathSection {
		b.unfold(n, l)
	} else if l.section != "" { // Swagger 2.0
		b.component(n, l)
	}
	for _, e := range n.Entries {
		f, ok := l.fields[e.Name()]
		switch {
		case !ok:
		case f.layout.isAny() && (e.Name() == "example" || e.Name() == "examples" || e.Name() == "value"):
			b.example(e.Value)
		default:
			b.walk(e.Value, f.layout)
		}
	}
}

// component changes the reference in a node, if it has one, so that it names a component. Unless
// Options.Strict is set, it removes a dangling one: a schema then accepts anything.
func (b *bundle) component(n *syntax.Node, l *layout) {
	ref := n.Get("$ref")
	if ref == nil || ref.Kind != syntax.TextNode {
		return
	}
	if b.refer(ref, l); b.broken[ref] && !b.strict {
		b.remove(n, func(e syntax.Entry) bool { return e.Value == ref })
		b.emptied[n.Pos()] = true
	}
}

// remove removes entries from a map, and keeps them for the pointers of problems.
func (b *bundle) remove(n *syntax.Node, wrong func(e syntax.Entry) bool) {
	n.Entries = slices.DeleteFunc(n.Entries, func(e syntax.Entry) bool {
		if wrong(e) {
			b.removed[n] = append(b.removed[n], e)
			return true
		}
		return false
	})
}

// refer changes a reference so that it names a component of the document, or marks it as broken.
func (b *bundle) refer(ref *syntax.Node, l *layout) {
	if _, known := b.found[ref]; known {
		return
	}
	from, target := b.find(ref)
	b.found[ref] = found{from, target}
	if target == nil {
		b.broken[ref] = true
		return
	}
	at := b.sectionOf(l.section)
	tokens := b.tokens(ref.Text.Value)
	if len(tokens) == 3 && tokens[0] == "components" && tokens[1] != l.section && b.layouts.of(typeOfComponents).fields[tokens[1]].layout != nil {
		b.broken[ref] = true
		b.unresolved(ref, "the reference leads to one of "+tokens[1]+"; expected one of "+l.section)
		return
	}
	if len(tokens) == len(at)+1 && slices.Equal(tokens[:len(at)], at) && b.root.step(b.section(at), tokens[len(at)]) == target {
		ref.Text.Value = componentRef(at, tokens[len(at)])
		return
	}
	m := mount{target, l.section}
	if b.mounts[m] == "" {
		b.put(m, at, ref, b.nameFor(ref.Text.Value, from))
		b.todo = append(b.todo, func() { b.walk(target, l) })
	}
	ref.Text.Value = b.mounts[m]
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

// section returns the node of a section of components in the document. It creates the node if there
// is none.
func (b *bundle) section(at []string) *syntax.Node {
	n := b.root.root
	for _, key := range at {
		next := n.Get(key)
		if next == nil || next.Kind != syntax.MapNode {
			next = &syntax.Node{Kind: syntax.MapNode, Text: syntax.Text{Pos: n.Pos()}}
			n.Set(key, next)
		}
		n = next
		b.unfold(n, &layout{want: wantMap})
	}
	return n
}

// put adds the target of a reference to the components, under the given name or a similar one.
func (b *bundle) put(m mount, at []string, ref *syntax.Node, name string) {
	n := b.section(at)
	taken := b.taken[m.section]
	if taken == nil {
		taken = map[string]bool{}
		for i := range n.Entries {
			taken[n.Entries[i].Name()] = true
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
		value := m.node
		if _, around := extent(value, n, math.MaxInt); around { // such as "#", the whole document
			b.unresolved(ref, endlessReference)
			value = &syntax.Node{Kind: syntax.MapNode, Text: syntax.Text{Pos: value.Pos()}}
		}
		n.Entries = append(n.Entries, syntax.NewEntry(free, value))
	})
}

// step returns the node that a token leads to from n. It uses an index for large maps.
func (s *source) step(n *syntax.Node, token string) *syntax.Node {
	const large = 32
	if n == nil || n.Kind != syntax.MapNode || len(n.Entries) < large {
		return jsonvalue.Step(n, token)
	}
	index, known := s.index[n]
	if !known || index.entries != len(n.Entries) {
		index = keyIndex{values: make(map[string]*syntax.Node, len(n.Entries)), entries: len(n.Entries)}
		for i := range n.Entries {
			index.values[n.Entries[i].Name()] = n.Entries[i].Value
		}
		if s.index == nil {
			s.index = map[*syntax.Node]keyIndex{}
		}
		s.index[n] = index
	}
	return index.values[token]
}

// keyIndex maps the keys of a map to its values. It is valid while the map has the same number of
// entries.
type keyIndex struct {
	values  map[string]*syntax.Node
	entries int
}

// anchor returns the schema with the given $anchor or $dynamicAnchor; nil when there is none.
func (s *source) anchor(name string) *syntax.Node {
	if s.anchors == nil {
		s.anchors = map[string]*syntax.Node{}
		s.findAnchors(s.root)
	}
	return s.anchors[name]
}

func (s *source) findAnchors(n *syntax.Node) {
	for _, key := range []string{"$anchor", "$dynamicAnchor"} {
		if name := n.Get(key).AsText(); name != "" && s.anchors[name] == nil {
			s.anchors[name] = n
		}
	}
	for i := range n.Entries {
		if !isData(n.Entries[i].Name()) {
			s.findAnchors(n.Entries[i].Value)
		}
	}
	for _, item := range n.Items {
		s.findAnchors(item)
	}
}

// sourceOf opens the file or URL that a reference names. It returns nil when the reference cannot
// be followed, and reports the reason.
func (b *bundle) sourceOf(src *source, ref *syntax.Node, file string) *source {
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
		b.unresolved(ref, "a document from another host refers to "+strconv.Quote(wording.Clip(file))+"; it may refer only to http and https URLs")
		return nil
	case scheme == "file" && (u.Host == "" || u.Host == "localhost"):
		return b.local(src, ref, u.Path)
	case len(scheme) > 1:
		b.unresolved(ref, "references of "+wording.Clip(scheme)+" are not followed; expected a file, or an http or https URL")
		return nil
	}
	if decoded, err := url.PathUnescape(file); err == nil {
		file = decoded
	}
	return b.local(src, ref, filepath.FromSlash(file))
}

// local opens a local file. A relative path is relative to src.
func (b *bundle) local(src *source, ref *syntax.Node, path string) *source {
	name, location := path, path
	if !filepath.IsAbs(path) {
		name = filepath.Join(filepath.Dir(src.name), path)
		location = filepath.Join(filepath.Dir(src.location), path)
	}
	s := &source{name: name, location: filepath.Clean(location)}
	return b.open(s, ref, func() (*syntax.Node, syntax.Problems) {
		b.files = append(b.files, name)
		return b.opts.Open(name)
	})
}

// open returns a source, which read reads unless it was opened before. A source that could not be
// read is reported again for each reference to it, and a problem with a file as a whole is reported
// at the reference. The result is nil if the document has too many files.
func (b *bundle) open(s *source, ref *syntax.Node, read func() (*syntax.Node, syntax.Problems)) *source {
	known := b.sources[s.location]
	switch {
	case known != nil && known.root == nil:
		b.unresolved(ref, s.label()+" cannot be read, as reported above")
		return known
	case known != nil:
		return known
	case len(b.sources) == maxSources:
		b.sources[""] = &source{}
		b.unresolved(ref, "the document refers to more than "+strconv.Itoa(maxSources)+" files; the rest are not read")
	}
	if len(b.sources) > maxSources {
		return nil
	}
	b.add(s)
	var problems syntax.Problems
	s.root, problems = read()
	for _, p := range problems {
		at := problem{Problem: p}
		if at.Key = ""; p.Pos.Line == 0 {
			at.What, at.Pos = s.label()+": "+p.What, ref.Pos()
			at = badFile.served(at, b.strict)
		}
		b.problems = append(b.problems, at)
	}
	return s
}
