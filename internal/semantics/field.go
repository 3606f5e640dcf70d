package semantics

import (
	"slices"
	"strings"
)

// serverSet includes Trailer: the server sends none, and a message that announces some would have to
// be chunked.
var serverSet = []string{"Content-Length", "Transfer-Encoding", "Connection", "Date", "Trailer"}

// ServerSets reports whether the server writes a header itself, as it does for Date and for the
// headers that frame the message. Such a header is never sent as declared: config.Load removes it,
// and in a config.Spec made in Go the server ignores it.
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

// StandsOnce reports whether a message may contain a header at most once.
func StandsOnce(name string) bool {
	return slices.ContainsFunc(singleHeaders, func(h string) bool { return strings.EqualFold(h, name) })
}

// senderSet are the headers that the sender of webhooks writes itself. The slice must not be
// modified.
var senderSet = []string{"Content-Length", "Transfer-Encoding", "Connection", "X-Mockserver-Webhook-Depth"}

// SenderSets reports whether the sender of webhooks writes a header itself, as it does for the
// depth and for the headers that frame the message. Such a header is never sent as declared.
func SenderSets(name string) bool {
	return slices.ContainsFunc(senderSet, func(f string) bool { return strings.EqualFold(f, name) })
}

// hopByHop are the headers that concern one connection, or that the proxy writes itself.
var hopByHop = []string{
	"Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Via",
}

// ProxySets reports whether the proxy, in the requests that it passes on, writes a header itself or
// omits it.
func ProxySets(name string) bool {
	return slices.ContainsFunc(hopByHop, func(h string) bool { return strings.EqualFold(h, name) })
}

// ForbiddenInValue reports whether a character is not allowed in the value of a header.
func ForbiddenInValue(r rune) bool { return r < 0x20 && r != '\t' || r == 0x7F }
