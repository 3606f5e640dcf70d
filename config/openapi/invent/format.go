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

// Maker makes a text with low to high characters if it can. The caller checks the text, and tries
// another if it does not fit.
type Maker func(f *Facts, low, high int) string

// FormatOf returns the maker of a format; false for an unknown one.
func FormatOf(name string) (Maker, bool) {
	name = strings.ToLower(name)
	usual, ok := formats[name]
	return func(f *Facts, low, high int) string {
		s := usual(f, low, high)
		for _, shorter := range shortest[name] {
			if len(s) > high {
				s = shorter
			}
		}
		return s
	}, ok
}

// shortest are short texts of formats, for where no other is short enough.
var shortest = map[string][]string{
	"email": {"a@b"}, "idn-email": {"a@b"}, "hostname": {"a"}, "idn-hostname": {"a"}, "ipv4": {"10.0.0.1", "1.0.0.1"}, "ip": {"10.0.0.1", "::1", "::"},
	"ipv6": {"2001:db8::1", "fd00::1", "::1", "::"}, "cidr": {"10.0.0.0/8", "::/0"}, "uri": {"x:"}, "url": {"x:"},
	"iri": {"x:"}, "duration": {"P1D"}, "uri-reference": {"/", ""}, "iri-reference": {"/", ""}, "uri-template": {"/", ""},
	"json-pointer": {"/", ""}, "relative-json-pointer": {"0"}, "byte": {"YWJj", ""}, "base64url": {"YWJj", ""}, "base32": {""}, "base16": {"6D", ""}, "regex": {"a+", "a", ""},
}

var formats = map[string]Maker{
	"date":         func(f *Facts, _, _ int) string { return f.moment().Format(time.DateOnly) },
	"date-time":    clock("2006-01-02T15:04:05"),
	"time":         clock("15:04:05"),
	"duration":     func(f *Facts, _, _ int) string { return fmt.Sprintf("PT%dH%dM", 1+f.IntN(9), 10+f.IntN(50)) },
	"email":        makeEmail,
	"idn-email":    makeEmail,
	"hostname":     wordIn("", ".example.com"),
	"idn-hostname": wordIn("", ".example.com"),
	"ipv4":         makeIPv4,
	"ipv6":         func(f *Facts, _, _ int) string { return fmt.Sprintf("2001:db8::%x", 1+f.IntN(1<<16-1)) },
	"ip":           makeIPv4,
	"cidr":         func(f *Facts, _, _ int) string { return fmt.Sprintf("10.%d.0.0/16", f.IntN(256)) },
	"mac": func(f *Facts, _, _ int) string {
		return fmt.Sprintf("02:00:5e:%02x:%02x:%02x", f.IntN(256), f.IntN(256), f.IntN(256))
	},
	"uri":                   makeURI,
	"url":                   makeURI,
	"iri":                   makeURI,
	"uri-reference":         wordIn("/", ""),
	"iri-reference":         wordIn("/", ""),
	"uri-template":          wordIn("/", "/{id}"),
	"uuid":                  makeUUID,
	"guid":                  makeUUID,
	"json-pointer":          wordIn("/", ""),
	"relative-json-pointer": wordIn("1/", ""),
	"regex":                 makeRegex,
	"byte":                  encoded(3, 4, base64.StdEncoding.EncodeToString),
	"base64url":             encoded(3, 4, base64.URLEncoding.EncodeToString),
	"base32":                encoded(5, 8, base32.StdEncoding.EncodeToString),
	"base16":                encoded(1, 2, func(b []byte) string { return fmt.Sprintf("%X", b) }),
	"binary":                func(f *Facts, low, high int) string { return text.Letters(f.Rand, max(low, min(high, 16))) },
	"password":              func(f *Facts, low, high int) string { return fitted(f.Rand, "aA1!"+text.Letters(f.Rand, 8), low, high) },
	"phone":                 func(f *Facts, _, _ int) string { return f.place()["calling code"] + "555" + Digits(f.Rand, 7) },
}

// clock returns a maker of times in a layout, in UTC, which are longer only if they have to be.
func clock(layout string) Maker {
	return func(f *Facts, low, _ int) string {
		s := f.moment().Format(layout)
		if low > len(layout+"Z") {
			s += "." + Digits(f.Rand, max(1, low-len(layout+".Z")))
		}
		return s + "Z"
	}
}

// wordIn returns a maker of words between two texts.
func wordIn(before, after string) Maker {
	rest := len(before + after)
	return func(f *Facts, low, high int) string {
		return before + fitted(f.Rand, Word(f.Rand), low-rest, high-rest) + after
	}
}

func makeURI(f *Facts, low, high int) string {
	before := "https://example.com/"
	if high < len(before)+4 {
		before = "x:"
	}
	return wordIn(before, "")(f, low, high)
}

// encoded returns a maker of words in an encoding that turns blocks of in bytes into blocks of out.
func encoded(in, out int, encode func([]byte) string) Maker {
	return func(f *Facts, low, high int) string {
		size := in * max((low+out-1)/out, min(12/in, high/out))
		return encode([]byte(fitted(f.Rand, Word(f.Rand), size, size)))
	}
}

func makeEmail(f *Facts, low, high int) string {
	const domain = "@example.com"
	return fitted(f.Rand, f.account("."), low-len(domain), min(high-len(domain), 64)) + domain
}

func makeIPv4(f *Facts, _, _ int) string { return fmt.Sprintf("192.0.2.%d", 1+f.IntN(254)) }

func makeUUID(f *Facts, _, _ int) string {
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", f.Uint32(), f.IntN(1<<16), f.IntN(1<<12), 0x8000|f.IntN(1<<14), f.Int64N(1<<48))
}

func makeRegex(f *Facts, low, _ int) string {
	if low > len("^[a-z]+$") {
		return "^" + text.Letters(f.Rand, low-2) + "$"
	}
	return "^[a-z]+$"
}

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
