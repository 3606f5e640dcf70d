package item

import (
	"mockserver/config/syntax"
	"mockserver/config/table"
)

// Made is a value that is computed for a request: from a text with placeholders or, with JSON, from
// the JSON text of a value. A text that is a single placeholder gives the value of the placeholder.
type Made struct {
	Text syntax.Text `key:""`
	JSON bool
}

// Setting is a member of a row and its value.
type Setting struct {
	Name  string
	Value Made `key:""`
}

// decodeMade returns a value that is computed for a request.
func decodeMade(d *table.Decoder, v table.Value) Made {
	if v.Kind == syntax.TextNode {
		return Made{Text: v.AsText()}
	}
	return Made{decodeJSON(d, v, false), true}
}

// decodeSettings returns the values of a map by their names.
func decodeSettings(d *table.Decoder, v table.Value) []Setting {
	var all []Setting
	for _, e := range v.Entries {
		name := e.Key.Text.Value
		one := table.Value{Node: e.Value, Key: table.Under(v.Key, name)}
		all = append(all, Setting{name, decodeMade(d, one)})
	}
	return all
}

// decodeNames returns the entries of a map of names to names.
func decodeNames(d *table.Decoder, v table.Value) []Setting {
	var all []Setting
	for name, one := range d.Entries(v) {
		if one.Row.Filled && one.Kind == syntax.TextNode && one.Text.Value == "" {
			d.Refuse(one)
			continue
		}
		all = append(all, Setting{name.Text.Value, Made{Text: one.AsText()}})
	}
	return all
}

// decodeLet returns named values, and reports names that templates cannot use.
func decodeLet(d *table.Decoder, v table.Value) []Setting {
	for _, entry := range v.Entries {
		if name := entry.Key.Text.Value; !isName(name) {
			d.About(table.Value{Node: entry.Key, Key: table.Under(v.Key, name)}, "is not %s", nameForm)
		}
	}
	return decodeSettings(d, v)
}
