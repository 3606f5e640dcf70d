package openapi

import (
	"net/url"
	"strings"
)

// escapePointer is a name as a token of a JSON pointer.
func escapePointer(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// unescapePointer is the name that stands in a pointer of a URL.
func unescapePointer(token string) string {
	if !strings.ContainsAny(token, "~%") {
		return token
	}
	if decoded, err := url.PathUnescape(token); err == nil {
		token = decoded
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
}

// tokensOf cuts a JSON pointer, "/paths/~1pets", into its tokens, unescaped.
func tokensOf(pointer string) []string {
	if pointer == "" {
		return nil
	}
	tokens := strings.Split(pointer[1:], "/")
	for i, t := range tokens {
		tokens[i] = unescapePointer(t)
	}
	return tokens
}
