// Package address implements the grammar of URLs that the server requests, and of host names.
package address

import (
	"bytes"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"mockserver/internal/tags"
	"mockserver/internal/wording"
)

// standIn replaces a placeholder, whose value is unknown, in an authority.
const standIn = 0

// TemplateFault returns what prevents a template from rendering to a URL that can be requested, and
// the offset of the fault; "" if nothing does. It checks the text between placeholders, and the
// parts of host and port that do not come from placeholders. URLFault checks the rendered URL.
func TemplateFault(text string) (offset int, what string) {
	for offset, literal := range Literals(text) {
		if i, what := letterFault([]byte(literal), offset+len(literal) == len(text)); what != "" {
			return offset + i, what
		}
	}
	if authority, ok := authorityOf(text); ok {
		if what := authorityFault([]byte(authority)); what != "" {
			return 0, fmt.Sprintf("%q is not a valid URL: %s", Shown(text), what)
		}
	}
	return 0, ""
}

// Literals iterates over the parts of a template between its tags, with their offsets.
func Literals(text string) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		for at := 0; at < len(text); {
			begin, end := tags.Next(text[at:])
			if begin > 0 && !yield(at, text[at:at+begin]) {
				return
			}
			inside := tags.Word(text[at+begin : at+end])
			at += end
			if inside != "raw" {
				continue
			}
			if end := tags.RawEnd(text[at:]); end > 0 {
				if !yield(at, text[at:at+end]) {
					return
				}
				at += end
			}
		}
	}
}

// letterFault returns the position of a character that is not allowed in a URL, and a description
// of it. If last is set, nothing follows the part.
func letterFault(part []byte, last bool) (offset int, what string) {
	for i := 0; i < len(part); i++ {
		switch b := part[i]; {
		case b == ' ':
			return i, "a blank is not allowed in a URL; write %20"
		case b < ' ' || b == 0x7F:
			return i, fmt.Sprintf("the control character %q is not allowed in a URL", b)
		case b >= utf8.RuneSelf:
			r, _ := utf8.DecodeRune(part[i:])
			return i, fmt.Sprintf("%q is not allowed in a URL; write %s, or in a host its xn-- form", r, url.PathEscape(string(r)))
		case b == '%' && !isEscape(part[i:], last):
			return i, "% is not followed by two hexadecimal digits; write %25 for a literal %"
		}
	}
	return 0, ""
}

// isEscape reports whether a text that begins with % may begin with an escape. Unless last is set,
// a placeholder may complete the escape.
func isEscape(text []byte, last bool) bool {
	for i := 1; i <= 2; i++ {
		if i == len(text) {
			return !last
		}
		if b := text[i] | 0x20; !IsDigit(text[i]) && (b < 'a' || 'f' < b) {
			return false
		}
	}
	return true
}

// IsDigit reports whether b is a decimal digit.
func IsDigit(b byte) bool { return '0' <= b && b <= '9' }

// authorityOf returns the text between :// and the path of a URL, with standIn for its
// placeholders. ok is false if the URL may begin with a placeholder, or if a block makes the text
// uncertain.
func authorityOf(text string) (authority string, ok bool) {
	begin := strings.Index(text, "://") + len("://")
	if tags.Start(text) < begin {
		return "", false
	}
	rest := text[begin:]
	var b strings.Builder
	for rest != "" {
		open, end := tags.Next(rest)
		if i := strings.IndexAny(rest[:open], "/?#"); i >= 0 {
			b.WriteString(rest[:i])
			return b.String(), true
		}
		b.WriteString(rest[:open])
		if open < end {
			if isBlock(rest[open:end]) {
				return "", false
			}
			b.WriteByte(standIn)
		}
		rest = rest[end:]
	}
	return b.String(), true
}

// isBlock reports whether a tag does not write anything itself, but decides what is written.
func isBlock(tag string) bool {
	inside, ok := strings.CutPrefix(tag, "{{")
	inside = strings.TrimLeft(inside, " \t\r\n")
	return !ok || strings.HasPrefix(inside, "#") || strings.HasPrefix(inside, "/") ||
		strings.TrimRight(strings.TrimSuffix(inside, "}}"), " \t\r\n") == "else"
}

