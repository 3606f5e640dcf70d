package item

import (
	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/address"
)

// The form of the names of rows, of scenarios and of the values of let.
const (
	namePattern = `^[A-Za-z][A-Za-z0-9_-]*$`
	nameForm    = "a name: a letter, followed by letters, digits, - and _"
)

// The form of the names of sets and upstreams.
const (
	dataNamePattern = `^[A-Za-z0-9_-]+$`
	dataNameForm    = "a name of letters, digits, - and _"
)

// isName reports whether a text can be the name of a row, of a scenario or of a value of let.
func isName(name string) bool {
	for i, b := range []byte(name) {
		letter := 'a' <= b|0x20 && b|0x20 <= 'z'
		if !letter && (i == 0 || b != '-' && b != '_' && (b < '0' || b > '9')) {
			return false
		}
	}
	return name != ""
}

// isDataName reports whether a text can be the name of a set or an upstream.
func isDataName(name string) bool { return isName("n"+name) && name != "" }

// decodeHost returns a host in lower case. For an invalid host, it reports an error and returns "".
func decodeHost(d *table.Decoder, v table.Value) string {
	host := table.ChangeCase(v.Text.Value, 'A', 'Z')
	if what := address.NameFault(host); what != "" {
		d.About(v, "%s", what)
		return ""
	}
	return host
}

// decodeJSON returns the JSON text of a value.
func decodeJSON(d *table.Decoder, v table.Value, raw bool) syntax.Text {
	text := v.Node.JSON(raw, func(n *syntax.Node, what string) { d.About(table.Value{Node: n, Key: v.Key}, "%s", what) })
	text.Key = v.Key
	return text
}
