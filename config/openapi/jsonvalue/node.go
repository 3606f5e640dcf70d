package jsonvalue

import (
	"encoding/json"
	"strconv"
	"strings"

	"mockserver/config/syntax"
	"mockserver/internal/list"
)

// OfNode returns a node as a value that keeps the order of names and all digits.
func OfNode(n *syntax.Node) any {
	switch n.Kind {
	case syntax.BoolNode:
		return n.Truth()
	case syntax.NumberNode:
		return json.Number(n.Number)
	case syntax.TextNode:
		return n.Text.Value
	case syntax.ListNode:
		return list.Map(n.Items, OfNode)
	case syntax.MapNode:
		o := &Object{}
		for i := range n.Entries {
			o.Set(n.Entries[i].Name(), OfNode(n.Entries[i].Value))
		}
		return o
	}
	return nil
}

// Step returns the node that an unescaped token of a JSON pointer leads to from n; nil when there
// is none.
func Step(n *syntax.Node, token string) *syntax.Node {
	if n == nil || n.Kind == syntax.MapNode {
		return n.Get(token)
	}
	if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(n.Items) && strconv.Itoa(i) == token {
		return n.Items[i]
	}
	return nil
}

// At returns the node at a JSON pointer in the form of a URL fragment; nil when there is none.
func At(n *syntax.Node, pointer string) *syntax.Node {
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" || pointer == "/" {
			break
		}
		n = Step(n, UnescapePointer(token))
	}
	return n
}
