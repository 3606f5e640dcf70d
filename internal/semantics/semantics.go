// Package semantics defines the terms of HTTP (RFC 9110) that several packages need: methods, the
// names of header fields, and media types.
package semantics

import "mockserver/internal/http1"

// Methods are the methods that endpoints and webhooks may declare, the most frequent first. The
// slice must not be modified.
var Methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}

// HasNoContent reports whether responses with a status have no body.
func HasNoContent(status int) bool { return status == 204 || status == 205 || status == 304 }

// IsToken reports whether a name is a token of RFC 9110, section 5.6.2: the name of a header.
func IsToken(name string) bool {
	for i := range len(name) {
		if !http1.Token[name[i]] {
			return false
		}
	}
	return name != ""
}
