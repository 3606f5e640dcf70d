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

// Methods are those that an endpoint may declare, the frequent ones first. Nobody
// may change it.
var Methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}

var (
	providers = []string{"json", "xlsx"}
	serverSet = []string{"Content-Length", "Transfer-Encoding", "Connection", "Date"}
)

// Regular expressions of the schema, in what ECMAScript and RE2 have in common.
// Each holds of all that the rules of this file accept, and of little else.
const (
	tokenPattern = "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"
	// headerPattern leaves control characters out, but for the tab.
	headerPattern = `^[^\x00-\x08\x0A-\x1F\x7F]*$`
	// targetPattern is how the URL of a webhook begins, which a placeholder may make.
	targetPattern = `^([Hh][Tt][Tt][Pp][Ss]?://[^\x00-\x20\x7F/?#:]|\{\{|\{%)`
)

// ServerSets reports whether a header is one that the server writes itself: those
// that frame the message, and Date. A declared one is never sent: Load leaves it
// out, and for a Spec made in Go the server does.
func ServerSets(name string) bool {
	return slices.ContainsFunc(serverSet, func(f string) bool { return strings.EqualFold(f, name) })
}

// singleHeaders are those that a message has once: fields of RFC 9110, RFC 6266, RFC 6797 and
// CORS that hold one value and no list, and Content-Encoding, whose list stands in one line.
var singleHeaders = []string{
	"Access-Control-Allow-Credentials", "Access-Control-Allow-Origin", "Access-Control-Max-Age", "Age", "Authorization",
	"Content-Disposition", "Content-Encoding", "Content-Length", "Content-Location", "Content-Range", "Content-Type", "Date",
	"ETag", "Expires", "From", "Host", "Idempotency-Key", "If-Modified-Since", "If-Range", "If-Unmodified-Since",
	"Last-Modified", "Location", "Max-Forwards", "Origin", "Proxy-Authorization", "Referer", "Retry-After", "Server",
	"Strict-Transport-Security", "User-Agent",
}

// standsOnce reports whether a message has a header once at most.
func standsOnce(name string) bool {
	return slices.ContainsFunc(singleHeaders, func(h string) bool { return strings.EqualFold(h, name) })
}

// dropServerSet leaves out the headers that the server writes itself.
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
