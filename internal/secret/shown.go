package secret

import (
	"regexp"
	"slices"
	"strings"

	"mockserver/internal/tags"
)

// short contains names of parameters and members with secrets that are too short to be recognized
// as parts of longer names.
var short = []string{"auth", "key", "sig", "pass", "pwd", "pin", "otp", "cvv", "cvc"}

// IsName reports whether a parameter of a query or form, or a member of an object, may contain a
// value that must not be shown, judged by its name.
func IsName(name string) bool {
	if IsHeader(name) {
		return true
	}
	plain := strings.NewReplacer("-", "", "_", "", ".", "", " ", "").Replace(strings.ToLower(name))
	return slices.Contains(short, plain) || slices.ContainsFunc(parts, func(part string) bool {
		joined := strings.ReplaceAll(part, "-", "")
		return len(joined) > 5 && strings.Contains(plain, joined)
	})
}

// pair matches a name and its value in a text: in JSON, in a form or query, or in lines of headers.
var pair = regexp.MustCompile(`("?)([A-Za-z0-9_.-]+)("?\s*[=:]\s*)("(?:[^"\\]|\\.)*"|'[^']*'|(?:(?i:Bearer|Basic|Digest|Token)\s+)?[^\s&,;"'{}\[\]<>()]+)`)

// Text returns a text as it is shown: without the values that follow the names of secrets.
func Text(text string) string {
	return pair.ReplaceAllStringFunc(text, func(found string) string {
		m := pair.FindStringSubmatch(found)
		switch {
		case !IsName(m[2]):
			return found
		case m[1] == `"` || m[4][0] == '"': // it stays JSON
			return m[1] + m[2] + m[3] + `"` + Shown + `"`
		}
		return m[1] + m[2] + m[3] + Shown
	})
}

// Template returns a template as it is shown: with its text, which clients get, but without the
// secrets that its tags compare.
func Template(text string) string {
	var b strings.Builder
	for text != "" {
		begin, end := tags.Next(text)
		b.WriteString(text[:begin])
		b.WriteString(Condition(text[begin:end]))
		text = text[end:]
	}
	return b.String()
}

// word matches one word of a condition: a text in quotes, an operator, or a name with its names in
// brackets.
var word = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[!<>]?=|[<>|(),:{}%]+|(?:[^\s|():,"'=<>!{}%\[]|\[(?:"[^"]*"|'[^']*'|[^\]]*)\])+`)

// Condition returns a condition as it is shown: with the values that are compared with secrets
// replaced.
func Condition(text string) string {
	words := word.FindAllStringIndex(text, -1)
	var b strings.Builder
	from := 0
	for len(words) > 0 {
		n := slices.IndexFunc(words, func(at []int) bool { return text[at[0]:at[1]] == "and" || text[at[0]:at[1]] == "or" })
		if n < 0 {
			n = len(words) - 1
		}
		comparison := words[:n+1]
		words = words[n+1:]
		hidden, right, filter := isSecret(text, comparison), false, false
		for _, at := range comparison {
			one := text[at[0]:at[1]]
			shown := one
			switch {
			case one[0] == '"' || one[0] == '\'':
				if shown = one[:1] + Shown + one[:1]; !hidden {
					shown = one[:1] + Text(one[1:len(one)-1]) + one[:1]
				}
			case strings.ContainsAny(one[:1], "=<>!") || one == "contains" || one == "matches":
				right = true
			case hidden && right && !filter && isLiteral(one):
				shown = Shown
			}
			filter = one == "|"
			b.WriteString(text[from:at[0]] + shown)
			from = at[1]
		}
	}
	return b.String() + text[from:]
}

// isSecret reports whether a comparison is about a secret.
func isSecret(text string, comparison [][]int) bool {
	return slices.ContainsFunc(comparison, func(at []int) bool {
		names := strings.FieldsFunc(text[at[0]:at[1]], func(r rune) bool { return strings.ContainsRune(`.[]"'`, r) })
		if len(names) < 2 || strings.ContainsAny(text[at[0]:at[0]+1], `"'`) {
			return false // no member of a variable or row
		}
		return names[0] == "cookie-params" || slices.ContainsFunc(names[1:], IsName)
	})
}

// isLiteral reports whether a word to the right of an operator is a value.
func isLiteral(one string) bool {
	return !strings.ContainsAny(one[:1], "|(),:{}%") && !strings.Contains(one, "-params") && !strings.HasPrefix(one, "env.") &&
		!slices.Contains([]string{"and", "or", "not", "null", "true", "false"}, one)
}
