package generate

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"mockserver/config/openapi/text"
)

// format is a string format.
type format struct {
	// make generates a string with a length between low and high, in characters, if possible. If
	// the length is wrong, other strings are tried.
	make func(r *rand.Rand, low, high int) string
	// valid reports whether a string has the format. If it is nil, any string is valid.
	valid func(string) bool
}

// formatOf returns the named format; false when the name has no meaning here.
func formatOf(name string) (format, bool) {
	f, ok := formats[strings.ToLower(name)]
	return format{f, text.Format(name)}, ok
}

var formats = map[string]func(r *rand.Rand, low, high int) string{
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
	"binary":                makeLetters,
	"password":              makePassword,
	"phone":                 makePhone,
}

// epoch is the day after which generated times lie. It is fixed, so that a document gives the same
// body on any day.
var epoch = time.Date(2023, time.January, 1, 0, 0, 0, 0, time.UTC)

// madeTime returns a random second within three years after epoch.
func madeTime(r *rand.Rand) time.Time {
	return epoch.Add(time.Duration(r.IntN(3*365*24*3600)) * time.Second)
}

func makeDate(r *rand.Rand, _, _ int) string { return madeTime(r).Format(time.DateOnly) }

func makeDateTime(r *rand.Rand, low, _ int) string {
	t := madeTime(r)
	if low > len("2006-01-02T15:04:05Z") {
		return t.Format("2006-01-02T15:04:05.") + digits(r, max(1, low-len("2006-01-02T15:04:05.Z"))) + "Z"
	}
	return t.Format(time.RFC3339)
}

func makeTime(r *rand.Rand, low, _ int) string {
	if low > len("15:04:05Z") {
		return madeTime(r).Format("15:04:05.") + digits(r, max(1, low-len("15:04:05.Z"))) + "Z"
	}
	return madeTime(r).Format("15:04:05Z")
}

func makeDuration(r *rand.Rand, low, high int) string {
	if low > len("PT3H25M") || high < len("PT3H25M") {
		return "P" + digits(r, max(1, min(low-2, high-2))) + "D"
	}
	return fmt.Sprintf("PT%dH%dM", 1+r.IntN(9), 10+r.IntN(50))
}

func makeEmail(r *rand.Rand, low, high int) string {
	domain := "@example.com"
	if high < 20 {
		domain = "@a.io"
	}
	name := strings.ToLower(pick(r, givenNames)) + "." + strings.ToLower(pick(r, familyNames))
	return fitted(r, name, low-len(domain), min(high-len(domain), 64)) + domain
}

func makeHost(r *rand.Rand, low, high int) string {
	domain := ".example.com"
	if high < 20 {
		domain = ".io"
	}
	label := fitted(r, pick(r, words), 1, min(63, high-len(domain)))
	for len(label)+len(domain) < low {
		label += "." + text.Letters(r, max(1, min(63, low-len(label)-len(domain)-1)))
	}
	return label + domain
}

func makeIPv4(r *rand.Rand, low, _ int) string {
	if low > len("192.0.2.99") {
		return fmt.Sprintf("198.51.100.%d", 100+r.IntN(155))
	}
	return fmt.Sprintf("192.0.2.%d", 1+r.IntN(99))
}

func makeIPv6(r *rand.Rand, low, _ int) string {
	if low > len("2001:db8::abcd") {
		return fmt.Sprintf("2001:0db8:0000:0000:%04x:%04x:%04x:%04x", r.IntN(1<<16), r.IntN(1<<16), r.IntN(1<<16), r.IntN(1<<16))
	}
	return fmt.Sprintf("2001:db8::%x", 1+r.IntN(1<<16-1))
}

func makeCIDR(r *rand.Rand, _, _ int) string { return fmt.Sprintf("10.%d.0.0/16", r.IntN(256)) }

func makeMAC(r *rand.Rand, _, _ int) string {
	return fmt.Sprintf("02:00:5e:%02x:%02x:%02x", r.IntN(256), r.IntN(256), r.IntN(256))
}

func makeURI(r *rand.Rand, low, high int) string {
	base := "https://example.com/"
	if high < len(base)+4 {
		base = "x:"
	}
	return base + fitted(r, pick(r, words), low-len(base), high-len(base))
}

func makeReference(r *rand.Rand, low, high int) string {
	return "/" + fitted(r, pick(r, words), low-1, high-1)
}

func makeTemplate(r *rand.Rand, low, high int) string {
	const rest = "/{id}"
	return "/" + fitted(r, pick(r, words), low-len(rest)-1, high-len(rest)-1) + rest
}

func makeUUID(r *rand.Rand, _, _ int) string {
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", r.Uint32(), r.IntN(1<<16), r.IntN(1<<12), 0x8000|r.IntN(1<<14), r.Int64N(1<<48))
}

func makePointer(r *rand.Rand, low, high int) string { return makeReference(r, low, high) }

func makeRelativePointer(r *rand.Rand, low, high int) string {
	return "1" + makeReference(r, low-1, high-1)
}

func makeRegex(r *rand.Rand, low, high int) string {
	if low > len("^[a-z]+$") {
		return "^" + text.Letters(r, low-2) + "$"
	}
	if high < len("^[a-z]+$") {
		return text.Letters(r, max(low, min(high, 3)))
	}
	return "^[a-z]+$"
}

func makeBase64(r *rand.Rand, low, high int) string {
	if high >= 16 && low <= 16 {
		return base64.StdEncoding.EncodeToString([]byte(fitted(r, pick(r, words), 12, 12)))
	}
	return base64.StdEncoding.EncodeToString([]byte(text.Letters(r, (low+3)/4*3)))
}

func makeBase64URL(r *rand.Rand, low, high int) string {
	return strings.NewReplacer("+", "-", "/", "_").Replace(makeBase64(r, low, high))
}

func makeLetters(r *rand.Rand, low, high int) string {
	return text.Letters(r, max(low, min(high, 16)))
}

func makePassword(r *rand.Rand, low, high int) string {
	const kinds = "aA1!"
	return fitted(r, kinds+text.Letters(r, 8), low, high)
}

func makePhone(r *rand.Rand, _, _ int) string { return "+1555" + digits(r, 7) }

// fitted extends or truncates an ASCII string to a length between low and high.
func fitted(r *rand.Rand, s string, low, high int) string {
	if high = max(high, 1); len(s) > high {
		s = strings.TrimRight(s[:high], ".-_ ")
	}
	if len(s) < low {
		s += text.Letters(r, low-len(s))
	}
	return s
}

func digits(r *rand.Rand, n int) string {
	b := make([]byte, min(n, text.LongestText))
	for i := range b {
		b[i] = byte('1' + r.IntN(9))
	}
	return string(b)
}
