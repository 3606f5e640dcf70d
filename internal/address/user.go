package address

import (
	"regexp"
	"strings"

	"mockserver/internal/tags"
	"mockserver/internal/wording"
)

// userPart is what may be a user and a password: what stands between :// and an @ in
// front of the path.
var userPart = regexp.MustCompile(`://[^/?#]*@`)

const userShown = "://xxxxx@"

// WithoutUser is a URL without what stands before its @, which may be a password. What
// is left is a URL if it was one.
func WithoutUser(text string) string {
	return userPart.ReplaceAllLiteralString(text, userShown)
}

// Shown is a URL as logs and messages show it: clipped, and without its user.
func Shown(text string) string { return wording.Clip(WithoutUser(text)) }

// WithoutUsers is a template of a URL without the users that are written out in it,
// whatever stands in its tags.
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
