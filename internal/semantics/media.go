package semantics

import "strings"

// MediaType returns the media type of a Content-Type without its parameters, in lower case:
// "text/html" for "Text/HTML; charset=utf-8". It does not validate the Content-Type.
func MediaType(contentType string) string {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(media))
}

// IsJSON reports whether a body with this Content-Type is JSON, or a sequence of JSON values, one
// per line (application/x-ndjson, application/jsonl).
func IsJSON(contentType string) bool {
	media := MediaType(contentType)
	return strings.HasSuffix(media, "/json") || strings.HasSuffix(media, "+json") || HoldsMany(media)
}

// HoldsMany reports whether a media type is for a sequence of JSON values.
func HoldsMany(media string) bool {
	return strings.HasSuffix(media, "ndjson") || strings.HasSuffix(media, "jsonl")
}
