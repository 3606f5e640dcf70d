package generate

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"math/rand/v2"
	"mime/multipart"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/internal/list"
)

// partBoundary separates the parts of multipart bodies. It is the same for all bodies, because it
// is part of the media type of a response, which is built only once.
const partBoundary = "part-8f2c41d07b6e"

// sentType returns the media type to send for a declared one: a range is replaced with its
// likeliest type, and multipart types get a boundary.
func sentType(declared string) string {
	first, _, _ := strings.Cut(declared, ",")
	first = strings.TrimSpace(first)
	switch base := jsonvalue.BaseType(first); {
	case base == "*/*" || base == "application/*" || base == "":
		return "application/json"
	case base == "text/*":
		return "text/plain"
	case base == "image/*":
		return "image/png"
	case base == "multipart/*":
		return "multipart/form-data; boundary=" + partBoundary
	case strings.HasSuffix(base, "/*"):
		return "application/octet-stream"
	case strings.HasPrefix(base, "multipart/") && !strings.Contains(first, "boundary="):
		return first + "; boundary=" + partBoundary
	}
	return first
}

// preference returns the rank of a media type among those of a response.
func preference(media string) int {
	switch base := jsonvalue.BaseType(sentType(media)); {
	case base == "application/json":
		return 0
	case jsonvalue.IsJSON(base):
		return 1
	}
	return 2
}

// encode encodes a value. A value that the media type cannot represent is encoded as JSON.
func (c *Content) encode(v any) []byte {
	base := jsonvalue.BaseType(c.Media)
	s, isText := v.(string)
	switch {
	case jsonvalue.IsJSON(base):
		return jsonvalue.Append(nil, v)
	case base == "application/xml", base == "text/xml", strings.HasSuffix(base, "+xml") && base != "image/svg+xml":
		return c.xml(v)
	case base == "application/x-www-form-urlencoded":
		return c.form(v)
	case strings.HasPrefix(base, "multipart/"):
		return c.parts(v)
	case isText:
		if base == "text/event-stream" && !strings.Contains(s, ":") {
			return []byte("data: " + s + "\n\n")
		}
		return []byte(s)
	case base == "text/event-stream":
		return c.sequence(v)
	case base == "application/json-seq": // RFC 7464
		return lines(v, "\x1e", "\n")
	case isSequence(base):
		return lines(v, "", "\n")
	case base == "text/csv":
		if text, ok := table(v); ok {
			return text
		}
	}
	return jsonvalue.Append(nil, v)
}

// isSequence reports whether a body of a media type is a sequence of items.
func isSequence(base string) bool {
	return slices.Contains([]string{"text/event-stream", "application/x-ndjson", "application/ndjson", "application/jsonl", "application/json-seq"}, base)
}

// lines writes each item of an array separately, between before and after.
func lines(v any, before, after string) []byte {
	items, ok := v.([]any)
	if !ok {
		items = []any{v}
	}
	var dst []byte
	for _, item := range items {
		dst = append(jsonvalue.Append(append(dst, before...), item), after...)
	}
	return dst
}

// table returns an array of objects or arrays as CSV; false if v is not an array, or an empty one.
// If the first item is an object, its members are the columns.
func table(v any) ([]byte, bool) {
	items, ok := v.([]any)
	if !ok || len(items) == 0 {
		return nil, false
	}
	var columns []string
	var rows [][]string
	if first, ok := items[0].(*jsonvalue.Object); ok {
		columns = list.Map(first.Members, func(m jsonvalue.Member) string { return m.Name })
		rows = append(rows, columns)
	}
	for _, item := range items {
		switch item := item.(type) {
		case *jsonvalue.Object:
			rows = append(rows, list.Map(columns, func(name string) string {
				cell, _ := item.Get(name)
				return plainText(cell)
			}))
		case []any:
			rows = append(rows, list.Map(item, plainText))
		default:
			rows = append(rows, []string{plainText(item)})
		}
	}
	var text bytes.Buffer
	_ = csv.NewWriter(&text).WriteAll(rows) // writes to memory
	return text.Bytes(), true
}

// plainText returns a value as text outside JSON: strings without quotes, and null as nothing.
func plainText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return string(jsonvalue.Append(nil, v))
}

// form encodes an object as application/x-www-form-urlencoded.
func (c *Content) form(v any) []byte {
	o, ok := v.(*jsonvalue.Object)
	if !ok {
		return []byte(plainText(v))
	}
	var pairs []string
	add := func(name, value string) {
		pairs = append(pairs, url.QueryEscape(name)+"="+url.QueryEscape(value))
	}
	for _, m := range o.Members {
		encoding := c.encodings[m.Name]
		method := encoding.SerializationMethod()
		items, isList := m.Value.([]any)
		object, isObject := m.Value.(*jsonvalue.Object)
		texts := list.Map(items, plainText)
		switch {
		case isList && method.Explode:
			for _, text := range texts {
				add(m.Name, text)
			}
		case isList:
			add(m.Name, strings.Join(texts, cmp.Or(separators[method.Style], ",")))
		case isObject && method.Style == openapi3.SerializationDeepObject:
			for _, part := range object.Members {
				add(m.Name+"["+part.Name+"]", plainText(part.Value))
			}
		case isObject && encoding != nil && encoding.Style != "" && method.Explode:
			for _, part := range object.Members {
				add(part.Name, plainText(part.Value))
			}
		default:
			add(m.Name, plainText(m.Value))
		}
	}
	return []byte(strings.Join(pairs, "&"))
}

