package syntax

import (
	"testing"

	"gopkg.in/yaml.v3"
)

// If columns were looked up in any other order than from left to right, the time would be quadratic
// in the length of a line.
func TestNodesAreBuiltInTheOrderWritten(t *testing.T) {
	src := newSource("f.yml", []byte("[{é: [ü], ö: {a: b, c: d}, <<: {e: f}}, {g: h, i: j}]"))
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(src.text), &doc); err != nil {
		t.Fatal(err)
	}
	r := &yamlReader{tree: tree{src: src}, anchors: map[*yaml.Node]*anchor{}}
	r.node(&doc)
	for i := 1; i < len(r.slab); i++ {
		if before, n := r.slab[i-1].Pos(), r.slab[i].Pos(); n.Column <= before.Column {
			t.Errorf("node %d is at %v, the node built before it at %v", i, n, before)
		}
	}
	if len(r.slab) != 20 || len(r.Problems) > 0 {
		t.Errorf("%d nodes, problems %v", len(r.slab), r.Problems)
	}
}
