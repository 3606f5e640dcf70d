package config

import (
	"encoding/json"
	"strconv"
)

func setQuery(d *decoder, v value, e *Endpoint) {
	for _, q := range v.entries {
		at := value{node: q.value, key: v.key + "." + q.key.text.Value, row: row{kinds: scalars, form: "the name of a type"}}
		if !scalars.has(at.kind) {
			d.refuse(at)
			continue
		}
		e.Doc.Query = append(e.Doc.Query, QueryParam{Name: q.key.text.Value, Type: at.text.Value})
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

func setTags(d *decoder, v value, e *Endpoint) {
	switch v.kind {
	case nullNode:
	case textNode:
		e.Doc.Tags = []string{v.text.Value}
	default:
		for i, n := range v.items {
			at := value{node: n, key: v.key + "[" + strconv.Itoa(i) + "]", row: row{kinds: texts}}
			if n.kind != textNode {
				d.refuse(at)
				continue
			}
			e.Doc.Tags = append(e.Doc.Tags, n.text.Value)
		}
	}
}
