package wiremock

import (
	"strconv"

	"mockserver/config/imports/language"
	"mockserver/config/syntax"
)

var (
	get    = language.Get
	text   = language.Text
	isTrue = language.IsTrue
)

// integer returns a number, or otherwise if n is none.
func integer(n *syntax.Node, otherwise int) int {
	if i, err := strconv.Atoi(text(n)); err == nil {
		return i
	}
	return otherwise
}

// listed returns the items of a list, or any other value.
func listed(n *syntax.Node) []*syntax.Node {
	if n.Kind == syntax.ListNode {
		return n.Items
	}
	return []*syntax.Node{n}
}
