package jsonvalue

import (
	"net/url"
	"strings"
)

// EscapePointer is a name as a token of a JSON pointer.
func EscapePointer(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// UnescapePointer is the name that stands in a pointer of a URL.
func UnescapePointer(token string) string {
	if !strings.ContainsAny(token, "~%") {
		return token
	}
	if decoded, err := url.PathUnescape(token); err == nil {
		token = decoded
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}

// TokensOf cuts a JSON pointer, "/paths/~1pets", into its tokens, unescaped.
func TokensOf(pointer string) []string {
	if pointer == "" {
		return nil
	}
	tokens := strings.Split(pointer[1:], "/")
	for i, t := range tokens {
		tokens[i] = UnescapePointer(t)
	}
	return tokens
}
