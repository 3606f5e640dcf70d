package text

import (
	"net/netip"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Formats for addresses are limited to ASCII, except for their international variants, which also
// allow other letters.
const (
	ascii         = false
	international = true
)

// isURI reports whether a string is a URI with a scheme (RFC 3986), or an IRI (RFC 3987).
func isURI(s string, letters bool) bool {
	u, err := url.Parse(s)
	return err == nil && u.IsAbs() && hasURIForm(s, letters)
}

// isReference reports whether a string is a URI or a relative reference.
func isReference(s string, letters bool) bool {
	_, err := url.Parse(s)
	return err == nil && hasURIForm(s, letters)
}

// hasURIForm reports whether each character is allowed in a URI at its position. Package url
// accepts almost any character.
func hasURIForm(s string, letters bool) bool {
	authority, rest := "", s
	if i := strings.Index(s, "//"); i == 0 || i > 0 && s[i-1] == ':' && strings.IndexAny(s, ":/?#") == i-1 {
		end := strings.IndexAny(s[i+2:], "/?#")
		if end < 0 {
			end = len(s) - i - 2
		}
		authority, rest = s[i+2:i+2+end], s[i+2+end:]
	}
	if strings.Count(rest, "#") > 1 || strings.ContainsAny(rest, "[]") {
		return false
	}
	for i, c := range s {
		switch {
		case c == '%':
			if hexDigits(s[i+1:], 2) == "" {
				return false
			}
		case c >= utf8.RuneSelf:
			private := unicode.Is(unicode.Co, c) && strings.Contains(s[:i], "?") // iprivate of RFC 3987
			if !letters || !isLetterBeyond(c) && !private {
				return false
			}
		case !isWordByte(byte(c)) && !strings.ContainsRune("-.~!$&'()*+,;=:/?#[]@", c):
			return false
		}
	}
	return hasAuthorityForm(authority)
}

// hasAuthorityForm reports whether brackets occur only around the host, and whether there is at
// most one @ before it.
func hasAuthorityForm(authority string) bool {
	user, host, ok := strings.Cut(authority, "@")
	if !ok {
		user, host = "", authority
	}
	if literal, ok := strings.CutPrefix(host, "["); ok {
		_, host, ok = strings.Cut(literal, "]")
		if !ok {
			return false
		}
	}
	return !strings.ContainsAny(user+host, "[]@")
}

// isTextBeyond reports whether a character is outside ASCII, where mailboxes may have any.
func isTextBeyond(c rune) bool { return c >= utf8.RuneSelf && c != utf8.RuneError }

// isLetterBeyond reports whether a character outside ASCII is allowed where letters of any language
// are allowed.
func isLetterBeyond(c rune) bool { return c != utf8.RuneError && unicode.IsPrint(c) }

// Length limits of an e-mail address (RFC 5321).
const (
	longestMailbox = 254
	longestLocal   = 64
	longestHost    = 253 // RFC 1035
)

// isMailbox reports whether a string is an e-mail address (RFC 5321) or an internationalized one
// (RFC 6531).
func isMailbox(s string, letters bool) bool {
	at := strings.LastIndexByte(s, '@')
	if at < 0 || at > longestLocal || len(s) > longestMailbox {
		return false
	}
	local, domain := s[:at], s[at+1:]
	if literal, ok := strings.CutPrefix(domain, "["); ok {
		literal, ok = strings.CutSuffix(literal, "]")
		v6, is6 := strings.CutPrefix(literal, "IPv6:")
		return ok && (is6 && validIPv6(v6) || validIPv4(literal)) && isLocal(local, letters)
	}
	if letters && !isDotted(domain, "-", letters) || !letters && !hostForm(domain) {
		return false
	}
	return isLocal(local, letters)
}

// isLocal reports whether a string is valid as the local part of an e-mail address, before the @.
func isLocal(s string, letters bool) bool {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return isDotted(s, "!#$%&'*+-/=?^_`{|}~", letters)
	}
	escaped := false
	for _, c := range s[1 : len(s)-1] {
		switch {
		case c < ' ' || c == 0x7F || c >= utf8.RuneSelf && (!letters || !isTextBeyond(c)):
			return false
		case escaped:
			escaped = false
		case c == '"':
			return false
		default:
			escaped = c == '\\'
		}
	}
	return !escaped
}

// isDotted reports whether a string consists of words separated by single dots. Words may contain
// letters, digits and the characters in more.
func isDotted(s, more string, letters bool) bool {
	for word := range strings.SplitSeq(s, ".") {
		for _, c := range word {
			switch {
			case c >= utf8.RuneSelf:
				if !letters || !isTextBeyond(c) {
					return false
				}
			case c != '_' && isWordByte(byte(c)), strings.ContainsRune(more, c):
			default:
				return false
			}
		}
		if word == "" {
			return false
		}
	}
	return true
}

func validIPv4(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is4() }

func validIPv6(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6() && a.Zone() == ""
}
