package renderer

import (
	"fmt"
	"slices"

	"mockserver/config/syntax"
	"mockserver/internal/tags"
	"mockserver/matcher"
	"mockserver/renderer/jsontext"
)

// Limits for checking a text with blocks. A text that exceeds them is not checked.
const (
	maxWays  = 64
	maxRead  = 4 << 20 // bytes, on all paths together
	nodeCost = 64      // the cost of visiting a node, in bytes
)

// choice is one way to pass a block: an arm of an if, or no arm; or the number of iterations of a
// for.
type choice struct {
	block *node
	which int // an arm, or a number of iterations; -1 for none
}

// way is one path through the blocks, and what was chosen on it.
type way struct {
	jsontext.State
	taken choices
}

// trial follows all paths through the blocks of a JSON text at once, and merges those with the same
// continuations. A loop has zero, one or two iterations. The result of a condition on the request
// is chosen independently at each place, so that no path is missed; a condition on the iterations
// of a loop is evaluated.
type trial struct {
	frame   frame
	request matcher.Request
	numbers map[choice]int
	choices []choice
	entered choices // choices on paths that were valid so far
	read    int
	gaveUp  bool
}

// checkBlocks warns about a text with blocks that is never JSON, or is not JSON on all paths with a
// certain choice.
func (t *Template) checkBlocks(text syntax.Text) syntax.Problems {
	try := trial{frame: frame{turns: make([]loop, t.depth), memos: make([]memo, t.memos)}, numbers: map[choice]int{}}
	var sound choices
	valid := false
	for _, w := range try.nodes(t.nodes, []way{{}}, unguarded) {
		if w.Ended() {
			valid = true
			sound.join(w.taken)
		}
	}
	const what = "the body is served as JSON but is not valid JSON "
	warning := syntax.Problem{Pos: text.Pos, Key: text.Key, Warning: true}
	switch {
	case try.gaveUp:
		return nil
	case !valid:
		warning.What = what + "on any path through its blocks"
		return syntax.Problems{warning}
	}
	for i, c := range try.choices {
		if try.entered.has(i) && !sound.has(i) {
			at, when := c.describe(text.Value)
			warning.Pos, warning.What = text.At(at), what+when
			return syntax.Problems{warning}
		}
	}
	return nil
}

// describe says where the block of a choice is and when the choice is made.
func (c choice) describe(text string) (offset int, when string) {
	spelling := func(offset int) string {
		_, end := tags.Next(text[offset:])
		return text[offset : offset+end]
	}
	switch offset = c.block.offset; {
	case c.block.kind == loopNode:
		return offset, fmt.Sprintf("when %s has %s", spelling(offset), [...]string{"no iterations", "one iteration", "two iterations"}[c.which])
	case c.which < 0 && len(c.block.arms) > 1:
		return offset, fmt.Sprintf("when no condition of %s holds", spelling(offset))
	case c.which < 0:
		return offset, fmt.Sprintf("when %s does not hold", spelling(offset))
	}
	offset = c.block.arms[c.which].offset
	return offset, "with " + spelling(offset)
}

// guard says what the conditions around nodes may exclude, which avoids false alarms.
type guard uint8

const (
	unguarded guard = iota
	guarded         // that nothing is written: by an if that is false, or a loop without iterations
	counted         // also certain numbers of iterations
)

// within returns the guard inside an if.
func (g guard) within(n *node) guard {
	for i := range n.arms {
		if c := n.arms[i].cond; c != nil && c.asksLength() {
			return counted
		}
	}
	return max(g, guarded)
}

// asksLength reports whether a condition depends on a length.
func (c *cond) asksLength() bool {
	return slices.ContainsFunc(c.conds, func(inner cond) bool { return inner.asksLength() }) || c.left.asksLength() || c.right.asksLength()
}

func (e *expr) asksLength() bool {
	return e.length || len(e.steps) > 0 && e.steps[len(e.steps)-1].isLength() ||
		slices.ContainsFunc(e.filters, func(f filter) bool { return f.name == "length" })
}

// nodes passes nodes on all paths.
func (try *trial) nodes(nodes []node, ways []way, g guard) []way {
	for i := range nodes {
		n := &nodes[i]
		if try.read += len(ways) * (nodeCost + len(n.text)); try.read > maxRead {
			try.gaveUp = true
		}
		if try.gaveUp || len(ways) == 0 {
			return nil
		}
		switch n.kind {
		case literalNode:
			ways = kept(ways, func(w *way) bool { return w.Read(n.text) })
		case outputNode:
			ways = kept(ways, func(w *way) bool { return !n.write.isJSONValue() || w.Value() })
		case branchNode:
			ways = try.branch(n, ways, g)
		case loopNode:
			ways = try.loop(n, ways, g)
		}
	}
	return ways
}

// kept returns the paths on which something is allowed, moved past it.
func kept(ways []way, stands func(w *way) bool) []way {
	left := ways[:0]
	for i := range ways {
		if stands(&ways[i]) {
			left = append(left, ways[i])
		}
	}
	return left
}

