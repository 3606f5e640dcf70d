package jsonvalue

import "strings"

// BaseType returns a media type without its parameters, in lower case.
func BaseType(media string) string {
	base, _, _ := strings.Cut(media, ";")
	return strings.ToLower(strings.TrimSpace(base))
}

// IsJSON reports whether a media type, in lower case and without parameters, is JSON.
func IsJSON(name string) bool {
	return name == "application/json" || name == "text/json" || strings.HasSuffix(name, "+json")
}
