// Package syntax reads configuration files: YAML, JSON and EDN become one tree of nodes,
// each of which knows its place in its file. What keys and values mean is package
// config's.
package syntax

import (
	"fmt"
	"strconv"
	"strings"

	"mockserver/internal/wording"
)

// Kind is what a node holds.
type Kind uint8

// The kinds of nodes.
const (
	NullNode Kind = iota
	BoolNode
	NumberNode
	TextNode
	ListNode
	MapNode
)

// String names the kind as a message does.
func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a text", "a list", "a map"}[k]
}

// Node is one value of a configuration file with its position: the one tree
// that every syntax becomes, and the only thing the decoder knows. Aliases and
// merge keys are resolved, and keys of a map are distinct.
type Node struct {
	Kind Kind
	// Text is a scalar's text: of a boolean or a number as written ("True", "1_000");
	// "" for null. Its Key is left empty: a shared node stands at several.
	Text Text
	// Number is the number as JSON has it, digit for digit where JSON can; "" for
	// what JSON cannot say (infinity, not a number).
	Number  string
	Keyword bool    // of a text: it is written as a keyword of EDN
	Faulty  bool    // what was written has been refused, and this only stands for it
	Items   []*Node // of a list
	Entries []Entry // of a map, in the order written
}

// Entry is one key of a map and its value.
type Entry struct {
	Key   *Node // a scalar
	Value *Node
}

// Pos is where the node begins.
func (n *Node) Pos() Pos { return n.Text.Pos }

// Get returns the value of a map's key, or nil.
func (n *Node) Get(key string) *Node {
	if e := n.Entry(key); e != nil {
		return e.Value
	}
	return nil
}

// Entry returns the entry of a map's key, or nil.
func (n *Node) Entry(key string) *Entry {
	for i := range n.Entries {
		if n.Entries[i].Key.Text.Value == key {
			return &n.Entries[i]
		}
	}
	return nil
}

// Truth is the value of a boolean.
func (n *Node) Truth() bool { return strings.EqualFold(n.Text.Value, "true") }

// Shown is how a message names a value: its kind, and a short scalar itself.
func (n *Node) Shown() string {
	switch n.Kind {
	case BoolNode, NumberNode:
		return fmt.Sprintf("%v (%s)", n.Kind, wording.Label(n.Text.Value))
	case TextNode:
		return fmt.Sprintf("%v (%q)", n.Kind, wording.Clip(n.Text.Value))
	}
	return n.Kind.String()
}

// Step is the entry of a map's key, and its value, or with a [2] after the key the
// third item of that; nil for none.
func (n *Node) Step(key string) (*Entry, *Node) {
	e := n.Entry(key)
	list, index, indexed := strings.Cut(key, "[")
	if e == nil && indexed {
		e = n.Entry(list)
	}
	if e == nil {
		return nil, nil
	}
	value := e.Value
	if at, err := strconv.Atoi(strings.TrimSuffix(index, "]")); err == nil && at < len(value.Items) {
		value = value.Items[at]
	}
	return e, value
}
