package jsonvalue

import (
	"net/url"
	"strings"
)

// EscapePointer returns a name as a token of a JSON pointer.
func EscapePointer(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// UnescapePointer returns the name for a token of a JSON pointer in a URL.
func UnescapePointer(token string) string {
	if !strings.ContainsAny(token, "~%") {
		return token
	}
	if decoded, err := url.PathUnescape(token); err == nil {
		token = decoded
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}

// TokensOf splits a JSON pointer, such as "/paths/~1pets", into its unescaped tokens.
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
