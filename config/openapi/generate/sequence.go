package generate

import (
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/internal/events"
	"mockserver/internal/list"
)

// Bodies that are sequences of items, whose schema OpenAPI 3.2 declares as itemSchema: events, and lines of JSON.

// sequenceItems is how many items a sequence has, unless the document says otherwise.
const sequenceItems = 10

// ofItems returns the schema of a body whose itemSchema is declared: an array, which has ten items if the schema next
// to it, if any, allows that many. Examples may have any number.
func ofItems(source *openapi3.MediaType, media string) *openapi3.SchemaRef {
	array := &openapi3.Schema{Type: &openapi3.Types{"array"}, Items: source.ItemSchema}
	if source.Example == nil && len(source.Examples) == 0 {
		n := uint64(sequenceItems)
		if s := source.Schema; s != nil && s.Value != nil {
			if n = max(n, s.Value.MinItems); s.Value.MaxItems != nil {
				n = min(n, *s.Value.MaxItems)
			}
		}
		array.MinItems, array.MaxItems = n, &n
		if jsonvalue.BaseType(media) == "text/event-stream" {
			array.Items = ofEvent(source.ItemSchema, map[*openapi3.Schema]*openapi3.SchemaRef{})
		}
	}
	return &openapi3.SchemaRef{Value: array}
}

// ofEvent returns the schema of an event in which JSON in a text, which contentSchema describes, is that JSON. known has
// the results so far; a schema that refers to itself stays as it is there.
func ofEvent(ref *openapi3.SchemaRef, known map[*openapi3.Schema]*openapi3.SchemaRef) *openapi3.SchemaRef {
	if ref == nil || ref.Value == nil {
		return ref
	}
	if made := known[ref.Value]; made != nil {
		return made
	}
	known[ref.Value] = ref
	s := *ref.Value
	data := s.Properties[events.Data]
	isJSON := data != nil && data.Value != nil && data.Value.ContentSchema != nil && jsonvalue.IsJSON(jsonvalue.BaseType(data.Value.ContentMediaType))
	if isJSON {
		s.Properties = maps.Clone(s.Properties)
		s.Properties[events.Data] = data.Value.ContentSchema
	}
	below := func(ref *openapi3.SchemaRef) *openapi3.SchemaRef { return ofEvent(ref, known) }
	s.OneOf, s.AnyOf, s.AllOf = list.Map(s.OneOf, below), list.Map(s.AnyOf, below), list.Map(s.AllOf, below)
	same := slices.Equal(s.OneOf, ref.Value.OneOf) && slices.Equal(s.AnyOf, ref.Value.AnyOf) && slices.Equal(s.AllOf, ref.Value.AllOf)
	if !same || isJSON {
		known[ref.Value] = &openapi3.SchemaRef{Value: &s}
	}
	return known[ref.Value]
}

// eventFields are the members of an item that are fields of an event, in their order.
var eventFields = []string{"event", "id", "retry", events.Data}

// sequence returns the items of an array as events. The members of an object are fields if itemSchema describes them;
// anything else is the data of an event.
func (c *Content) sequence(v any) (text []byte) {
	items, ok := v.([]any)
	if !ok {
		items = []any{v}
	}
	for _, item := range items {
		var fields []events.Field
		object, _ := item.(*jsonvalue.Object)
		for _, name := range eventFields {
			if object == nil || c.source.ItemSchema == nil {
				break
			}
			if value, ok := object.Get(name); ok {
				field := events.Field{Name: name, Value: oneLine(plainText(value))}
				if name == events.Data { // it may have several lines
					field.Value = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(plainText(value))
				}
				fields = append(fields, field)
			}
		}
		if fields == nil {
			fields = []events.Field{{Name: events.Data, Value: string(jsonvalue.Append(nil, item))}}
		}
		text = events.Append(text, fields)
	}
	return text
}