func (try *trial) branch(n *node, ways []way, g guard) []way {
	var out []way
	inside := g.within(n)
	for i := range n.arms {
		a := &n.arms[i]
		try.read += len(ways) * nodeCost
		known := a.cond == nil || a.cond.needsNoRequest()
		if known && !try.holds(a.cond) {
			continue
		}
		out = append(out, try.nodes(a.body, try.choose(ways, choice{n, i}), inside)...)
		if known {
			return try.merged(out)
		}
	}
	if g != unguarded || n.exhaustive() {
		return try.merged(append(out, copied(ways)...))
	}
	return try.merged(append(out, try.choose(ways, choice{n, -1})...))
}

// holds reports whether a condition that does not depend on the request is true.
func (try *trial) holds(c *cond) bool {
	try.frame.work, try.request.Arena = work{}, try.request.Arena[:0]
	return c == nil || c.holds(&try.request, &try.frame)
}

func (try *trial) loop(n *node, ways []way, g guard) []way {
	out := copied(ways)
	if g == unguarded {
		out = try.choose(ways, choice{n, 0})
	}
	for count := 1; count <= 2; count++ {
		c := choice{n, count}
		if g == counted {
			c.which = 1 // one of the two numbers may be impossible, so both are one choice
		}
		turned := try.choose(ways, c)
		for index := 1; index <= count; index++ {
			try.frame.count++
			try.frame.turns[n.loop] = loop{index: index, count: count, turn: try.frame.count}
			turned = try.nodes(n.body, turned, g)
		}
		out = append(out, turned...)
	}
	return try.merged(out)
}

// choose returns copies of the paths for which a choice is made.
func (try *trial) choose(ways []way, c choice) []way {
	number, known := try.numbers[c]
	if !known && len(try.choices) < maxChoices {
		number = len(try.choices)
		try.numbers[c] = number
		try.choices = append(try.choices, c)
		known = true
	}
	chosen := copied(ways)
	if known && len(ways) > 0 {
		try.entered.add(number)
		for i := range chosen {
			chosen[i].taken.add(number)
		}
	}
	return chosen
}

func copied(ways []way) []way {
	out := make([]way, len(ways), 2*len(ways))
	for i := range ways {
		out[i] = way{ways[i].Clone(), ways[i].taken}
	}
	return out
}

// merged merges paths with the same continuations: their choices are combined.
func (try *trial) merged(ways []way) []way {
	out := ways[:0]
next:
	for i := range ways {
		for j := range out {
			if out[j].Same(&ways[i].State) {
				out[j].taken.join(ways[i].taken)
				continue next
			}
		}
		out = append(out, ways[i])
	}
	try.gaveUp = try.gaveUp || len(out) > maxWays
	return out
}

// needsNoRequest reports whether a condition depends only on constants and iterations of loops.
func (c *cond) needsNoRequest() bool {
	for i := range c.conds {
		if !c.conds[i].needsNoRequest() {
			return false
		}
	}
	return c.left.needsNoRequest() && c.right.needsNoRequest()
}

func (e *expr) needsNoRequest() bool {
	for i := range e.filters {
		if arg := e.filters[i].arg; arg != nil && !arg.needsNoRequest() {
			return false
		}
	}
	switch e.op {
	case opLiteral, opLoopIndex, opLoopFirst, opLoopLast:
		return true
	}
	return false
}

// opposites contains the opposites of tests.
var opposites = map[test]test{
	testEqual: testNotEqual, testNotEqual: testEqual,
	testGreater: testLessOrEqual, testLessOrEqual: testGreater, testLess: testGreaterOrEqual, testGreaterOrEqual: testLess,
}

// maxCompared is how many arms of an if are compared with each other.
const maxCompared = 50

// exhaustive reports whether one arm of an if is the opposite of another, so that one of them is
// always taken. It also returns true if there are too many arms to compare.
func (n *node) exhaustive() bool {
	if len(n.arms) > maxCompared {
		return true
	}
	for i := range n.arms {
		for j := range i {
			if a, b := n.arms[i].cond, n.arms[j].cond; a.opposes(b) || b.opposes(a) {
				return true
			}
		}
	}
	return false
}

func (c *cond) opposes(other *cond) bool {
	if c.test == testNot {
		return c.conds[0].text == other.text
	}
	opposite, known := opposites[c.test]
	return known && other.test == opposite && c.operands == other.operands
}

// maxChoices is the maximum number of choices in a text that are distinguished.
const maxChoices = 256

// choices is a set of choices, by number.
type choices [maxChoices / 64]uint64

func (c *choices) add(i int)      { c[i/64] |= 1 << (i % 64) }
func (c *choices) has(i int) bool { return c[i/64]>>(i%64)&1 == 1 }
func (c *choices) join(d choices) {
	for i := range c {
		c[i] |= d[i]
	}
}
