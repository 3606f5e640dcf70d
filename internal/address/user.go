package address

import (
	"net/url"
	"regexp"
	"strings"

	"mockserver/internal/secret"
	"mockserver/internal/tags"
	"mockserver/internal/wording"
)

// userPart matches text that may be a user and a password: the text between :// and an @ before the
// path.
var userPart = regexp.MustCompile(`://[^/?#]*@`)

const userShown = "://xxxxx@"

// parameter matches a parameter in the query of a URL.
var parameter = regexp.MustCompile(`([?&#])([^?&#=\s"']+)=([^&#\s"']+)`)

// WithoutUser returns a URL in which the text before the @, which may be a password, and the
// parameters that may be secrets are replaced. A valid URL remains valid.
func WithoutUser(text string) string {
	return withoutParameters(userPart.ReplaceAllLiteralString(text, userShown))
}

func withoutParameters(text string) string {
	if !strings.Contains(text, "=") {
		return text
	}
	return parameter.ReplaceAllStringFunc(text, func(found string) string {
		m := parameter.FindStringSubmatch(found)
		name, err := url.QueryUnescape(m[2])
		if err != nil {
			name = m[2]
		}
		if !secret.IsName(name) || strings.HasPrefix(m[3], "{{") {
			return found
		}
		return m[1] + m[2] + "=xxxxx"
	})
}

// Shown returns a URL as logs and messages show it: truncated, and without its secrets.
func Shown(text string) string { return wording.Clip(WithoutUser(text)) }

// WithoutUsers returns a template of a URL without the users and parameters that may be secrets and
// that it contains literally, regardless of the content of its tags.
func WithoutUsers(template string) string {
	plain := []byte(template)
	for from := 0; from < len(plain); {
		begin, end := tags.Next(template[from:])
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
	return withoutParameters(secret.Template(b.String() + template[from:]))
}
