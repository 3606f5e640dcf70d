package config

import (
	"slices"
	"strings"

	"mockserver/internal/address"
)

const (
	minStatus = 200
	maxStatus = 599
)

// Methods are the methods that an endpoint may declare, the frequent ones first. It must not be
// modified.
var Methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}

// endpointMethods are the methods that an endpoint may declare.
var endpointMethods = append(slices.Clone(Methods), MethodAny)

var (
	providers = []string{"json", "xlsx"}
	serverSet = []string{"Content-Length", "Transfer-Encoding", "Connection", "Date"}
)

// Regular expressions of the schema, in the syntax that ECMAScript and RE2 have in common. Each
// matches everything that the rules of this file accept, and little else.
const (
	tokenPattern = "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"
	// headerPattern excludes control characters except the tab.
	headerPattern = `^[^\x00-\x08\x0A-\x1F\x7F]*$`
	// targetPattern matches the beginning of a webhook's URL, which may be a placeholder.
	targetPattern = `^([Hh][Tt][Tt][Pp][Ss]?://[^\x00-\x20\x7F/?#:]|\{\{|\{%)`
)

// ServerSets reports whether the server writes a header itself: those that frame the message, and
// Date. A declared one is never sent: Load removes it, and for a Spec made in Go the server ignores
// it.
func ServerSets(name string) bool {
	return slices.ContainsFunc(serverSet, func(f string) bool { return strings.EqualFold(f, name) })
}

// singleHeaders are the headers that a message has at most once: fields of RFC 9110, RFC 6266, RFC
// 6797 and CORS with a single value instead of a list, and Content-Encoding, whose list is on one
// line.
var singleHeaders = []string{
	"Access-Control-Allow-Credentials", "Access-Control-Allow-Origin", "Access-Control-Max-Age", "Age", "Authorization",
	"Content-Disposition", "Content-Encoding", "Content-Length", "Content-Location", "Content-Range", "Content-Type", "Date",
	"ETag", "Expires", "From", "Host", "Idempotency-Key", "If-Modified-Since", "If-Range", "If-Unmodified-Since",
	"Last-Modified", "Location", "Max-Forwards", "Origin", "Proxy-Authorization", "Referer", "Retry-After", "Server",
	"Strict-Transport-Security", "User-Agent",
}

// standsOnce reports whether a message has a header at most once.
func standsOnce(name string) bool {
	return slices.ContainsFunc(singleHeaders, func(h string) bool { return strings.EqualFold(h, name) })
}

// dropServerSet removes the headers that the server writes itself.
func (r *Response) dropServerSet() {
	r.Headers = slices.DeleteFunc(r.Headers, func(h Header) bool { return ServerSets(h.Name) })
}

// isToken reports whether a name is a token of RFC 9110, section 5.6.2.
func isToken(name string) bool {
	for i := range len(name) {
		if !address.IsLetterOrDigit(name[i]) && strings.IndexByte("!#$%&'*+-.^_`|~", name[i]) < 0 {
			return false
		}
	}
	return name != ""
}
