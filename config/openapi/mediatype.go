package openapi

import "strings"

// baseType is a media type without its parameters, in lower case.
func baseType(media string) string {
	base, _, _ := strings.Cut(media, ";")
	return strings.ToLower(strings.TrimSpace(base))
}

// isJSON tells whether a media type, in lower case and without parameters, is JSON.
func isJSON(name string) bool {
	return name == "application/json" || name == "text/json" || strings.HasSuffix(name, "+json")
}
