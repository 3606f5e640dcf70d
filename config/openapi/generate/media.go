package generate

import (
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
)

// sentType returns the media type to send for a declared one: a range is replaced with its
// likeliest type.
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
		return "multipart/form-data"
	case strings.HasSuffix(base, "/*"):
		return "application/octet-stream"
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
		return form(v)
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

// form encodes an object as application/x-www-form-urlencoded: a list by repeating the name.
func form(v any) []byte {
	o, ok := v.(*jsonvalue.Object)
	if !ok {
		return []byte(plainText(v))
	}
	var pairs []string
	for _, m := range o.Members {
		items, isList := m.Value.([]any)
		if !isList {
			items = []any{m.Value}
		}
		for _, item := range items {
			pairs = append(pairs, url.QueryEscape(m.Name)+"="+url.QueryEscape(plainText(item)))
		}
	}
	return []byte(strings.Join(pairs, "&"))
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
