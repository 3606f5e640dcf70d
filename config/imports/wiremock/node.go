package wiremock

import (
	"strconv"

	"mockserver/config/imports/language"
	"mockserver/config/syntax"
)

var (
	get     = language.Get
	text    = language.Text
	isTrue  = language.IsTrue
	items   = language.Items
	entries = language.Entries
)

func integer(n *syntax.Node, otherwise int) int {
	if n == nil {
		return otherwise
	}
	if i, err := strconv.Atoi(n.Text.Value); err == nil {
		return i
	}
	return otherwise
}
