package wiremock

import (
	"strconv"

	"mockserver/config/imports/language"
	"mockserver/config/syntax"
)

var (
	get  = language.Get
	text = language.Text
)

func isTrue(n *syntax.Node) bool {
	return n != nil && (n.Kind == syntax.BoolNode && n.Truth() || n.Kind == syntax.TextNode && n.Text.Value == "true")
}

func integer(n *syntax.Node, otherwise int) int {
	if n == nil {
		return otherwise
	}
	if i, err := strconv.Atoi(n.Text.Value); err == nil {
		return i
	}
	return otherwise
}
