package generate

import (
	"bytes"
	"encoding/xml"
	"strings"
	"unicode"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
)

// xmlWriter writes a value according to the xml keyword of its schemas.
type xmlWriter struct {
	bytes.Buffer
	check validator
}

func (e *encoder) xml(v any) []byte {
	if s, ok := v.(string); ok && strings.HasPrefix(strings.TrimSpace(s), "<") {
		return []byte(s) // already XML
	}
	w := xmlWriter{check: validator{m: e.m, request: e.way == toServer}}
	w.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
	name := "root"
	if e.schema != nil && e.schema.Ref != "" {
		name = refName(e.schema.Ref)
	}
	if items, ok := v.([]any); ok { // a document has a single root element
		x := w.keyword(e.schema, v)
		if x.Name != "" {
			name = x.Name
		}
		w.open(name, x, "")
		w.items(w.check.itemSchema(e.schema, v), items, "item")
		w.close(name, x)
	} else {
		w.element(name, e.schema, v)
	}
	return w.Bytes()
}

// keyword returns the xml keyword of the schemas that describe a value, or an empty keyword.
func (w *xmlWriter) keyword(ref *openapi3.SchemaRef, v any) *openapi3.XML {
	for _, s := range w.check.describing(ref, v) {
		if s.XML != nil {
			return s.XML
		}
	}
	return &openapi3.XML{}
}

// element writes a value that is not an array.
func (w *xmlWriter) element(name string, ref *openapi3.SchemaRef, v any) {
	x := w.keyword(ref, v)
	if x.Name != "" {
		name = x.Name
	}
	o, ok := v.(*jsonvalue.Object)
	if !ok {
		w.open(name, x, "")
		w.text(v)
		w.close(name, x)
		return
	}
	var attributes xmlWriter
	var inner []jsonvalue.Member
	for _, m := range o.Members {
		property := w.check.propertySchema(ref, v, m.Name)
		if key := w.keyword(property, m.Value); key.Attribute {
			attributes.attribute(qualified(firstOf(key.Name, m.Name), key), m.Value)
		} else {
			inner = append(inner, m)
		}
	}
	w.open(name, x, attributes.String())
	for _, m := range inner {
		w.property(m.Name, w.check.propertySchema(ref, v, m.Name), m.Value)
	}
	w.close(name, x)
}

// property writes a property. For an array it writes each item, inside an enclosing element if the
// array is wrapped.
func (w *xmlWriter) property(name string, ref *openapi3.SchemaRef, v any) {
	items, ok := v.([]any)
	if !ok {
		w.element(name, ref, v)
		return
	}
	x := w.keyword(ref, v)
	if !x.Wrapped {
		w.items(w.check.itemSchema(ref, v), items, name)
		return
	}
	name = firstOf(x.Name, name)
	w.open(name, x, "")
	w.items(w.check.itemSchema(ref, v), items, name)
	w.close(name, x)
}

func (w *xmlWriter) items(ref *openapi3.SchemaRef, items []any, name string) {
	for _, item := range items {
		if inner, ok := item.([]any); ok {
			x := w.keyword(ref, item)
			own := firstOf(x.Name, name)
			w.open(own, x, "")
			w.items(w.check.itemSchema(ref, item), inner, own)
			w.close(own, x)
			continue
		}
		w.element(name, ref, item)
	}
}

func (w *xmlWriter) open(name string, x *openapi3.XML, attributes string) {
	w.WriteString("<" + qualified(name, x))
	if x.Namespace != "" {
		declaration := "xmlns"
		if x.Prefix != "" {
			declaration += ":" + xmlName(x.Prefix)
		}
		w.attribute(declaration, x.Namespace)
	}
	w.WriteString(attributes + ">")
}

func (w *xmlWriter) close(name string, x *openapi3.XML) {
	w.WriteString("</" + qualified(name, x) + ">")
}

func (w *xmlWriter) attribute(name string, v any) {
	w.WriteString(" " + name + `="`)
	w.text(v)
	w.WriteByte('"')
}

func (w *xmlWriter) text(v any) {
	_ = xml.EscapeText(&w.Buffer, []byte(plainText(v))) // writes to memory
}

func qualified(name string, x *openapi3.XML) string {
	if x.Prefix != "" {
		return xmlName(x.Prefix) + ":" + xmlName(name)
	}
	return xmlName(name)
}

// xmlName converts any name to a valid XML name.
func xmlName(name string) string {
	fit := strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsDigit(c) || c == '_' || c == '-' || c == '.' || c == ':' {
			return c
		}
		return '_'
	}, name)
	if first := []rune(fit + "_")[0]; !unicode.IsLetter(first) && first != '_' {
		return "_" + fit
	}
	return fit
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// describing returns the schemas that describe a value: its own, those in allOf, and the matching
// branches.
func (c *validator) describing(ref *openapi3.SchemaRef, v any) []*openapi3.Schema {
	if ref == nil || ref.Value == nil {
		return nil
	}
	all := []*openapi3.Schema{ref.Value}
	for i := 0; i < len(all) && len(all) < deepestSchema; i++ {
		if s := all[i]; len(s.AllOf)+len(s.OneOf)+len(s.AnyOf) > 0 || s.If != nil {
			for _, inner := range c.holding(s, v) {
				all = append(all, inner.Value)
			}
		}
	}
	return all
}

// propertySchema returns the schema of a property of an object; nil when there is none.
func (c *validator) propertySchema(ref *openapi3.SchemaRef, v any, name string) *openapi3.SchemaRef {
	all := c.describing(ref, v)
	for _, s := range all {
		if p := s.Properties[name]; p != nil {
			return p
		}
	}
	for _, s := range all {
		if p := s.AdditionalProperties.Schema; p != nil {
			return p
		}
	}
	return nil
}

// itemSchema returns the schema for the items of an array; nil when there is none.
func (c *validator) itemSchema(ref *openapi3.SchemaRef, v any) *openapi3.SchemaRef {
	for _, s := range c.describing(ref, v) {
		if s.Items != nil {
			return s.Items
		}
	}
	return nil
}
