package openapi

import (
	"path/filepath"
	"strconv"
	"strings"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/syntax"
	"mockserver/internal/wording"
)

const (
	// maxInlined limits how deeply references are replaced within each other, and the length of
	// chains of references.
	maxInlined = 100
	// maxSpread limits how many nodes take the place of references.
	maxSpread = 1 << 20
)

const endlessReference = "the reference leads back to itself, so it would never end"

// unfold replaces the reference in a node with what it refers to: in a path item, and where OpenAPI
// has no references.
func (b *bundle) unfold(n *syntax.Node, l *layout) {
	for steps := 0; ; steps++ {
		ref := n.Get("$ref")
		if ref == nil || ref.Kind != syntax.TextNode {
			return
		}
		b.remove(n, func(e syntax.Entry) bool { return e.Value == ref })
		if steps > maxInlined {
			b.unresolved(ref, "the reference is the end of a chain of more than "+strconv.Itoa(maxInlined)+" references")
			return
		}
		b.inline(n, ref, l)
	}
}

// inline adds what a removed reference refers to. If it and the node are maps, the entries of the
// node take precedence.
func (b *bundle) inline(n, ref *syntax.Node, l *layout) {
	_, target := b.find(ref)
	if target == nil {
		return
	}
	size, again := extent(target, n, maxSpread-b.spread)
	b.spread += size
	isItem := l.section == pathSection
	switch {
	case again:
		b.unresolved(ref, endlessReference)
		return
	case b.spread >= maxSpread:
		b.unresolved(ref, "references would be replaced with more than "+strconv.Itoa(maxSpread)+" values")
		return
	case isItem && target.Kind != syntax.MapNode:
		b.unresolved(ref, "the reference leads to "+target.Kind.String()+"; expected a path item")
		return
	case !isItem:
		b.fault(ref, strayReference, "OpenAPI has no reference here; expected the value itself")
	}
	if target.Kind != syntax.MapNode {
		n.Kind, n.Text, n.Number, n.Items, n.Entries = target.Kind, target.Text, target.Number, target.Items, nil
		return
	}
	for _, e := range target.Entries {
		if n.Get(e.Name()) == nil {
			n.Entries = append(n.Entries, e)
		}
	}
	delete(b.sourceAt(ref).index, n)
}

func (b *bundle) sourceAt(n *syntax.Node) *source {
	if s := b.named[n.Pos().File]; s != nil {
		return s
	}
	return b.root
}

// extent returns how many nodes there are at and below n, but at most limit, and whether one of them
// is within.
func extent(n, within *syntax.Node, limit int) (size int, found bool) {
	size, found = 1, n == within
	add := func(below *syntax.Node) {
		if size < limit && !found {
			more, ok := extent(below, within, limit-size)
			size, found = size+more, ok
		}
	}
	for i := range n.Entries {
		add(n.Entries[i].Value)
	}
	for _, item := range n.Items {
		add(item)
	}
	return size, found
}

// example follows the references in the value of an example, where OpenAPI has none, but bundlers
// follow them. A map with a $ref is a value like any other if it has other keys, or if there is
// nothing to follow.
func (b *bundle) example(n *syntax.Node) {
	if ref := n.Get("$ref"); ref != nil && ref.Kind == syntax.TextNode && len(n.Entries) == 1 {
		if strings.Contains(ref.Text.Value, "://") && !b.opts.AllowRemoteRefs {
			return
		}
		known := len(b.problems)
		if _, target := b.find(ref); target != nil {
			b.remove(n, func(e syntax.Entry) bool { return e.Value == ref })
			b.inline(n, ref, &layout{want: wantAny})
			b.example(n)
			return
		}
		b.problems = b.problems[:known]
		switch path, _, _ := strings.Cut(ref.Text.Value, "#"); filepath.Ext(path) {
		case ".json", ".yaml", ".yml":
			b.warn(ref, "", "the reference "+strconv.Quote(wording.Clip(ref.Text.Value))+" does not resolve; the example has it as it is")
		}
		return
	}
	for i := range n.Entries {
		b.example(n.Entries[i].Value)
	}
	for _, item := range n.Items {
		b.example(item)
	}
}

// isData reports whether the value of a key of a schema is data, in which nothing is a schema.
func isData(key string) bool {
	return key == "enum" || key == "const" || key == "default" || key == "example" || key == "examples"
}

// find returns the source and the node that a reference points to. For a dangling reference it
// reports the reason and returns a nil node.
func (b *bundle) find(ref *syntax.Node) (*source, *syntax.Node) {
	if f, known := b.found[ref]; known {
		return f.in, f.node
	}
	return b.search(ref, 0)
}

func (b *bundle) search(ref *syntax.Node, depth int) (*source, *syntax.Node) {
	src := b.sourceAt(ref)
	file, fragment, _ := strings.Cut(ref.Text.Value, "#")
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
		b.unresolved(ref, "there is no $anchor "+strconv.Quote(wording.Clip(fragment))+" in "+from.label()+"; expected after # the name of one, or a JSON pointer such as #/components/schemas/Pet")
		return nil, nil
	}
	at := found{from, from.root}
	for _, token := range jsonvalue.TokensOf(fragment) {
		next := b.next(at, token, depth)
		if next.node == nil {
			hint := ""
			if b.opts.Suggest != nil && at.node.Kind == syntax.MapNode && len(b.problems) < mostHints {
				hint = b.opts.Suggest(token, at.node.Keys())
			}
			b.unresolved(ref, "the reference "+strconv.Quote(wording.Clip(ref.Text.Value))+" does not resolve: there is no "+strconv.Quote(wording.Clip(token))+" there"+hint)
			return nil, nil
		}
		at = next
	}
	return at.in, at.node
}

// next returns the node that a token leads to, also through references that are not replaced yet.
func (b *bundle) next(at found, token string, depth int) found {
	for range maxInlined {
		if n := at.in.step(at.node, token); n != nil {
			return found{at.in, n}
		}
		ref := at.node.Get("$ref")
		if ref == nil || ref.Kind != syntax.TextNode || depth > maxInlined {
			break
		}
		target, known := b.found[ref]
		if !known {
			problems := len(b.problems)
			target.in, target.node = b.search(ref, depth+1)
			b.problems = b.problems[:problems] // reported where the reference is walked
		}
		if target.node == nil {
			break
		}
		at = target
	}
	return found{}
}
