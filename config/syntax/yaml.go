package syntax

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"

	"mockserver/internal/wording"
)

// maxUnfolded limits the size of a file with its aliases written out to the size that a file may
// have. A node counts nodeWeight and the length of its text.
const (
	maxUnfolded = 64 << 20
	nodeWeight  = 64
)

// readYAML reads all documents of a file. The lists of several documents are one list, so the
// indexes of key paths continue from one to the next.
func readYAML(src *source) ([]*Node, Problems) {
	src = src.asYAML()
	if at, what := src.encodingFault(true); what != "" {
		return nil, Problems{{Pos: src.pos(at), What: what}}
	}
	r := &yamlReader{tree: tree{src: src}}
	decoder := yaml.NewDecoder(strings.NewReader(src.text))
	var docs []*Node
	for !r.refused && !r.Full() {
		var doc yaml.Node
		err := decodeYAML(decoder, &doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			p := yamlProblem(src, err)
			r.Add(p)
			docs = append(docs, r.newNode(NullNode, Text{Pos: p.Pos})) // the document with the error
			break
		}
		r.anchors = map[*yaml.Node]*anchor{}
		root, _ := r.node(&doc)
		docs = append(docs, root)
		r.base += len(root.Items)
	}
	if r.refused {
		return nil, r.Problems
	}
	return docs, r.Problems
}

// decodeYAML reads one document. The library panics on events it does not expect; such a panic must
// become a problem of the file.
func decodeYAML(decoder *yaml.Decoder, doc *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	return decoder.Decode(doc)
}

// extent is the size of a node with its aliases written out.
type extent struct{ weight, depth int }

// anchor is a node that aliases refer to: it is built once and shared.
type anchor struct {
	node   *Node
	extent extent
	open   bool // being built: an alias to it would contain itself
}

type yamlReader struct {
	tree
	base     int // number of items in earlier documents
	anchors  map[*yaml.Node]*anchor
	unfolded int
	refused  bool // too large or too deep: these nodes must not be processed
}

// node builds a node and everything below it.
func (r *yamlReader) node(n *yaml.Node) (*Node, extent) {
	if n.Kind == yaml.AliasNode {
		return r.alias(n)
	}
	if n.Anchor == "" {
		return r.fresh(n)
	}
	a := &anchor{open: true}
	r.anchors[n] = a
	a.node, a.extent = r.fresh(n)
	a.open = false
	return a.node, a.extent
}

func (r *yamlReader) fresh(n *yaml.Node) (*Node, extent) {
	if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
		return r.node(n.Content[0])
	}
	size := extent{weight: nodeWeight, depth: 1}
	var out *Node
	switch n.Kind {
	case yaml.SequenceNode:
		out = r.newNode(ListNode, r.place(n))
		r.collectionTag(n, "!!seq")
		r.list(n, out, &size)
	case yaml.MappingNode:
		out = r.newNode(MapNode, r.place(n))
		r.collectionTag(n, "!!map")
		r.mapping(n, out, &size)
	default:
		out = r.scalar(n)
		size.weight += len(out.Text.Value)
	}
	if size.depth > MaxDepth {
		r.refuse(out.Pos(), "values are nested more than %d deep", MaxDepth)
	}
	return out, size
}

// place returns an empty text with the position of a node that is not a scalar.
func (r *yamlReader) place(n *yaml.Node) Text { return Text{Pos: r.pos(n), Folded: true} }

// alias returns the shared node, and adds the size that sharing hides.
func (r *yamlReader) alias(n *yaml.Node) (*Node, extent) {
	null := r.newNode(NullNode, r.place(n))
	a := r.anchors[n.Alias]
	if a == nil || a.open {
		null.Faulty = true
		r.wrong(null.Pos(), "the alias *%s refers to a value that contains it, so it would never end", wording.Label(n.Value))
		return null, extent{}
	}
	r.unfolded += a.extent.weight
	if r.unfolded > maxUnfolded {
		r.refuse(null.Pos(), "the aliases of this file expand to more than %d MiB of values; expected fewer aliases", maxUnfolded>>20)
		return null, extent{}
	}
	a.node.Shared = true
	return a.node, a.extent
}

