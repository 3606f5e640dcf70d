package table

import (
	"fmt"

	"mockserver/config/syntax"
	"mockserver/internal/address"
	"mockserver/internal/secret"
)

// The masks of rows.
var (
	// MaskAll hides a text.
	MaskAll = func(_, _ string) string { return secret.Shown }
	// MaskNamed hides the values of headers and members that have the name of a secret.
	MaskNamed = secret.Value
	// MaskURL hides users, passwords and parameters that have the name of a secret.
	MaskURL = func(_, text string) string { return address.WithoutUsers(text) }
	// MaskCondition hides what is compared with secrets.
	MaskCondition = func(_, text string) string { return secret.Condition(text) }
	// MaskTemplate hides what tags compare with secrets. The text between them is for clients.
	MaskTemplate = func(_, text string) string { return secret.Template(text) }
)

// Hide replaces the secrets in a value of the row, whose key is name and whose key path is key, and
// calls hidden with the position and key path of each.
func (r Row) Hide(n *syntax.Node, name, key string, hidden func(at syntax.Pos, key string)) {
	switch {
	case n.Kind == syntax.MapNode:
		for _, e := range n.Entries {
			if part := r.part(e.Key.Text.Value); part != nil {
				part.Hide(e.Value, e.Key.Text.Value, Under(key, e.Key.Text.Value), hidden)
			}
		}
	case n.Kind == syntax.ListNode:
		part := &r
		if r.Mask == nil && r.Item != nil {
			part = r.Item
		}
		for i, item := range n.Items {
			part.Hide(item, name, fmt.Sprintf("%s[%d]", key, i), hidden)
		}
	case r.Mask != nil && n.Kind != syntax.NullNode:
		if shown := r.Mask(name, n.Text.Value); shown != n.Text.Value {
			n.Kind, n.Text.Value = syntax.TextNode, shown
			hidden(n.Pos(), key)
		}
	}
}

// part returns the row of a key; nil if it holds no secrets.
func (r Row) part(name string) *Row {
	for i := range r.Table {
		if part := &r.Table[i]; part.Takes(name) {
			if part.Item != nil && part.Item.Again != "" {
				again := *part
				again.Item = &Row{Table: r.Table}
				return &again
			}
			return part
		}
	}
	if r.Mask != nil {
		return &r
	}
	return r.Value
}
