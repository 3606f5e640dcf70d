package syntax

import (
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strconv"

	"mockserver/internal/list"
)

// NewText returns a text node.
func NewText(text string) *Node { return &Node{Kind: TextNode, Text: Text{Value: text}} }

// NewNumber returns a number node. number is the number in JSON.
func NewNumber(number string) *Node {
	return &Node{Kind: NumberNode, Text: Text{Value: number}, Number: number}
}

// NewBool returns a node with a boolean.
func NewBool(b bool) *Node {
	return &Node{Kind: BoolNode, Text: Text{Value: strconv.FormatBool(b)}}
}

// NewList returns a list.
func NewList(items ...*Node) *Node { return &Node{Kind: ListNode, Items: items} }

// NewMap returns an empty map.
func NewMap() *Node { return &Node{Kind: MapNode} }

// NewEntry returns an entry whose key is at the place of its value.
func NewEntry(key string, value *Node) Entry {
	return Entry{Key: &Node{Kind: TextNode, Text: Text{Value: key, Pos: value.Pos()}}, Value: value}
}

// ParseJSON parses a JSON text, whose names must differ within each object.
func ParseJSON(text []byte) (*Node, error) {
	if !json.Valid(text) { // a file may be YAML instead
		return nil, errors.New("not one JSON value")
	}
	return ReadOne(".json", text)
}

// Document returns a node that may be changed: nodes that aliases share are copied, and infinity,
// which is not a number in JSON, is a text.
func (n *Node) Document() *Node {
	if n.Shared {
		n = n.Clone()
	}
	if n.Kind == NumberNode && n.Number == "" {
		n.Kind = TextNode
	}
	for i := range n.Items {
		n.Items[i] = n.Items[i].Document()
	}
	for i := range n.Entries {
		n.Entries[i].Value = n.Entries[i].Value.Document()
	}
	return n
}

// Clone returns a deep copy that shares only keys.
func (n *Node) Clone() *Node {
	c := *n
	c.Shared = false
	c.Items, c.Entries = slices.Clone(n.Items), slices.Clone(n.Entries)
	for i := range c.Items {
		c.Items[i] = c.Items[i].Clone()
	}
	for i := range c.Entries {
		c.Entries[i].Value = c.Entries[i].Value.Clone()
	}
	return &c
}

// Set sets a member of a map and returns the map. A new member is added at the end.
func (n *Node) Set(key string, value *Node) *Node {
	if e := n.Entry(key); e != nil {
		e.Value = value
		return n
	}
	n.Entries = append(n.Entries, NewEntry(key, value))
	return n
}

// SetText sets a member of a map to a text and returns the map. It does nothing when the text is
// empty.
func (n *Node) SetText(key, text string) *Node {
	if text == "" {
		return n
	}
	return n.Set(key, NewText(text))
}

// Make returns the map that is a member of n. It creates the map when the member does not exist or
// is not a map.
func (n *Node) Make(key string) *Node {
	if m := n.Get(key); m.IsMap() {
		return m
	}
	m := NewMap()
	n.Set(key, m)
	return m
}

// Delete removes a member from a map.
func (n *Node) Delete(key string) {
	n.Entries = slices.DeleteFunc(n.Entries, func(e Entry) bool { return e.Name() == key })
}

// Append appends items to a list and returns the list.
func (n *Node) Append(items ...*Node) *Node {
	n.Items = append(n.Items, items...)
	return n
}

// Members iterates over the members of a map, in order. For any other node it yields nothing.
// Changes to the map during the iteration have no effect on the iteration.
func (n *Node) Members() iter.Seq2[string, *Node] {
	return func(yield func(string, *Node) bool) {
		if n == nil {
			return
		}
		for _, e := range slices.Clone(n.Entries) {
			if !yield(e.Name(), e.Value) {
				return
			}
		}
	}
}

// Keys returns the keys of a map.
func (n *Node) Keys() []string {
	return list.Map(n.Entries, func(e Entry) string { return e.Name() })
}

// List returns the items of a list; nil for any other node. The slice must not be changed.
func (n *Node) List() []*Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// IsMap reports whether n is a map; it returns false for nil.
func (n *Node) IsMap() bool { return n != nil && n.Kind == MapNode }

// Len returns the number of members or items.
func (n *Node) Len() int {
	if n == nil {
		return 0
	}
	return len(n.Entries) + len(n.Items)
}

// AsText returns the value of a text node; "" for any other node.
func (n *Node) AsText() string {
	if n == nil || n.Kind != TextNode {
		return ""
	}
	return n.Text.Value
}

// Scalar returns a scalar as it is written in JSON, a text without quotes; "" for other nodes.
func (n *Node) Scalar() string {
	switch n.Kind {
	case BoolNode:
		return strconv.FormatBool(n.Truth())
	case NumberNode:
		return n.Number
	}
	return n.Text.Value
}
