package text

import (
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"mockserver/internal/lazy"
)

// The characters beyond ASCII that international variants of formats allow: those of addresses (RFC
// 3987), also in queries only, and those of mailboxes (RFC 6531), where U+FFFD stands for what is
// not UTF-8.
const (
	ucschar  = `\x{A0}-\x{D7FF}\x{F900}-\x{FDCF}\x{FDF0}-\x{FFEF}\x{10000}-\x{DFFFD}\x{E1000}-\x{EFFFD}`
	iprivate = `\x{E000}-\x{F8FF}\x{F0000}-\x{FFFFD}\x{100000}-\x{10FFFD}`
	utf8text = `\x{80}-\x{FFFC}\x{FFFE}-\x{10FFFF}`
)

var (
	validURI          = addressForm(true, "", "")
	validIRI          = addressForm(true, ucschar, iprivate)
	validReference    = addressForm(false, "", "")
	validIRIReference = addressForm(false, ucschar, iprivate)
)

// addressForm returns a function that reports whether a string is a URI with a scheme, or any
// reference (RFC 3986), in which more characters are allowed, and further ones in the query. Package
// url checks the rest of the syntax, but accepts almost any character.
func addressForm(isAbsolute bool, more, inQuery string) func(string) bool {
	part := func(extra string) string { return `([A-Za-z0-9._~!$&'()*+,;=` + extra + more + `-]|%[0-9A-Fa-f]{2})` }
	const scheme = `[A-Za-z][A-Za-z0-9+.-]*:`
	authority := `(` + part(":") + `*@)?(\[[^\[\]@/?#]*\])?` + part(":") + `*`
	further := `(/` + part(":@") + `*)*`
	fits := lazy.Match(`^((` + scheme + `)?//` + authority + further +
		`|(` + scheme + `/?|/)(` + part(":@") + `+` + further + `)?` +
		`|(` + part("@") + `+` + further + `)?)` + // the first segment has no colon
		`(\?` + part(":@/?"+inQuery) + `*)?(#` + part(":@/?") + `*)?$`)
	return func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && (u.IsAbs() || !isAbsolute) && fits(s)
	}
}

// Length limits of an e-mail address (RFC 5321).
const (
	longestMailbox = 254
	longestLocal   = 64
	longestHost    = 253 // RFC 1035
)

var (
	validEmail    = mailboxForm("", hostForm)
	validIDNEmail = mailboxForm(utf8text, lazy.Match(`^[A-Za-z0-9`+utf8text+`-]+(\.[A-Za-z0-9`+utf8text+`-]+)*$`))
)

// mailboxForm returns a function that reports whether a string is an e-mail address (RFC 5321), in
// which more characters are allowed before the @.
func mailboxForm(more string, isDomain func(string) bool) func(string) bool {
	word := "[A-Za-z0-9" + regexp.QuoteMeta("!#$%&'*+/=?^_`{|}~") + more + "-]+"
	fits := lazy.Match(`^(` + word + `(\.` + word + `)*|"([ !#-\[\]-~` + more + `]|\\[ -~` + more + `])*")$`)
	return func(s string) bool {
		at := strings.LastIndexByte(s, '@')
		if at < 0 || at > longestLocal || len(s) > longestMailbox || !fits(s[:at]) {
			return false
		}
		literal, isLiteral := strings.CutPrefix(s[at+1:], "[")
		if !isLiteral {
			return isDomain(s[at+1:])
		}
		literal, isClosed := strings.CutSuffix(literal, "]")
		v6, is6 := strings.CutPrefix(literal, "IPv6:")
		return isClosed && (is6 && validIPv6(v6) || validIPv4(literal))
	}
}

func validIPv4(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is4() }

func validIPv6(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6() && a.Zone() == ""
}
