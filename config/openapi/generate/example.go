package generate

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
)

// Content is the source for the bodies of one media type of a response or a request.
type Content struct {
	m       *Maker
	Media   string // as sent
	schema  *openapi3.SchemaRef
	way     direction
	source  *openapi3.MediaType
	pointer string // the JSON pointer of the media type in the document
}

// Content returns the source for the bodies of a media type that is declared at a pointer of the
// document.
func (m *Maker) Content(declared string, source *openapi3.MediaType, way direction, pointer string) *Content {
	c := &Content{m, sentType(declared), source.Schema, way, source, pointer}
	if source.ItemSchema != nil && (c.schema == nil || isSequence(jsonvalue.BaseType(c.Media))) {
		c.schema = ofItems(source, c.Media)
	}
	if c.schema != nil && c.schema.Value == nil {
		c.schema = nil
	}
	return c
}

// check returns the check of values for the schema.
func (c *Content) check(lenient bool) *validator {
	return &validator{m: c.m, request: c.way == toServer, lenient: lenient}
}

// at returns the pointer of the schema: the pointer of the component, if it is one.
func (c *Content) at() string {
	if c.schema != nil && c.schema.Ref != "" {
		return c.schema.Ref
	}
	return c.pointer + "/schema"
}

// Generated returns the body generated from the schema. Except for times, which are near the
// current day, it is the same at each start.
func (c *Content) Generated() []byte {
	if c.schema == nil {
		if text, ok := sample(c.Media, nil, c.m.seedOf(c.pointer)); ok {
			return text
		}
		if jsonvalue.IsJSON(jsonvalue.BaseType(c.Media)) {
			return []byte("{}")
		}
		return []byte{}
	}
	key := bodyKey{c.schema.Value, c.Media, c.way}
	if made, ok := c.m.bodies[key]; ok {
		return made
	}
	seed := c.m.seedOf(c.at())
	text, ok := sample(c.Media, c.schema.Value, seed)
	if !ok || c.schema.Value.Example != nil {
		v, wrong := c.m.body(c.schema, c.way, seed, false, c.at())
		if wrong != "" {
			c.m.Warning(manyBodies, c.at(), "no body was found that the schema accepts ("+wrong+"); the nearest is served")
		}
		text = c.encode(v)
	}
	c.m.kept += len(text)
	c.m.bodies[key] = text
	return text
}

// Fresh returns a function that generates other bodies; nil when there is no schema.
func (c *Content) Fresh() func(seed uint64) []byte {
	if c.schema == nil {
		return nil
	}
	base, at := c.m.seedOf(c.at()), c.at()
	return func(seed uint64) []byte {
		seed ^= base
		if text, ok := sample(c.Media, c.schema.Value, seed); ok {
			return text
		}
		v, _ := c.m.body(c.schema, c.way, seed, true, at)
		return c.encode(v)
	}
}

// Example is a body from the document.
type Example struct {
	Name string // "" when it has none
	Body []byte
}

// Examples returns the bodies from the document, in its order.
func (c *Content) Examples() []Example {
	var all []Example
	if c.source.Example != nil && !c.isMissing(c.source.Example, c.pointer+"/example", "the example") {
		all = append(all, Example{"", c.written(c.source.Example, c.pointer+"/example", "the example")})
	}
	pointer := c.pointer + "/examples"
	for _, name := range c.m.NamesAt(pointer, jsonvalue.SortedNames(c.source.Examples)) {
		ref := c.source.Examples[name]
		if ref == nil || ref.Value == nil {
			continue
		}
		at := pointer + "/" + jsonvalue.EscapePointer(name)
		if ref.Ref != "" {
			at = ref.Ref
		}
		if external := ref.Value.ExternalValue; external != "" {
			c.m.Warning(manyExternal, at, "externalValue "+external+": it is not read; the example is left out")
		} else if !c.isMissing(ref.Value.Value, at+"/value", "the example "+name) {
			all = append(all, Example{name, c.written(ref.Value.Value, at+"/value", "the example "+name)})
		}
	}
	return all
}

// isMissing reports whether an example has no value, or is a null that the schema does not accept:
// tools write null for a missing example.
func (c *Content) isMissing(v any, pointer, what string) bool {
	if v == nil {
		return true
	}
	if v != (jsonvalue.Null{}) || c.check(true).accepts(c.schema, nil) {
		return false
	}
	c.m.Warning(manyUnused, pointer, what+" is null, which the schema does not accept; it is not used")
	return true
}

// written returns the body of an example. A string is sent as is. In a JSON media type it becomes a
// JSON string, unless it is itself the JSON text of an object or array and no schema asks for a
// string. An example that the schema does not accept is sent anyway, because the author of the
// document wants it.
func (c *Content) written(decoded any, pointer, what string) []byte {
	v := jsonvalue.Of(decoded)
	s, isText := v.(string)
	if isText && !jsonvalue.IsJSON(jsonvalue.BaseType(c.Media)) {
		return []byte(s)
	}
	if parsed, ok := jsonWithin(s); isText && ok && (c.schema == nil || !c.check(true).accepts(c.schema, v)) {
		c.warnMismatch(parsed, pointer, what)
		return []byte(s)
	}
	c.warnMismatch(v, pointer, what)
	return c.encode(v)
}

// jsonWithin parses a string that is the JSON text of an object or array.
func jsonWithin(s string) (any, bool) {
	if s = strings.TrimSpace(s); !strings.HasPrefix(s, "{") && !strings.HasPrefix(s, "[") || !json.Valid([]byte(s)) {
		return nil, false
	}
	v, err := jsonvalue.Parse([]byte(s))
	return v, err == nil
}

func (c *Content) warnMismatch(v any, pointer, what string) {
	if wrong := c.check(true).mismatch(c.schema, v); wrong != "" {
		c.m.Warning(manySent, pointer, what+" does not match the schema ("+wrong+"); it is sent anyway")
	}
}

// NamesAt returns the names of a map in the document, in the order of the document if it is known.
func (m *Maker) NamesAt(pointer string, sorted []string) []string {
	if m.Names == nil || len(sorted) < 2 {
		return sorted
	}
	if names := m.Names(pointer); len(names) > 0 {
		return names
	}
	return sorted
}

// MediaTypes returns the media types of a content, the preferred one first: JSON, then in the order
// of the document.
func (m *Maker) MediaTypes(c openapi3.Content, pointer string) []string {
	var names []string
	for _, name := range m.NamesAt(pointer+"/content", jsonvalue.SortedNames(c)) {
		if c[name] != nil {
			names = append(names, name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(preference(a), preference(b)) })
	return names
}

// RequestBody returns an example of a request body and its media type, or "" when there is none.
// pointer is the JSON pointer of the request body.
func (m *Maker) RequestBody(body *openapi3.RequestBody, pointer string) (mediaType string, text []byte) {
	names := m.MediaTypes(body.Content, pointer)
	if len(names) == 0 {
		return "", nil
	}
	c := m.Content(names[0], body.Content[names[0]], toServer, pointer+"/content/"+jsonvalue.EscapePointer(names[0]))
	if examples := c.Examples(); len(examples) > 0 {
		return c.Media, examples[0].Body
	}
	return c.Media, c.Generated()
}
