package renderer

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"mockserver/config/syntax"
)

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

// sampler makes samples of a JSON text with blocks: texts that it may produce, with null for each
// value. A loop has zero, one or two iterations, and an if takes one of its arms, or none.
type sampler struct {
	blocks []*node
	picks  map[*node]int // for the current sample
	text   []byte        // the current sample
}

// checkJSON warns about a body that is not JSON once its placeholders are filled in: a superfluous
// comma, or a placeholder in the place of a key or next to another one. A text with blocks is reported
// only if it is never JSON, whatever is chosen at each of them. around has the loops around the text.
func (t *Template) checkJSON(text syntax.Text, around []string) syntax.Problems {
	s := sampler{picks: map[*node]int{}}
	s.find(t.nodes)
	switch isOutput := func(n node) bool { return n.kind == outputNode }; {
	case len(s.blocks) == 0 && !slices.ContainsFunc(t.nodes, isOutput):
		return nil // a static body is checked at its declaration
	case len(s.blocks) > 0 && len(around) > 0:
		return nil // what the loops around the text do is unknown
	}
	samples, what := 1, "on any path through its blocks"
	for _, n := range s.blocks {
		if samples *= n.ways(); samples > maxSamples || samples*len(text.Value) > maxSampled {
			return nil
		}
	}
	for range samples {
		s.text = s.text[:0]
		s.nodes(t.nodes)
		err := whyNotJSON(s.text)
		switch {
		case err == nil || len(s.text) > maxSampled && len(s.blocks) > 0:
			return nil
		case len(s.blocks) == 0:
			what = "once its placeholders are filled in: " + err.Error()
		}
		s.next()
	}
	return syntax.Problems{{Pos: text.Pos, Key: text.Key, Warning: true, What: "the body is served as JSON but is not valid JSON " + what}}
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

// nodes appends the nodes to the current sample.
func (s *sampler) nodes(nodes []node) {
	for i := range nodes {
		n := &nodes[i]
		switch {
		case len(s.text) > maxSampled && len(s.blocks) > 0:
			return
		case n.kind == literalNode:
			s.text = append(s.text, n.text...)
		case n.kind == branchNode:
			if arm := s.picks[n]; arm < len(n.arms) {
				s.nodes(n.arms[arm].body)
			}
		case n.kind == loopNode:
			for range s.picks[n] {
				s.nodes(n.body)
			}
		case n.write.isJSONValue():
			s.text = append(s.text, "null"...)
		}
	}
}
