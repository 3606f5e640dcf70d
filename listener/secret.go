package listener

import (
	"net/textproto"
	"slices"
	"strings"

	"mockserver/renderer"
)

// secretShown stands for what is not shown.
const secretShown = "(not shown)"

// secretParts are what the names of headers that hold secrets have in them, with - for _.
var secretParts = []string{
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

// isSecret tells whether a header may hold what nobody should read in a journal.
func isSecret[T string | []byte](header T) bool {
	if isCommon([]byte(header)) {
		return false
	}
	name := strings.ReplaceAll(strings.ToLower(textproto.TrimString(string(header))), "_", "-")
	return name == "x-auth" || slices.ContainsFunc(secretParts, func(part string) bool { return strings.Contains(name, part) })
}

// isNoSecret tells of values that conditions take for false, which are none in any header:
// a value that is not shown is taken for true.
func isNoSecret(value []byte) bool { return !renderer.IsTrue(value) }
