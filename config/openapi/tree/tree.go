package tree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/syntax"
)

// NewText returns a text node.
func NewText(text string) *Node { return &Node{Kind: Text, Text: text} }

// NewNumber returns a number node. text is the number in JSON form.
func NewNumber(text string) *Node { return &Node{Kind: Number, Text: text} }

// NewNull returns a null node.
func NewNull() *Node { return &Node{} }

// NewBool returns a node with a boolean.
func NewBool(b bool) *Node { return &Node{Kind: Bool, Text: strconv.FormatBool(b)} }

// NewList returns a list node.
func NewList(items ...*Node) *Node { return &Node{Kind: List, Items: items} }

// NewMap returns an empty map.
func NewMap() *Node { return &Node{Kind: Map} }

// ParseJSON parses a JSON text. If several members have the same name, the last one counts, as with
// most parsers.
func ParseJSON(text []byte) (*Node, error) {
	v, err := jsonvalue.Parse(text)
	if err != nil {
		return nil, err
	}
	return ofValue(v), nil
}

func ofValue(v any) *Node {
	switch v := v.(type) {
	case string:
		return NewText(v)
	case json.Number:
		return NewNumber(v.String())
	case bool:
		return NewBool(v)
	case []any:
		n := NewList()
		for _, item := range v {
			n.Append(ofValue(item))
		}
		return n
	case *jsonvalue.Object:
		n := NewMap()
		for _, m := range v.Members { // member names are unique
			n.Entries = append(n.Entries, Entry{Key: m.Name, Value: ofValue(m.Value)})
		}
		return n
	}
	return NewNull()
}

// Set sets a member of a map and returns the map. A new member is added at the end.
func (n *Node) Set(key string, value *Node) *Node {
	if i := n.index(key); i >= 0 {
		n.Entries[i].Value = value
		return n
	}
	n.Entries = append(n.Entries, Entry{Key: key, Line: value.Line, Column: value.Column, Value: value})
	return n
}

func (n *Node) index(key string) int {
	return slices.IndexFunc(n.Entries, func(e Entry) bool { return e.Key == key })
}

// SetText sets a member of a map to a string and returns the map. It does nothing when the string
// is empty.
func (n *Node) SetText(key, text string) *Node {
	if text == "" {
		return n
	}
	return n.Set(key, NewText(text))
}

// Get returns a member of a map; with several keys, the member at that path. It returns nil when
// there is none, and when n is nil or not a map.
func (n *Node) Get(path ...string) *Node {
	for _, key := range path {
		if n == nil {
			return nil
		}
		i := n.index(key)
		if i < 0 {
			return nil
		}
		n = n.Entries[i].Value
	}
	return n
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
	if i := n.index(key); i >= 0 {
		n.Entries = slices.Delete(n.Entries, i, i+1)
	}
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
			if !yield(e.Key, e.Value) {
				return
			}
		}
	}
}

// List returns the items of a list; nil for any other node. The slice must not be changed.
func (n *Node) List() []*Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// IsMap reports whether n is a map; it returns false for nil.
func (n *Node) IsMap() bool { return n != nil && n.Kind == Map }

// Len returns the number of members or items.
func (n *Node) Len() int {
	if n == nil {
		return 0
	}
	return len(n.Entries) + len(n.Items)
}

// AsText returns the value of a text node; "" for any other node.
func (n *Node) AsText() string {
	if n == nil || n.Kind != Text {
		return ""
	}
	return n.Text
}

// Clone returns a deep copy.
func (n *Node) Clone() *Node {
	c := *n
	c.Entries, c.Items = slices.Clone(n.Entries), slices.Clone(n.Items)
	for i := range c.Entries {
		c.Entries[i].Value = c.Entries[i].Value.Clone()
	}
	for i := range c.Items {
		c.Items[i] = c.Items[i].Clone()
	}
	return &c
}

// YAML returns the document as YAML.
func (n *Node) YAML() ([]byte, error) {
	var b bytes.Buffer
	err := syntax.WriteYAML(&b, n.yaml())
	return b.Bytes(), err
}

// JSON returns the document as indented JSON.
func (n *Node) JSON() ([]byte, error) {
	var out bytes.Buffer
	if err := json.Indent(&out, AppendJSON(nil, n), "", "  "); err != nil {
		return nil, fmt.Errorf("cannot be written as JSON: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

func (n *Node) yaml() *yaml.Node {
	y := &yaml.Node{Kind: yaml.ScalarNode, Value: n.Text}
	switch n.Kind {
	case Map:
		y.Kind = yaml.MappingNode
		for i := range n.Entries {
			y.Content = append(y.Content, syntax.YAMLText(n.Entries[i].Key), n.Entries[i].Value.yaml())
		}
	case List:
		y.Kind = yaml.SequenceNode
		for _, item := range n.Items {
			y.Content = append(y.Content, item.yaml())
		}
	case Text:
		return syntax.YAMLText(n.Text)
	case Null:
		y.Value = "null"
	}
	return y
}
