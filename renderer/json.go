package renderer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"mockserver/config/syntax"
	"mockserver/internal/tags"
	"mockserver/matcher"
)

// checkJSON warns about a body that is not JSON once its placeholders are filled in: a superfluous
// comma, or a placeholder in the place of a key or next to another one. Each path through a text
// with blocks is a separate text: see checkBlocks. around has the loops around the text.
func (t *Template) checkJSON(text syntax.Text, around []string) syntax.Problems {
	sample, hasPlaceholders := make([]byte, 0, len(text.Value)), false
	for i := range t.nodes {
		switch n := &t.nodes[i]; n.kind {
		case literalNode:
			sample = append(sample, n.text...)
		case outputNode:
			hasPlaceholders = true
			if n.write.isJSONValue() {
				sample = append(sample, "null"...)
			}
		default:
			if len(around) > 0 {
				return nil // what the loops around the text do is unknown
			}
			return t.checkBlocks(text)
		}
	}
	if !hasPlaceholders {
		return nil // a static body is checked at its declaration
	}
	if err := whyNotJSON(sample); err != nil {
		return syntax.Problems{{
			Pos: text.Pos, Key: text.Key, Warning: true,
			What: "the body is served as JSON but is not valid JSON once its placeholders are filled in: " + err.Error(),
		}}
	}
	return nil
}

// whyNotJSON returns why a text is not a sequence of JSON values; nil if it is.
func whyNotJSON(text []byte) (err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	for err == nil {
		var v json.RawMessage
		err = decoder.Decode(&v)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// maxSamples is the largest number of samples of a text with blocks, and maxSampled their size in
// bytes. A text with more is not checked.
const (
	maxSamples = 512
	maxSampled = 1 << 20
)

// choice is one way to pass a block: an arm of an if, or one more than there are for no arm; or the
// number of iterations of a for.
type choice struct {
	block *node
	which int
}

// sampler makes samples of a JSON text with blocks: texts that it may produce, with null for each
// value. A loop has zero, one or two iterations. The result of a condition on the request is chosen
// independently at each place, so that no path is missed; a condition on the iterations of a loop is
// evaluated.
type sampler struct {
	blocks  []*node
	picks   map[*node]int // for the current sample
	text    []byte        // the current sample
	taken   []choice      // in the current sample
	sound   map[choice]bool
	frame   frame
	request matcher.Request
}

// checkBlocks warns about a text with blocks that is never JSON, or is not JSON with a certain
// choice, whatever else is chosen.
func (t *Template) checkBlocks(text syntax.Text) syntax.Problems {
	s := sampler{picks: map[*node]int{}, sound: map[choice]bool{}, frame: frame{turns: make([]loop, t.depth), memos: make([]memo, t.memos)}}
	s.find(t.nodes)
	samples := 1
	for _, n := range s.blocks {
		if samples *= n.ways(); samples > maxSamples || samples*len(text.Value) > maxSampled {
			return nil
		}
	}
	valid := false
	for range samples {
		s.text, s.taken = s.text[:0], s.taken[:0]
		s.frame.count = 0
		if s.nodes(t.nodes, unguarded); len(s.text) > maxSampled {
			return nil
		}
		fine := whyNotJSON(s.text) == nil
		valid = valid || fine
		for _, c := range s.taken {
			s.sound[c] = s.sound[c] || fine
		}
		s.next()
	}
	warning := syntax.Problem{Pos: text.Pos, Key: text.Key, Warning: true, What: "the body is served as JSON but is not valid JSON "}
	if !valid {
		warning.What += "on any path through its blocks"
		return syntax.Problems{warning}
	}
	var first *choice
	for c, sound := range s.sound {
		if !sound && (first == nil || cmp.Or(c.block.offset-first.block.offset, c.which-first.which) < 0) {
			first = &c
		}
	}
	if first == nil {
		return nil
	}
	at, when := first.describe(text.Value)
	warning.Pos, warning.What = text.At(at), warning.What+when
	return syntax.Problems{warning}
}

// find appends the blocks among nodes.
func (s *sampler) find(nodes []node) {
	for i := range nodes {
		n := &nodes[i]
		if n.kind == branchNode || n.kind == loopNode {
			s.blocks = append(s.blocks, n)
		}
		s.find(n.body)
		for j := range n.arms {
			s.find(n.arms[j].body)
		}
	}
}

// ways returns in how many ways a block can be passed.
func (n *node) ways() int {
	switch {
	case n.kind == loopNode:
		return 3
	case n.arms[len(n.arms)-1].cond == nil:
		return len(n.arms)
	}
	return len(n.arms) + 1
}

// next picks the ways of the next sample.
func (s *sampler) next() {
	for _, n := range s.blocks {
		if s.picks[n]++; s.picks[n] < n.ways() {
			return
		}
		s.picks[n] = 0
	}
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
	case c.which == len(c.block.arms) && c.which > 1:
		return offset, fmt.Sprintf("when no condition of %s holds", spelling(offset))
	case c.which == len(c.block.arms):
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
		if c := n.arms[i].cond; c != nil && !c.every((*expr).ignoresLength) {
			return counted
		}
	}
	return max(g, guarded)
}

// ignoresLength reports whether a value does not depend on a length.
func (e *expr) ignoresLength() bool {
	return !e.length && (len(e.steps) == 0 || !e.steps[len(e.steps)-1].isLength()) &&
		!slices.ContainsFunc(e.filters, func(f filter) bool { return f.name == "length" })
}

// nodes appends the nodes to the current sample.
func (s *sampler) nodes(nodes []node, g guard) {
	for i := range nodes {
		n := &nodes[i]
		switch {
		case len(s.text) > maxSampled:
			return
		case n.kind == literalNode:
			s.text = append(s.text, n.text...)
		case n.kind == branchNode:
			s.branch(n, g)
		case n.kind == loopNode:
			s.loop(n, g)
		case n.write.isJSONValue():
			s.text = append(s.text, "null"...)
		}
	}
}

func (s *sampler) branch(n *node, g guard) {
	for i := range n.arms {
		a := &n.arms[i]
		known := a.cond == nil || a.cond.every((*expr).needsNoRequest)
		if known && s.holds(a.cond) || !known && s.picks[n] == i {
			s.taken = append(s.taken, choice{n, i})
			s.nodes(a.body, g.within(n))
			return
		}
	}
	if g == unguarded && !n.exhaustive() {
		s.taken = append(s.taken, choice{n, len(n.arms)})
	}
}

// holds reports whether a condition that does not depend on the request is true.
func (s *sampler) holds(c *cond) bool {
	s.frame.work, s.request.Arena = work{}, s.request.Arena[:0]
	return c == nil || c.holds(&s.request, &s.frame)
}

func (s *sampler) loop(n *node, g guard) {
	count := s.picks[n]
	switch {
	case g == counted && count > 0:
		s.taken = append(s.taken, choice{n, 1}) // one of the two numbers may be impossible, so both are one choice
	case g == unguarded || count > 0:
		s.taken = append(s.taken, choice{n, count})
	}
	for index := 1; index <= count; index++ {
		s.frame.count++
		s.frame.turns[n.loop] = loop{index: index, count: count, turn: s.frame.count}
		s.nodes(n.body, g)
	}
}

// needsNoRequest reports whether a value depends only on constants and iterations of loops.
func (e *expr) needsNoRequest() bool {
	switch e.op {
	case opLiteral, opLoopIndex, opLoopFirst, opLoopLast:
		return e.everyArgument((*expr).needsNoRequest)
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
