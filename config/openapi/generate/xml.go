package generate

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"strings"
	"unicode"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
)

// xmlWriter writes a value according to the xml keyword of its schemas.
type xmlWriter struct {
	bytes.Buffer
	check *validator
}

func (c *Content) xml(v any) []byte {
	if s, ok := v.(string); ok && strings.HasPrefix(strings.TrimSpace(s), "<") {
		return []byte(s) // already XML
	}
	w := xmlWriter{check: c.check(false)}
	w.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
	name := "root"
	if c.schema != nil && c.schema.Ref != "" {
		name = refName(c.schema.Ref)
	}
	w.element(name, "item", c.schema, v)
	return w.Bytes()
}

// keyword returns the xml keyword of the schemas that describe a value, or an empty keyword.
func (g *merged) keyword(ref *openapi3.SchemaRef) *openapi3.XML {
	if ref != nil && ref.Value.XML != nil {
		return ref.Value.XML
	}
	for _, s := range g.schemas {
		if s.XML != nil {
			return s.XML
		}
	}
	return &openapi3.XML{}
}

// element writes a value as an element. An array becomes an element for each item, inside an
// enclosing element if it is wrapped, or if the name of its items is given: an array that is the
// document or the item of another has one element.
func (w *xmlWriter) element(name, itemName string, ref *openapi3.SchemaRef, v any) {
	g := w.check.describing(v, ref)
	x := g.keyword(ref)
	items, isList := v.([]any)
	if isList && itemName == "" && !x.Wrapped {
		w.items(g, items, name)
		return
	}
	name = cmp.Or(x.Name, name)
	o, _ := v.(*jsonvalue.Object)
	var attributes xmlWriter
	inner := &jsonvalue.Object{}
	for i := 0; o != nil && i < len(o.Members); i++ {
		m := o.Members[i]
		property := w.check.propertySchema(g, m.Name)
		if key := w.check.describing(m.Value, property).keyword(property); key.Attribute {
			attributes.attribute(qualified(cmp.Or(key.Name, m.Name), key), m.Value)
		} else {
			inner.Members = append(inner.Members, m)
		}
	}
	w.open(name, x, attributes.String())
	switch {
	case isList && itemName == "item":
		w.items(g, items, itemName)
	case isList:
		w.items(g, items, name)
	case o == nil:
		w.text(v)
	}
	for _, m := range inner.Members {
		w.element(m.Name, "", w.check.propertySchema(g, m.Name), m.Value)
	}
	w.WriteString("</" + qualified(name, x) + ">")
}

// items writes the items of an array, each as one element.
func (w *xmlWriter) items(g *merged, items []any, name string) {
	for i, item := range items {
		w.element(name, name, firstOf(itemSchemas(g, i)), item)
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
