package tree

import "mockserver/config/syntax"

// Of converts a node of a file to a node of a document.
func Of(n *syntax.Node) *Node {
	pos := n.Pos()
	out := &Node{Text: n.Text.Value, File: pos.File, Line: pos.Line, Column: pos.Column}
	switch n.Kind {
	case syntax.BoolNode:
		out.Kind, out.Text = Bool, "false"
		if n.Truth() {
			out.Text = "true"
		}
	case syntax.NumberNode:
		out.Kind = Text // infinity, which is not a number in JSON
		if n.Number != "" {
			out.Kind, out.Text = Number, n.Number
		}
	case syntax.TextNode:
		out.Kind = Text
	case syntax.ListNode:
		out.Kind, out.Items = List, make([]*Node, len(n.Items))
		for i, item := range n.Items {
			out.Items[i] = Of(item)
		}
	case syntax.MapNode:
		out.Kind, out.Entries = Map, make([]Entry, len(n.Entries))
		for i, e := range n.Entries {
			at := e.Key.Pos()
			out.Entries[i] = Entry{Key: e.Key.Text.Value, Line: at.Line, Column: at.Column, Value: Of(e.Value)}
		}
	}
	return out
}
