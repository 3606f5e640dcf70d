package address

import (
	"regexp"
	"strings"

	"mockserver/internal/tags"
	"mockserver/internal/wording"
)

// userPart matches text that may be a user and a password: the text between :// and an @ before the
// path.
var userPart = regexp.MustCompile(`://[^/?#]*@`)

const userShown = "://xxxxx@"

// WithoutUser returns a URL in which the text before the @, which may be a password, is replaced. A
// valid URL remains valid.
func WithoutUser(text string) string {
	return userPart.ReplaceAllLiteralString(text, userShown)
}

// Shown returns a URL as logs and messages show it: truncated, and without its user.
func Shown(text string) string { return wording.Clip(WithoutUser(text)) }

// WithoutUsers returns a template of a URL without the users that it contains literally, regardless
// of the content of its tags.
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
	return b.String() + template[from:]
}