// refuse reports, once, why the rest of the file is not processed.
func (r *yamlReader) refuse(pos Pos, format string, args ...any) {
	if !r.refused {
		r.refused = true
		r.Add(Problem{Pos: pos, What: fmt.Sprintf(format, args...)})
	}
}

func (e *extent) hold(child extent) {
	e.weight = min(e.weight+child.weight, maxUnfolded+1)
	e.depth = max(e.depth, child.depth+1)
}

func (r *yamlReader) list(n *yaml.Node, out *Node, size *extent) {
	out.Items = make([]*Node, 0, len(n.Content))
	first := 0
	if len(r.path) == 0 {
		first = r.base
	}
	for i, c := range n.Content {
		r.push(step{index: first + i})
		item, e := r.node(c)
		r.pop()
		size.hold(e)
		out.Items = append(out.Items, item)
	}
}

func (r *yamlReader) mapping(n *yaml.Node, out *Node, size *extent) {
	var list entries
	list.list = make([]Entry, 0, len(n.Content)/2)
	merges := 0
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := r.key(n.Content[i])
		merge := n.Content[i].Kind == yaml.ScalarNode && n.Content[i].Tag == "!!merge"
		if merge {
			if merges++; merges > 1 {
				r.wrong(key.Pos(), "the merge key << occurs twice in this map; several maps are merged as a list, <<: [*a, *b]")
			}
		}
		r.push(step{key: key.Text.Value, named: true})
		value, e := r.node(n.Content[i+1])
		size.hold(e)
		switch {
		case key.Kind == MapNode: // key has reported the error
		case merge:
			r.merge(&list, value, n)
		default:
			r.put(&list, key, value)
		}
		r.pop()
	}
	out.Entries = list.list
}

// placeholderHint returns a hint for an unquoted {{placeholder}}, which is a map in a map in YAML.
func placeholderHint(k Kind) string {
	if k == MapNode {
		return ", and a {{placeholder}} is written in quotes"
	}
	return ""
}

// key builds a key of a map. A node that cannot be a key is kept as a map. Keys and values are
// built in the order written: an anchor precedes its aliases, and columns are looked up from left
// to right.
func (r *yamlReader) key(n *yaml.Node) *Node {
	key, _ := r.node(n)
	if key.Kind == NullNode || key.Kind == ListNode || key.Kind == MapNode {
		r.wrong(key.Pos(), "a key is %v; expected a text%s", key.Kind, placeholderHint(key.Kind))
		return r.newNode(MapNode, key.Text)
	}
	return key
}

// merge adds the entries of the maps under <<, except keys that the map itself or an earlier merged
// map has.
func (r *yamlReader) merge(list *entries, value *Node, into *yaml.Node) {
	sources := []*Node{value}
	if value.Kind == ListNode {
		sources = value.Items
	}
	own := make(map[string]bool, len(into.Content)/2)
	for i := 0; i < len(into.Content); i += 2 {
		key := into.Content[i]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		own[key.Value] = true
	}
	for _, from := range sources {
		if from.Kind != MapNode {
			r.wrong(from.Pos(), "<< merges a map, or a list of maps; this is %s", from.Shown())
			continue
		}
		for _, e := range from.Entries {
			if !own[e.Key.Text.Value] && list.find(e.Key.Text.Value) < 0 {
				e.Value.Shared = true
				list.add(e.Key, e.Value)
			}
		}
	}
}

func (r *yamlReader) collectionTag(n *yaml.Node, tag string) {
	if n.Tag != tag {
		r.unknownTag(n, tag)
	}
}

func (r *yamlReader) unknownTag(n *yaml.Node, accepted string) {
	r.wrong(r.pos(n), "the tag %s is not known here; expected %s, or none", wording.Label(n.Tag), accepted)
}