// separators are what separates the items of a list in some styles.
var separators = map[string]string{openapi3.SerializationSpaceDelimited: " ", openapi3.SerializationPipeDelimited: "|"}

// parts encodes an object as a multipart body: with one part for each property, or for each item of
// a property that is a list. Another value becomes a part named "value".
func (c *Content) parts(v any) []byte {
	var text bytes.Buffer
	w := multipart.NewWriter(&text)
	_, parameter, _ := strings.Cut(c.Media, "boundary=")
	parameter, _, _ = strings.Cut(parameter, ";")
	if err := w.SetBoundary(strings.Trim(strings.TrimSpace(parameter), `"`)); err != nil {
		_ = w.SetBoundary(partBoundary) // replaces an invalid boundary from the document
	}
	o, ok := v.(*jsonvalue.Object)
	if !ok {
		o = &jsonvalue.Object{}
		o.Set("value", v)
	}
	check := c.check(false)
	g := check.describing(v, c.schema)
	for _, m := range o.Members {
		items, isList := m.Value.([]any)
		if !isList {
			items = []any{m.Value}
		}
		ref := check.propertySchema(g, m.Name)
		for _, item := range items {
			c.part(w, m.Name, ref, item)
		}
	}
	_ = w.Close() // writes to memory
	return text.Bytes()
}

func (c *Content) part(w *multipart.Writer, name string, ref *openapi3.SchemaRef, item any) {
	header := textproto.MIMEHeader{}
	disposition := `form-data; name="` + strings.NewReplacer(`"`, "%22", "\r", "%0D", "\n", "%0A").Replace(name) + `"`
	media := ""
	switch item.(type) {
	case []any, *jsonvalue.Object:
		media = "application/json"
	}
	if ref != nil && ref.Value != nil && ref.Value.Items != nil {
		ref = ref.Value.Items
	}
	if ref != nil && isBinary(ref.Value) {
		media = "application/octet-stream"
		disposition += `; filename="` + name + `.bin"`
	}
	if encoding := c.encodings[name]; encoding != nil && encoding.ContentType != "" {
		media = sentType(encoding.ContentType)
	}
	header.Set("Content-Disposition", disposition)
	if media != "" {
		header.Set("Content-Type", media)
	}
	part, err := w.CreatePart(header)
	if err != nil {
		return // writes to memory, so it cannot fail
	}
	_, _ = part.Write([]byte(plainText(item)))
}

// isBinary reports whether a schema describes bytes.
func isBinary(s *openapi3.Schema) bool {
	return s != nil && s.Format == "binary" && s.Type.Permits("string")
}

// samples are the smallest files that programs accept, by media type.
var samples = map[string]string{
	"image/png":       "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82",
	"image/gif":       "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;",
	"image/svg+xml":   `<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>`,
	"application/zip": "PK\x05\x06\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
	"application/pdf": "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 72 72]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n",
}

// sampleSize is the number of bytes in a binary body of unspecified size.
const sampleSize = 64

// sample returns the body for a media type whose schema says only that the body is bytes. It
// returns false when the schema says more, or when the media type is a text type.
func sample(media string, s *openapi3.Schema, seed uint64) ([]byte, bool) {
	base := jsonvalue.BaseType(media)
	if !saysNoMore(s) {
		return nil, false
	}
	if text, ok := samples[base]; ok {
		return []byte(text), true
	}
	kind, _, _ := strings.Cut(base, "/")
	bytesOnly := base == "application/octet-stream" || slices.Contains([]string{"image", "audio", "video", "font"}, kind)
	if !isBinary(s) && (!bytesOnly || s != nil && s.Type.Is("string")) {
		return nil, false
	}
	r := rand.New(rand.NewPCG(seed, 0))
	b := make([]byte, sampleSize)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b, true
}

// saysNoMore reports whether a schema says nothing more than that a body is a string or bytes.
func saysNoMore(s *openapi3.Schema) bool {
	switch {
	case s == nil:
		return true
	case s.MinLength > 0 || s.MaxLength != nil || s.Pattern != "" || len(s.Enum) > 0 || s.Const != nil:
		return false
	case s.Type.IsEmpty():
		return s.Format == "" && len(s.Properties) == 0 && len(s.AllOf)+len(s.OneOf)+len(s.AnyOf) == 0
	}
	return s.Type.Is("string") && (s.Format == "" || isBinary(s))
}
