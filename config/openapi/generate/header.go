package generate

import (
	"net/textproto"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/internal/list"
)

// Framing reports whether the server sets a header regardless of the headers that a document
// declares: the media type comes from content, and the length from the body.
func Framing(name string) bool {
	framing := []string{"Content-Type", "Content-Length", "Transfer-Encoding", "Connection"}
	return slices.Contains(framing, textproto.CanonicalMIMEHeaderKey(name))
}

// HeaderValue returns the value of a header if the document provides or requires one. at is the
// JSON pointer of the header.
func (m *Maker) HeaderValue(h *openapi3.Header, name, at string) (string, bool) {
	schema, explode := h.Schema, h.Explode != nil && *h.Explode
	if media := jsonvalue.SortedNames(h.Content); len(media) > 0 { // there is only one
		return m.headerContent(h, media[0], at)
	}
	if h.Example != nil {
		return simple(jsonvalue.Of(h.Example), explode), true
	}
	for _, example := range m.NamesAt(at+"/examples", jsonvalue.SortedNames(h.Examples)) {
		if ref := h.Examples[example]; ref != nil && ref.Value != nil && ref.Value.ExternalValue == "" {
			return simple(jsonvalue.Of(ref.Value.Value), explode), true
		}
	}
	if schema == nil || schema.Value == nil || !h.Required && !m.given(schema.Value, 0) {
		return "", false
	}
	v, wrong := m.body(&openapi3.SchemaRef{Ref: schema.Ref, Value: schema.Value}, ToClient, m.seedOf(at), false, at+"/schema")
	if wrong != "" {
		m.Warning(manyHeaders, at, "no value of the header "+name+" was found that its schema accepts ("+wrong+"); the nearest is served")
	}
	return simple(v, explode), true
}

// headerContent returns the value of a header that is described by a media type.
func (m *Maker) headerContent(h *openapi3.Header, media, at string) (string, bool) {
	if h.Content[media] == nil {
		return "", false
	}
	c := m.Content(media, h.Content[media], ToClient, at+"/content/"+jsonvalue.EscapePointer(media))
	if examples := c.Examples(); len(examples) > 0 {
		return oneLine(string(examples[0].Body)), true
	}
	if c.schema == nil || !h.Required && !m.given(c.schema.Value, 0) {
		return "", false
	}
	return oneLine(string(c.Generated())), true
}

// given reports whether a schema, or the only schema in its allOf, provides a value.
func (m *Maker) given(s *openapi3.Schema, depth int) bool {
	if s == nil || depth > deepestBody {
		return false
	}
	if s.Example != nil || len(s.Examples) > 0 || s.Default != nil || len(s.Enum) > 0 || s.Const != nil {
		return true
	}
	return len(s.AllOf) == 1 && m.given(s.AllOf[0].Value, depth+1)
}

// simple formats a value in OpenAPI's style "simple", which headers use.
func simple(v any, explode bool) string {
	var parts []string
	switch v := v.(type) {
	case []any:
		parts = list.Map(v, plainText)
	case *jsonvalue.Object:
		between := ","
		if explode {
			between = "="
		}
		parts = list.Map(v.Members, func(m jsonvalue.Member) string { return m.Name + between + plainText(m.Value) })
	default:
		parts = []string{plainText(v)}
	}
	return oneLine(strings.Join(parts, ","))
}

// oneLine removes line breaks and zero bytes, which a header cannot contain.
func oneLine(s string) string {
	return strings.Map(func(c rune) rune {
		if c == '\r' || c == '\n' || c == 0 {
			return -1
		}
		return c
	}, s)
}
