// Package tree contains the nodes of a document with their places. It builds, reads and writes
// them.
package tree

import (
	"encoding/json"
	"strconv"
	"strings"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/syntax"
)

// Node is a value of a document and its place in a file. Package config creates nodes from the
// files it reads. A document that was read into operations retains no nodes.
type Node struct {
	Kind         Kind
	Text         string  // the string; for a number or a boolean, its JSON form
	Entries      []Entry // of a map, in the order of the file
	Items        []*Node // of a list
	File         string
	Line, Column int // from 1
}

// Kind is the kind of a node.
type Kind uint8

// The kinds of nodes.
const (
	Null Kind = iota
	Bool
	Number
	Text
	List
	Map
)

func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a text", "a list", "a map"}[k]
}

// Entry is a key of a map, its place, and its value.
type Entry struct {
	Key          string
	Line, Column int
	Value        *Node
}

// ByKey returns the entries of a map by key.
func (n *Node) ByKey() map[string]*Entry {
	if len(n.Entries) == 0 {
		return nil
	}
	entries := make(map[string]*Entry, len(n.Entries))
	for i := range n.Entries {
		entries[n.Entries[i].Key] = &n.Entries[i]
	}
	return entries
}

// Pos returns the position where the node begins.
func (n *Node) Pos() syntax.Pos {
	return syntax.Pos{File: n.File, Line: n.Line, Column: n.Column}
}

// Step returns the node that an unescaped token of a JSON pointer leads to from n; nil when there
// is none.
func (n *Node) Step(token string) *Node {
	if n.Kind == Map {
		return n.Get(token)
	}
	if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(n.Items) && strconv.Itoa(i) == token {
		return n.Items[i]
	}
	return nil
}

// JSONValue returns the node as a JSON value that keeps the order of names and all digits.
func (n *Node) JSONValue() any {
	switch n.Kind {
	case Bool:
		return n.Text == "true"
	case Number:
		return json.Number(n.Text)
	case Text:
		return n.Text
	case List:
		items := make([]any, len(n.Items))
		for i, item := range n.Items {
			items[i] = item.JSONValue()
		}
		return items
	case Map:
		o := &jsonvalue.Object{}
		for i := range n.Entries {
			o.Set(n.Entries[i].Key, n.Entries[i].Value.JSONValue())
		}
		return o
	}
	return nil
}

// AppendJSON appends a node as JSON text. The keys keep their order.
func AppendJSON(dst []byte, n *Node) []byte {
	switch n.Kind {
	case Text:
		dst = jsonvalue.AppendString(dst, n.Text)
	case List:
		dst = append(dst, '[')
		for i, item := range n.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendJSON(dst, item)
		}
		dst = append(dst, ']')
	case Map:
		dst = append(dst, '{')
		for i := range n.Entries {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = jsonvalue.AppendString(dst, n.Entries[i].Key)
			dst = append(dst, ':')
			dst = AppendJSON(dst, n.Entries[i].Value)
		}
		dst = append(dst, '}')
	case Null:
		dst = append(dst, "null"...)
	default:
		dst = append(dst, n.Text...)
	}
	return dst
}

// Keys returns the keys of a map.
func (n *Node) Keys() []string {
	keys := make([]string, len(n.Entries))
	for i := range n.Entries {
		keys[i] = n.Entries[i].Key
	}
	return keys
}

// At returns the node at a JSON pointer in the form of a URL fragment; nil when there is none.
func (n *Node) At(pointer string) *Node {
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if n == nil || pointer == "" || pointer == "/" {
			break
		}
		n = n.Step(jsonvalue.UnescapePointer(token))
	}
	return n
}
