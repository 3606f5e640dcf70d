package mockoon

import "mockserver/config/syntax"

// get returns a member of a map; nil if there is none, or if it is null.
func get(n *syntax.Node, key string) *syntax.Node {
	if n == nil || n.Kind != syntax.MapNode {
		return nil
	}
	if v := n.Get(key); v != nil && v.Kind != syntax.NullNode {
		return v
	}
	return nil
}

// text returns a scalar as a text; "" for anything else.
func text(n *syntax.Node) string {
	if n == nil || n.Kind == syntax.ListNode || n.Kind == syntax.MapNode {
		return ""
	}
	return n.Text.Value
}

func items(n *syntax.Node) []*syntax.Node {
	if n == nil {
		return nil
	}
	return n.Items
}

func isTrue(n *syntax.Node) bool { return n != nil && n.Kind == syntax.BoolNode && n.Truth() }
