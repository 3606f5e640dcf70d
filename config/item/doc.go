package item

import (
	"encoding/json"

	"mockserver/config/syntax"
	"mockserver/config/table"
)

// Doc documents an endpoint without changing its answer.
type Doc struct {
	Query       []QueryParam
	Body        string // an example of the request body, as JSON text; "" for none
	Tags        []string
	Summary     string
	Description string
	RouterName  string
}

// QueryParam documents one query parameter.
type QueryParam struct {
	Name, Type string
}

// setQuery decodes a map of names to types.
func setQuery(d *table.Decoder, v table.Value, doc *Doc) {
	for name, one := range d.Entries(v) {
		doc.Query = append(doc.Query, QueryParam{Name: name.Text.Value, Type: one.Text.Value})
	}
}

// setExample stores the example as JSON text. A text that is already JSON is used unchanged; any
// other text becomes a JSON string.
func setExample(d *table.Decoder, v table.Value, doc *Doc) {
	switch {
	case v.Kind == syntax.NullNode:
	case v.Kind == syntax.TextNode && json.Valid([]byte(v.Text.Value)):
		doc.Body = v.Text.Value
	default:
		doc.Body = decodeJSON(d, v, true).Value
	}
}
