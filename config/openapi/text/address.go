package text

import (
	"net/netip"
	"net/url"
	"strings"

	"mockserver/internal/lazy"
)

// isReference matches a reference (RFC 3986). Package url checks the rest of the syntax, but accepts
// almost any character.
var isReference = func() func(string) bool {
	part := func(extra string) string { return `([A-Za-z0-9._~!$&'()*+,;=` + extra + `-]|%[0-9A-Fa-f]{2})` }
	const scheme = `[A-Za-z][A-Za-z0-9+.-]*:`
	authority := `(` + part(":") + `*@)?(\[[^\[\]@/?#]*\])?` + part(":") + `*`
	further := `(/` + part(":@") + `*)*`
	return lazy.Match(`^((` + scheme + `)?//` + authority + further +
		`|(` + scheme + `/?|/)(` + part(":@") + `+` + further + `)?` +
		`|(` + part("@") + `+` + further + `)?)` + // the first segment has no colon
		`(\?` + part(":@/?") + `*)?(#` + part(":@/?") + `*)?$`)
}()

func validReference(s string) bool { _, err := url.Parse(s); return err == nil && isReference(s) }

func validURI(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.IsAbs() && isReference(s)
}

// Length limits of an e-mail address (RFC 5321).
const (
	longestMailbox = 254
	longestLocal   = 64
	longestHost    = 253 // RFC 1035
)

const word = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"

var (
	isLocal  = lazy.Match(`^(` + word + `(\.` + word + `)*|"([ !#-\[\]-~]|\\[ -~])*")$`)
	hostForm = lazy.Match(`^([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)*[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)
)

// validHost reports whether a string is a host name in ASCII (RFC 1123).
func validHost(s string) bool { return len(s) <= longestHost && hostForm(s) }

// validEmail reports whether a string is an e-mail address (RFC 5321).
func validEmail(s string) bool {
	at := strings.LastIndexByte(s, '@')
	if at < 0 || at > longestLocal || len(s) > longestMailbox || !isLocal(s[:at]) {
		return false
	}
	literal, isLiteral := strings.CutPrefix(s[at+1:], "[")
	if !isLiteral {
		return hostForm(s[at+1:])
	}
	literal, isClosed := strings.CutSuffix(literal, "]")
	v6, is6 := strings.CutPrefix(literal, "IPv6:")
	return isClosed && (is6 && validIPv6(v6) || validIPv4(literal))
}

func validIPv4(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is4() }

func validIPv6(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6() && a.Zone() == ""
}
