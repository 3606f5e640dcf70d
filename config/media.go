package config

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// MediaType returns the media type of a Content-Type without its parameters, in lower case:
// "text/html" for "Text/HTML; charset=utf-8". It does not validate it.
func MediaType(contentType string) string {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(media))
}

// IsJSON reports whether a body with this Content-Type is JSON, or a sequence of JSON values, one
// per line (application/x-ndjson, application/jsonl).
func IsJSON(contentType string) bool {
	media := MediaType(contentType)
	return strings.HasSuffix(media, "/json") || strings.HasSuffix(media, "+json") || holdsMany(media)
}

// holdsMany reports whether a media type stands for several JSON values.
func holdsMany(media string) bool {
	return strings.HasSuffix(media, "ndjson") || strings.HasSuffix(media, "jsonl")
}

// jsonFault returns where and why a text is not a JSON value or, if many is set, not a sequence of
// JSON values. It returns "" if it is.
func jsonFault(text string, many bool) (offset int, what string) {
	var value json.RawMessage
	var syntax *json.SyntaxError
	if !many {
		if errors.As(json.Unmarshal([]byte(text), &value), &syntax) {
			return max(int(syntax.Offset)-1, 0), syntax.Error()
		}
		return 0, ""
	}
	d := json.NewDecoder(strings.NewReader(text))
	for {
		err := d.Decode(&value)
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return 0, ""
		case errors.As(err, &syntax):
			return max(int(syntax.Offset)-1, 0), syntax.Error()
		default: // it ends in the middle of a value
			return len(text), err.Error()
		}
	}
}
