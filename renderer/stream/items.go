// Package stream renders the items of a streamed response, one at a time: events as the WHATWG HTML standard frames
// them, lines, or pieces of a body. docs/streams.md describes them.
//
// Items are compiled once. A Cursor goes through them for one request, and makes nothing before it is needed: loops
// are iterated as items are sent.
package stream

import (
	"mockserver/config/item"
	"mockserver/config/policy"
	"mockserver/config/syntax"
	"mockserver/renderer"
)

// Items are the items of a stream, compiled. They are immutable and safe for concurrent use.
type Items struct {
	HasID  bool              // an event has an id
	Afters []*policy.Latency // by Item.After
	// Count is the number of items, if it is the same for every request; -1 for any other stream.
	Count int
	// Endless means that the stream has no end of its own.
	Endless bool

	nodes  []node
	loops  int // how deep loops are nested
	levels int // how deep groups are nested, with the stream itself
}

// node is an item, or a group of them.
type node struct {
	item    *Item // nil for a group
	group   []node
	loop    *renderer.Loop      // nil for none
	endless bool                // the loop has no end
	cond    *renderer.Condition // nil for none
	file    *file               // makes an item of each piece; nil for none
}

// Item is one item.
type Item struct {
	After int    // the index of its latency in Afters, which is used instead of the gap; -1 for none
	With  string // item.WithNext and item.WithPrevious: it is sent together with that item; "" for neither

	parts []part
	id    *part // the id, which is one of parts; nil for none
}

// compiler compiles the items of a stream.
type compiler struct {
	items    *Items
	raw      bool
	body     renderer.Form // of pieces of a body that are texts
	problems syntax.Problems
}

// Compile compiles the items of a stream. raw means that their texts have no placeholders. body is the form of texts
// that are pieces of a body; Inferred if no Content-Type is declared. The problems have positions in the texts.
func Compile(declared []item.StreamItem, raw bool, body renderer.Form, scope *renderer.Scope) (*Items, syntax.Problems) {
	c := compiler{items: &Items{}, raw: raw, body: body}
	within := *scope
	within.Stream = true
	c.items.nodes, c.items.Count = c.list(declared, &within, 1)
	if c.problems.Err() != nil {
		return nil, c.problems
	}
	return c.items, c.problems
}

// Fixed returns items that are pieces of a body. Item.After is the index of each.
func Fixed(pieces []string) *Items {
	s := &Items{Count: len(pieces), levels: 1}
	for i, text := range pieces {
		s.nodes = append(s.nodes, node{item: &Item{After: i, parts: []part{{text: text}}}})
	}
	return s
}

// list compiles a list of items, and returns their number.
func (c *compiler) list(declared []item.StreamItem, scope *renderer.Scope, level int) (nodes []node, count int) {
	c.items.levels = max(c.items.levels, level)
	for i := range declared {
		n, number := c.node(&declared[i], scope, level)
		nodes = append(nodes, n)
		count = sum(count, number)
	}
	return nodes, count
}

// sum adds two numbers of items, of which -1 stands for an unknown one.
func sum(a, b int) int {
	if a < 0 || b < 0 {
		return -1
	}
	return min(a+b, item.MaxStreamItems)
}

func (c *compiler) node(d *item.StreamItem, scope *renderer.Scope, level int) (n node, count int) {
	count = 1
	within := *scope
	n.loop, n.endless = c.loop(d, &within), d.Times.Value == item.Forever
	var wrong syntax.Problems
	n.cond, wrong = renderer.CompileCondition(d.If, &within)
	c.problems = append(c.problems, wrong...)
	switch {
	case d.Items != nil:
		n.group, count = c.list(d.Items, &within, level+1)
	case d.File != nil && d.Split != "":
		piece := node{file: newFile(d)}
		piece.item = c.item(d, &within)
		n.group, count = []node{piece}, piece.file.count()
		c.items.levels = max(c.items.levels, level+1)
	default:
		n.item = c.item(d, &within)
	}
	if !n.cond.Always() {
		count = -1
	}
	if n.loop != nil {
		times, fixed := n.loop.Fixed()
		if !fixed || count < 0 {
			return n, -1
		}
		count = min(times*count, item.MaxStreamItems)
	}
	return n, count
}

// loop compiles the loop of an item, and adds it to the scope.
func (c *compiler) loop(d *item.StreamItem, scope *renderer.Scope) (l *renderer.Loop) {
	name := ""
	var wrong syntax.Problems
	switch {
	case d.For.Value != "":
		l, name, wrong = renderer.CompileFor(d.For, scope)
	case d.Times.Value == item.Forever:
		l = renderer.Endless(scope)
		c.items.Endless = true
	case d.Times.Value != "":
		l, wrong = renderer.CompileTimes(d.Times, scope)
	default:
		return nil
	}
	c.problems = append(c.problems, wrong...)
	scope.Loops = append(scope.Loops[:len(scope.Loops):len(scope.Loops)], name)
	c.items.loops = max(c.items.loops, len(scope.Loops))
	return l
}

// item compiles an item of which nothing is repeated.
func (c *compiler) item(d *item.StreamItem, scope *renderer.Scope) *Item {
	it := &Item{After: -1, With: d.With}
	if d.After != nil {
		it.After = len(c.items.Afters)
		c.items.Afters = append(c.items.Afters, d.After)
	}
	f := framer{compiler: c, scope: scope, cut: d.File != nil && d.Split != ""}
	switch form, content := d.Form(); form {
	case item.AsLine:
		f.line(content, d.Separator)
	case item.AsBody:
		f.body(content)
	default:
		f.event(d, content)
	}
	it.parts, it.id = f.parts, f.id
	return it
}
