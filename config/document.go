package config

import (
	"encoding/json"

	"mockserver/config/syntax"
	"mockserver/internal/wording"
)

func setQuery(d *decoder, v value, e *Endpoint) {
	for _, q := range v.Entries {
		name := q.Key.Text.Value
		if at := v.Part(q.Value, "."+wording.Label(name), v.Row.Value); d.Take(at) {
			e.Doc.Query = append(e.Doc.Query, QueryParam{Name: name, Type: at.Text.Value})
		}
	}
}

// setExample stores the example as JSON text. A text that is already JSON is used as it is; any
// other text becomes a JSON string.
func setExample(d *decoder, v value, e *Endpoint) {
	switch {
	case v.Kind == syntax.NullNode:
	case v.Kind == syntax.TextNode && json.Valid([]byte(v.Text.Value)):
		e.Doc.Body = v.Text.Value
	default:
		e.Doc.Body = decodeJSON(d, v, true).Value
	}
}

// decodeTags returns a text, or the texts of a list.
func decodeTags(d *decoder, v value) []string {
	switch v.Kind {
	case syntax.NullNode:
		return nil
	case syntax.TextNode:
		return []string{v.Text.Value}
	}
	var tags []string
	for _, at := range v.Parts() {
		if d.Take(at) {
			tags = append(tags, at.Text.Value)
		}
	}
	return tags
}

// decodeJSON returns the JSON text of a value.
func decodeJSON(d *decoder, v value, raw bool) syntax.Text {
	text := v.Node.JSON(raw, func(n *syntax.Node, what string) { d.About(value{Node: n, Key: v.Key}, "%s", what) })
	text.Key = v.Key
	return text
}
