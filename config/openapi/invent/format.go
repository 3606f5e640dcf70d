package invent

import (
	"encoding/base32"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"mockserver/config/openapi/text"
)

// Format is a format of strings.
type Format struct {
	// Make makes a text with low to high characters if it can. The caller checks the length, and
	// tries another text if it does not fit.
	Make func(f *Facts, low, high int) string
	// Valid reports whether a text has the format; nil accepts any text.
	Valid func(string) bool
}

// FormatOf returns the format with a name; false for an unknown one.
func FormatOf(name string) (Format, bool) {
	name = strings.ToLower(name)
	usual, ok := formats[name]
	short := func(f *Facts, low, high int) string {
		s := usual(f, low, high)
		for _, shorter := range shortest[name] {
			if len(s) > high {
				s = shorter
			}
		}
		return s
	}
	return Format{short, text.Format(name)}, ok
}

// shortest are short texts of formats, for where no other is short enough.
var shortest = map[string][]string{
	"email": {"a@b"}, "idn-email": {"a@b"}, "hostname": {"a"}, "idn-hostname": {"a"}, "ipv4": {"10.0.0.1", "1.0.0.1"}, "ip": {"10.0.0.1", "::1", "::"},
	"ipv6": {"2001:db8::1", "fd00::1", "::1", "::"}, "cidr": {"10.0.0.0/8", "::/0"}, "uri": {"x:"}, "url": {"x:"}, "iri": {"x:"}, "duration": {"P1D"},
	"uri-reference": {"/", ""}, "iri-reference": {"/", ""}, "uri-template": {"/", ""}, "json-pointer": {"/", ""}, "relative-json-pointer": {"0"}, "byte": {"YWJj", ""},
	"base64url": {"YWJj", ""}, "base32": {""}, "base16": {"6D", ""}, "regex": {""},
}

var formats = map[string]func(f *Facts, low, high int) string{
	"date":                  makeDate,
	"date-time":             makeDateTime,
	"time":                  makeTime,
	"duration":              makeDuration,
	"email":                 makeEmail,
	"idn-email":             makeEmail,
	"hostname":              makeHost,
	"idn-hostname":          makeHost,
	"ipv4":                  makeIPv4,
	"ipv6":                  makeIPv6,
	"ip":                    makeIPv4,
	"cidr":                  makeCIDR,
	"mac":                   makeMAC,
	"uri":                   makeURI,
	"url":                   makeURI,
	"iri":                   makeURI,
	"uri-reference":         makeReference,
	"iri-reference":         makeReference,
	"uri-template":          makeTemplate,
	"uuid":                  makeUUID,
	"guid":                  makeUUID,
	"json-pointer":          makePointer,
	"relative-json-pointer": makeRelativePointer,
	"regex":                 makeRegex,
	"byte":                  makeBase64,
	"base64url":             makeBase64URL,
	"base32":                makeBase32,
	"base16":                makeBase16,
	"binary":                makeLetters,
	"password":              makePassword,
	"phone":                 makePhone,
}

func makeDate(f *Facts, _, _ int) string { return f.moment().Format(time.DateOnly) }

func makeDateTime(f *Facts, low, _ int) string {
	t := f.moment()
	if low > len("2006-01-02T15:04:05Z") {
		return t.Format("2006-01-02T15:04:05.") + Digits(f.Rand, max(1, low-len("2006-01-02T15:04:05.Z"))) + "Z"
	}
	return t.Format(time.RFC3339)
}

func makeTime(f *Facts, low, _ int) string {
	if low > len("15:04:05Z") {
		return f.moment().Format("15:04:05.") + Digits(f.Rand, max(1, low-len("15:04:05.Z"))) + "Z"
	}
	return f.moment().Format("15:04:05Z")
}

func makeDuration(f *Facts, low, high int) string {
	if low > len("PT3H25M") || high < len("PT3H25M") {
		return "P" + Digits(f.Rand, max(1, min(low-2, high-2))) + "D"
	}
	return fmt.Sprintf("PT%dH%dM", 1+f.IntN(9), 10+f.IntN(50))
}

func makeEmail(f *Facts, low, high int) string {
	domain := "@example.com"
	if high < 20 {
		domain = "@a.io"
	}
	return fitted(f.Rand, f.account("."), low-len(domain), min(high-len(domain), 64)) + domain
}

func makeHost(f *Facts, low, high int) string {
	domain := ".example.com"
	if high < 20 {
		domain = ".io"
	}
	label := fitted(f.Rand, pick(f.Rand, words), 1, min(63, high-len(domain)))
	for len(label)+len(domain) < low {
		label += "." + text.Letters(f.Rand, max(1, min(63, low-len(label)-len(domain)-1)))
	}
	return label + domain
}

