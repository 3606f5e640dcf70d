// Package secret recognizes values that must not appear in a journal, a log, metrics or an export, by
// the names of headers, parameters and members, and replaces them.
package secret

import (
	"net/textproto"
	"slices"
	"strings"
)

// Shown replaces a secret where it would otherwise be shown.
const Shown = "(not shown)"

// parts contains strings that occur in the names of headers with secrets, with _ replaced by -.
var parts = []string{
	"authorization", "authentication", "x-auth-", "cookie", "token", "jwt", "secret", "password", "passwd", "passphrase", "-otp",
	"api-key", "apikey", "access-key", "private-key", "subscription-key", "functions-key", "signature", "credential", "session",
}

// isCommon reports whether a header is one of the most common ones, which do not contain secrets.
// This avoids comparing their names with each of the parts.
func isCommon(name []byte) bool {
	switch string(name) {
	case "Host", "User-Agent", "Accept", "Accept-Encoding", "Accept-Language", "Connection", "Content-Type", "Content-Length",
		"Date", "Server", "Origin", "Cache-Control", "Transfer-Encoding", "Traceparent", "X-Request-Id", "X-Forwarded-For":
		return true
	}
	return false
}

// IsHeader reports whether a header may contain a value that must not appear in a journal, a log or
// an export.
func IsHeader[T string | []byte](header T) bool {
	if isCommon([]byte(header)) {
		return false
	}
	name := strings.ReplaceAll(strings.ToLower(textproto.TrimString(string(header))), "_", "-")
	return name == "x-auth" || slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) })
}
