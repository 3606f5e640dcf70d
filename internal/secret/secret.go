// Package secret knows what nobody should read in a journal, a log or an export.
package secret

import (
	"net/textproto"
	"slices"
	"strings"
)

// Shown stands for a secret where it would be shown.
const Shown = "(not shown)"

// parts are what the names of headers that hold secrets have in them, with - for _.
var parts = []string{
	"authorization", "authentication", "x-auth-", "cookie", "token", "jwt", "secret", "password", "passwd", "passphrase", "-otp",
	"api-key", "apikey", "access-key", "private-key", "subscription-key", "functions-key", "signature", "credential", "session",
}

// isCommon tells of the commonest headers, which hold no secret, without looking at each
// part of their names.
func isCommon(name []byte) bool {
	switch string(name) {
	case "Host", "User-Agent", "Accept", "Accept-Encoding", "Accept-Language", "Connection", "Content-Type", "Content-Length",
		"Date", "Server", "Origin", "Cache-Control", "Transfer-Encoding", "Traceparent", "X-Request-Id", "X-Forwarded-For":
		return true
	}
	return false
}

// IsHeader reports whether a header may hold what nobody should read in a journal, a
// log or an export.
func IsHeader[T string | []byte](header T) bool {
	if isCommon([]byte(header)) {
		return false
	}
	name := strings.ReplaceAll(strings.ToLower(textproto.TrimString(string(header))), "_", "-")
	return name == "x-auth" || slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) })
}
