package mockoon

import (
	"mockserver/config/imports/language"
	"mockserver/config/syntax"
)

var (
	get  = language.Get
	text = language.Text
)

func items(n *syntax.Node) []*syntax.Node {
	if n == nil {
		return nil
	}
	return n.Items
}

func isTrue(n *syntax.Node) bool { return n != nil && n.Kind == syntax.BoolNode && n.Truth() }