func makeIPv4(f *Facts, low, _ int) string {
	if low > len("192.0.2.99") {
		return fmt.Sprintf("198.51.100.%d", 100+f.IntN(155))
	}
	return fmt.Sprintf("192.0.2.%d", 1+f.IntN(99))
}

func makeIPv6(f *Facts, low, _ int) string {
	if low > len("2001:db8::abcd") {
		return fmt.Sprintf("2001:0db8:0000:0000:%04x:%04x:%04x:%04x", f.IntN(1<<16), f.IntN(1<<16), f.IntN(1<<16), f.IntN(1<<16))
	}
	return fmt.Sprintf("2001:db8::%x", 1+f.IntN(1<<16-1))
}

func makeCIDR(f *Facts, _, _ int) string { return fmt.Sprintf("10.%d.0.0/16", f.IntN(256)) }

func makeMAC(f *Facts, _, _ int) string {
	return fmt.Sprintf("02:00:5e:%02x:%02x:%02x", f.IntN(256), f.IntN(256), f.IntN(256))
}

func makeURI(f *Facts, low, high int) string {
	base := "https://example.com/"
	if high < len(base)+4 {
		base = "x:"
	}
	return base + fitted(f.Rand, pick(f.Rand, words), low-len(base), high-len(base))
}

func makeReference(f *Facts, low, high int) string {
	return "/" + fitted(f.Rand, pick(f.Rand, words), low-1, high-1)
}

func makeTemplate(f *Facts, low, high int) string {
	const rest = "/{id}"
	return "/" + fitted(f.Rand, pick(f.Rand, words), low-len(rest)-1, high-len(rest)-1) + rest
}

func makeUUID(f *Facts, _, _ int) string {
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", f.Uint32(), f.IntN(1<<16), f.IntN(1<<12), 0x8000|f.IntN(1<<14), f.Int64N(1<<48))
}

func makePointer(f *Facts, low, high int) string { return makeReference(f, low, high) }

func makeRelativePointer(f *Facts, low, high int) string {
	return "1" + makeReference(f, low-1, high-1)
}

func makeRegex(f *Facts, low, high int) string {
	if low > len("^[a-z]+$") {
		return "^" + text.Letters(f.Rand, low-2) + "$"
	}
	if high < len("^[a-z]+$") {
		return text.Letters(f.Rand, max(low, min(high, 3)))
	}
	return "^[a-z]+$"
}

func makeBase64(f *Facts, low, high int) string {
	if high >= 16 && low <= 16 {
		return base64.StdEncoding.EncodeToString([]byte(fitted(f.Rand, pick(f.Rand, words), 12, 12)))
	}
	return base64.StdEncoding.EncodeToString([]byte(text.Letters(f.Rand, max((low+3)/4, min(2, high/4))*3)))
}

func makeBase64URL(f *Facts, low, high int) string {
	return strings.NewReplacer("+", "-", "/", "_").Replace(makeBase64(f, low, high))
}

func makeBase32(f *Facts, low, high int) string {
	return base32.StdEncoding.EncodeToString([]byte(text.Letters(f.Rand, max((low+7)/8, min(2, high/8))*5)))
}

func makeBase16(f *Facts, low, high int) string {
	return fmt.Sprintf("%X", text.Letters(f.Rand, max((low+1)/2, min(6, high/2))))
}

func makeLetters(f *Facts, low, high int) string {
	return text.Letters(f.Rand, max(low, min(high, 16)))
}

func makePassword(f *Facts, low, high int) string {
	const kinds = "aA1!"
	return fitted(f.Rand, kinds+text.Letters(f.Rand, 8), low, high)
}

func makePhone(f *Facts, _, _ int) string { return f.place().phone + "555" + Digits(f.Rand, 7) }

// fitted lengthens or cuts an ASCII text to between low and high characters.
func fitted(r *rand.Rand, s string, low, high int) string {
	if high = max(high, 1); len(s) > high {
		s = strings.TrimRight(s[:high], ".-_ ")
	}
	if len(s) < low {
		s += text.Letters(r, low-len(s))
	}
	return s
}

// Digits returns n random digits, none of them 0, but at most text.LongestText.
func Digits(r *rand.Rand, n int) string {
	b := make([]byte, min(n, text.LongestText))
	for i := range b {
		b[i] = byte('1' + r.IntN(9))
	}
	return string(b)
}
