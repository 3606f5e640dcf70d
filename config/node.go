package config

import (
	"fmt"
	"strings"

	"mockserver/internal/wording"
)

// kind is what a node holds.
type kind uint8

const (
	nullNode kind = iota
	boolNode
	numberNode
	textNode
	listNode
	mapNode
)

// String names the kind as a message does.
func (k kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a text", "a list", "a map"}[k]
}

// node is one value of a configuration file with its position: the one tree
// that every syntax becomes, and the only thing the decoder knows. Aliases and
// merge keys are resolved, and keys of a map are distinct.
type node struct {
	kind kind
	// text is a scalar's text: of a boolean or a number as written ("True", "1_000");
	// "" for null. Its Key is left empty: a shared node stands at several.
	text Text
	// number is the number as JSON has it, digit for digit where JSON can; "" for
	// what JSON cannot say (infinity, not a number).
	number  string
	keyword bool    // of a text: it is written as a keyword of EDN
	faulty  bool    // what was written has been refused, and this only stands for it
	items   []*node // of a list
	entries []entry // of a map, in the order written
}

// entry is one key of a map and its value.
type entry struct {
	key   *node // a scalar
	value *node
}

// pos is where the node begins.
func (n *node) pos() Pos { return n.text.Pos }

// get returns the value of a map's key, or nil.
func (n *node) get(key string) *node {
	if e := n.entry(key); e != nil {
		return e.value
	}
	return nil
}

// entry returns the entry of a map's key, or nil.
func (n *node) entry(key string) *entry {
	for i := range n.entries {
		if n.entries[i].key.text.Value == key {
			return &n.entries[i]
		}
	}
	return nil
}

// isScalar reports whether the node is neither null, nor a list, nor a map.
func (n *node) isScalar() bool {
	return n.kind == boolNode || n.kind == numberNode || n.kind == textNode
}

// truth is the value of a boolean.
func (n *node) truth() bool { return strings.EqualFold(n.text.Value, "true") }

// shown is how a message names a value: its kind, and a short scalar itself.
func (n *node) shown() string {
	switch n.kind {
	case boolNode, numberNode:
		return fmt.Sprintf("%v (%s)", n.kind, wording.Label(n.text.Value))
	case textNode:
		return fmt.Sprintf("%v (%q)", n.kind, wording.Clip(n.text.Value))
	}
	return n.kind.String()
}
