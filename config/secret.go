package config

import (
	"net/textproto"
	"regexp"
	"slices"
	"strings"

	"mockserver/config/openapi"
	"mockserver/config/syntax"
	"mockserver/internal/wording"
)

// SecretShown stands for a secret where it would be shown.
const SecretShown = "(not shown)"

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

// IsSecretHeader reports whether a header may hold what nobody should read in a journal, a
// log or an export.
func IsSecretHeader[T string | []byte](header T) bool {
	if isCommon([]byte(header)) {
		return false
	}
	name := strings.ReplaceAll(strings.ToLower(textproto.TrimString(string(header))), "_", "-")
	return name == "x-auth" || slices.ContainsFunc(secretParts, func(part string) bool { return strings.Contains(name, part) })
}

// userPart is what may be a user and a password: what stands between :// and an @ in
// front of the path.
var userPart = regexp.MustCompile(`://[^/?#]*@`)

const userShown = "://xxxxx@"

// WithoutUser is a URL without what stands before its @, which may be a password. What
// is left is a URL if it was one.
func WithoutUser(text string) string {
	return userPart.ReplaceAllLiteralString(text, userShown)
}

// ShownURL is a URL as logs and messages show it: clipped, and without its user.
func ShownURL(text string) string { return wording.Clip(WithoutUser(text)) }

// withoutUsers is a template of a URL without the users that are written out in it,
// whatever stands in its tags.
func withoutUsers(template string) string {
	plain := []byte(template)
	for from := 0; from < len(plain); {
		begin, end := syntax.NextTag(template[from:])
		for i := from + begin; i < from+end; i++ {
			plain[i] = standIn
		}
		from += end
	}
	var b strings.Builder
	from := 0
	for _, at := range userPart.FindAllIndex(plain, -1) {
		b.WriteString(template[from:at[0]] + userShown)
		from = at[1]
	}
	return b.String() + template[from:]
}

// hideSecrets takes the secrets out of what was declared of an endpoint: keys of
// signatures, headers of webhooks that hold secrets, and users of URLs. What clients are
// sent stays: they are sent it.
func hideSecrets(n *openapi.Node) {
	for _, item := range n.List() {
		hideSecrets(item)
	}
	for key, value := range n.Members() {
		switch key {
		case "body", "headers", "query": // these have keys of any name
		case "webhook":
			hideWebhook(value)
		case "webhooks":
			for _, w := range value.List() {
				hideWebhook(w)
			}
		case "external-body":
			hideUser(value, "path")
		default:
			hideSecrets(value)
		}
	}
}

func hideWebhook(w *openapi.Node) {
	hideUser(w, "url")
	if sign := w.Get("sign"); sign.Get("secret") != nil {
		sign.Set("secret", openapi.TextTree(SecretShown))
	}
	headers := w.Get("headers")
	for name := range headers.Members() {
		if IsSecretHeader(name) {
			headers.Set(name, openapi.TextTree(SecretShown))
		}
	}
}

// hideUser takes the user out of the URL that is the member of a map.
func hideUser(n *openapi.Node, key string) {
	if text := n.Get(key).AsText(); text != "" {
		n.Set(key, openapi.TextTree(withoutUsers(text)))
	}
}
