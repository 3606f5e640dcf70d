package tree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"mockserver/config/openapi/jsonvalue"
)

// NewText is a text.
func NewText(text string) *Node { return &Node{Kind: Text, Text: text} }

// NewNumber is a number, given as JSON has it.
func NewNumber(text string) *Node { return &Node{Kind: Number, Text: text} }

// NewNull is nothing.
func NewNull() *Node { return &Node{} }

// NewInt is an integer.
func NewInt(n int) *Node { return NewNumber(strconv.Itoa(n)) }

// NewBool is true or false.
func NewBool(b bool) *Node { return &Node{Kind: Bool, Text: strconv.FormatBool(b)} }

// NewList is a list.
func NewList(items ...*Node) *Node { return &Node{Kind: List, Items: items} }

// NewMap is an empty map.
func NewMap() *Node { return &Node{Kind: Map} }

// ParseJSON reads a JSON text. Of members of one name the last one counts, as for most readers.
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
		for _, m := range v.Members { // whose names differ
			n.Entries = append(n.Entries, Entry{Key: m.Name, Value: ofValue(m.Value)})
		}
		return n
	}
	return NewNull()
}

// Set sets a member of a map, the last one when it is new, and returns the map.
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

// SetText sets a member to a text, unless that is empty, and returns the map.
func (n *Node) SetText(key, text string) *Node {
	if text == "" {
		return n
	}
	return n.Set(key, NewText(text))
}

// Get is a member of a map, or a member of that; nil when there is none, or this is
// no map or nil.
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

// Make is the member of a map that is a map; it is made where there is none.
func (n *Node) Make(key string) *Node {
	if m := n.Get(key); m.IsMap() {
		return m
	}
	m := NewMap()
	n.Set(key, m)
	return m
}

// Delete takes a member from a map.
func (n *Node) Delete(key string) {
	if i := n.index(key); i >= 0 {
		n.Entries = slices.Delete(n.Entries, i, i+1)
	}
}

// Append appends items to a list, and returns it.
func (n *Node) Append(items ...*Node) *Node {
	n.Items = append(n.Items, items...)
	return n
}

// Members are the members of a map, in order; none of anything else. What is added or
// taken away meanwhile changes nothing.
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

// List are the items of a list; none of anything else. The slice must not be changed.
func (n *Node) List() []*Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// IsMap reports whether this is a map; nil is none.
func (n *Node) IsMap() bool { return n != nil && n.Kind == Map }

// Len is the number of members or items.
func (n *Node) Len() int {
	if n == nil {
		return 0
	}
	return len(n.Entries) + len(n.Items)
}

// AsText is what a text says; "" of anything else.
func (n *Node) AsText() string {
	if n == nil || n.Kind != Text {
		return ""
	}
	return n.Text
}

// Clone is a copy that shares nothing.
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

// YAML writes the document as YAML.
func (n *Node) YAML() ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(n.yaml()); err != nil {
		return nil, fmt.Errorf("cannot be written as YAML: %w", err)
	}
	err := e.Close()
	return b.Bytes(), err
}

// JSON writes the document as indented JSON.
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
			y.Content = append(y.Content, textNode(n.Entries[i].Key), n.Entries[i].Value.yaml())
		}
	case List:
		y.Kind = yaml.SequenceNode
		for _, item := range n.Items {
			y.Content = append(y.Content, item.yaml())
		}
	case Text:
		return textNode(n.Text)
	case Null:
		y.Value = "null"
	}
	return y
}

// textNode is a text in the form that every reader of YAML takes for the same.
func textNode(text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	switch {
	case strings.Contains(text, "\n") && plainLines(text):
		n.Style = yaml.LiteralStyle
	case strings.Contains(text, "\n") || text == "" || oldBool(text) || strings.TrimSpace(text) != text || text == "<<" || text[0] >= '0' && text[0] <= '9':
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// plainLines reports whether a text of several lines can stand letter by letter.
func plainLines(text string) bool {
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if line != strings.TrimRight(line, " \t\r") || strings.HasPrefix(line, "\t") {
			return false
		}
	}
	first := text[0]
	return first != '\n' && first != ' ' && !strings.HasSuffix(text, "\n\n") && !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' || r > '~'
	})
}

// oldBool reports whether YAML 1.1 takes a word for a boolean.
func oldBool(text string) bool {
	switch strings.ToLower(text) {
	case "y", "n", "yes", "no", "on", "off":
		return true
	}
	return false
}
