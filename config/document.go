package config

import (
	"encoding/json"

	"mockserver/internal/wording"
)

func setQuery(d *decoder, v value, e *Endpoint) {
	for _, q := range v.entries {
		name := q.key.text.Value
		if at := v.part(q.value, "."+wording.Label(name), v.row.value); d.take(at) {
			e.Doc.Query = append(e.Doc.Query, QueryParam{Name: name, Type: at.text.Value})
		}
	}
}

// setExample keeps the example as JSON text: a text that is JSON already stands
// for what it says, any other for itself.
func setExample(d *decoder, v value, e *Endpoint) {
	switch {
	case v.kind == nullNode:
	case v.kind == textNode && json.Valid([]byte(v.text.Value)):
		e.Doc.Body = v.text.Value
	default:
		e.Doc.Body = d.json(v, true).Value
	}
}

func setTags(d *decoder, v value, e *Endpoint) { e.Doc.Tags = d.tags(v) }

// tags are a text, or the texts of a list.
func (d *decoder) tags(v value) []string {
	switch v.kind {
	case nullNode:
		return nil
	case textNode:
		return []string{v.text.Value}
	}
	var tags []string
	for _, at := range v.parts() {
		if d.take(at) {
			tags = append(tags, at.text.Value)
		}
	}
	return tags
}
