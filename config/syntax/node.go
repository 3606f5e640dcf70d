// Package syntax reads configuration files: YAML, JSON and EDN become one tree of nodes, each with
// its position in its file. Package config defines the meaning of keys and values.
package syntax

import (
	"fmt"
	"strconv"
	"strings"

	"mockserver/internal/wording"
)

// Kind is the kind of a node.
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

// String returns the name of the kind for messages.
func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a text", "a list", "a map"}[k]
}

// Node is one value of a configuration file with its position. All syntaxes become the same tree,
// and the decoder uses nothing else. Aliases and merge keys are resolved, and the keys of a map are
// distinct.
type Node struct {
	Kind    Kind
	Keyword bool // of a text: it is a keyword of EDN
	Faulty  bool // the original value has been refused, and this one replaces it
	Shared  bool // aliases or merge keys may refer to the node, so that it occurs in several places
	Flow    bool // of a map or list: it is written on one line in YAML
	// Text is the text of a scalar: as written in the case of a boolean or a number ("True",
	// "1_000"); "" for null. Of a map or list that is not from a file, it is the comment that YAML
	// has after its key. Its Key is empty, because a shared node has several.
	Text Text
	// Number is the number in JSON, with all digits; "" for a number that JSON cannot represent
	// (infinity, not a number).
	Number  string
	Items   []*Node // of a list
	Entries []Entry // of a map, in the order written
}

// Entry is one key of a map and its value.
type Entry struct {
	Key   *Node // a scalar
	Value *Node
}

// Name returns the key.
func (e *Entry) Name() string { return e.Key.Text.Value }

// Pos returns where the node begins.
func (n *Node) Pos() Pos { return n.Text.Pos }

// Get returns the value of a map's key; with several keys, the value at that path. It returns nil if
// there is none, and if n is nil or not a map.
func (n *Node) Get(path ...string) *Node {
	for _, key := range path {
		if n == nil {
			return nil
		}
		e := n.Entry(key)
		if e == nil {
			return nil
		}
		n = e.Value
	}
	return n
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

// Truth returns the value of a boolean node.
func (n *Node) Truth() bool { return strings.EqualFold(n.Text.Value, "true") }

// Shown returns a value as shown in messages: its kind and, if it is a short scalar, its text.
func (n *Node) Shown() string {
	switch n.Kind {
	case BoolNode, NumberNode:
		return fmt.Sprintf("%v (%s)", n.Kind, wording.Label(n.Text.Value))
	case TextNode:
		return fmt.Sprintf("%v (%q)", n.Kind, wording.Clip(n.Text.Value))
	}
	return n.Kind.String()
}

// Step returns the entry for a key of a map, and its value. A key may end in an index: for "a[2]",
// the third item of the value is returned in its place, if there is one. Both results are nil if
// there is no such entry.
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
	if at, err := strconv.Atoi(strings.TrimSuffix(index, "]")); err == nil && at >= 0 && at < len(value.Items) {
		value = value.Items[at]
	}
	return e, value
}