// URLFault returns what prevents a URL from being requested, by a webhook or for an external body:
// a scheme other than http or https, an invalid host, a port out of range. It returns "" if nothing
// does. The result does not contain the user or password.
func URLFault(target []byte) string {
	scheme, rest, _ := bytes.Cut(target, []byte("://"))
	if !bytes.EqualFold(scheme, []byte("http")) && !bytes.EqualFold(scheme, []byte("https")) {
		return "it begins with neither http:// nor https://"
	}
	if _, what := letterFault(target, true); what != "" {
		return what
	}
	if i := bytes.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return authorityFault(rest)
}

// HostPortFault returns what prevents a text from being the Host of a request, which is a name or
// an address, with or without a port. It returns "" if nothing does.
func HostPortFault(host []byte) string {
	if bytes.IndexByte(host, standIn) >= 0 {
		return fmt.Sprintf("%q is not allowed in the name of a host", rune(standIn))
	}
	return portedFault(host)
}

// authorityFault checks the text between :// and the path of a URL.
func authorityFault(authority []byte) string {
	at := bytes.LastIndexByte(authority, '@')
	for i := range max(at, 0) {
		if b := authority[i]; b != standIn && !IsLetterOrDigit(b) && strings.IndexByte("-._~%!$&'()*+,;=:", b) < 0 {
			return fmt.Sprintf("%q is not allowed before the @; write %%%02X", b, b)
		}
	}
	return portedFault(authority[at+1:])
}

// portedFault checks a host with or without a port.
func portedFault(text []byte) string {
	if !bytes.HasPrefix(text, []byte("[")) {
		name, port, _ := bytes.Cut(text, []byte(":"))
		if bytes.IndexByte(port, ':') >= 0 {
			return "it has two colons; an IPv6 address is written in [ ]"
		}
		if what := hostFault(name); what != "" {
			return what
		}
		return portFault(port)
	}
	end := bytes.IndexByte(text, ']')
	if end < 0 {
		return "the ] of an IPv6 address is missing"
	}
	if what := addressFault(text[1:end]); what != "" {
		return what
	}
	port, ok := bytes.CutPrefix(text[end+1:], []byte(":"))
	if !ok && len(port) > 0 {
		return "only a port may follow the ] of an IPv6 address"
	}
	return portFault(port)
}

// addressFault checks an IPv6 address, with or without a zone.
func addressFault(text []byte) string {
	if bytes.IndexByte(text, standIn) >= 0 {
		return ""
	}
	address, zone, zoned := bytes.Cut(text, []byte("%25")) // RFC 6874
	ip, err := netip.ParseAddr(string(address))
	if err != nil || !ip.Is6() || ip.Zone() != "" || zoned && len(zone) == 0 {
		return fmt.Sprintf("[%s] is not an IPv6 address; expected a form such as [::1], or [fe80::1%%25eth0] with a zone", wording.Clip(string(text)))
	}
	for i, b := range zone {
		if !IsLetterOrDigit(b) && strings.IndexByte("-._~", b) < 0 && (b != '%' || !isEscape(zone[i:], true)) {
			return fmt.Sprintf("%q is not allowed in the zone of an IPv6 address; write %%%02X", b, b)
		}
	}
	return ""
}

// hostFault checks the name of a host, or its IPv4 address.
func hostFault(name []byte) string {
	if len(name) == 0 {
		return "it names no host; expected https://host/path"
	}
	for _, b := range name {
		if b != standIn && !IsLetterOrDigit(b) && strings.IndexByte("-._", b) < 0 {
			return fmt.Sprintf("%q is not allowed in the name of a host", b)
		}
	}
	return ""
}

// portFault checks a port, which may be empty.
func portFault(port []byte) string {
	n := 0
	for _, b := range port {
		switch {
		case b == standIn:
			return "" // the value of the placeholder is unknown
		case !IsDigit(b) || n > 65535:
			n = 1 << 16
		default:
			n = 10*n + int(b-'0')
		}
	}
	if len(port) > 0 && (n < 1 || n > 65535) {
		return fmt.Sprintf("the port is %q; expected 1 to 65535", wording.Clip(string(port)))
	}
	return ""
}

// Scheme returns the text before ://, in lower case; "" for a file name.
func Scheme(path string) string {
	s, _, ok := strings.Cut(path, "://")
	if !ok || s == "" || slices.ContainsFunc([]byte(s), func(b byte) bool { return !IsLetterOrDigit(b) }) {
		return ""
	}
	return strings.ToLower(s)
}
