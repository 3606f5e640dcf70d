package text

import (
	"encoding/base64"
	"net/netip"
	"strings"
	"time"

	"mockserver/internal/lazy"
)

// Format returns the function that reports whether a string has the named format. It returns nil
// for names that are not known here and for formats that allow any string.
func Format(name string) func(string) bool { return formats[strings.ToLower(name)] }

var formats = map[string]func(string) bool{
	"date":                  validDate,
	"date-time":             validDateTime,
	"time":                  validTime,
	"duration":              durationForm,
	"email":                 validEmail,
	"hostname":              validHost,
	"ipv4":                  validIPv4,
	"ipv6":                  validIPv6,
	"ip":                    parses(netip.ParseAddr),
	"cidr":                  parses(netip.ParsePrefix),
	"uri":                   validURI,
	"url":                   validURI,
	"uri-reference":         validReference,
	"uuid":                  uuidForm,
	"guid":                  uuidForm,
	"json-pointer":          pointerForm,
	"relative-json-pointer": relativePointerForm,
	"regex":                 parses(CompileLoosely),
	"uri-template":          templateForm,
	"byte":                  parses(base64.StdEncoding.DecodeString),
}

var (
	durationForm        = lazy.Match(`^P(\d+W|` + units("YMD") + `(T` + units("HMS") + `)?|T` + units("HMS") + `)$`)
	timeForm            = lazy.Match(`^([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$`)
	uuidForm            = lazy.Match(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)
	pointerForm         = lazy.Match(`^(/([^~/]|~[01])*)*$`)
	relativePointerForm = lazy.Match(`^(0|[1-9]\d*)(#|(/([^~/]|~[01])*)*)$`)
	templateForm        = lazy.Match("^([^\\x00- \"%<>\\\\^`{|}\\x7F-\\x{9F}]|%[0-9A-Fa-f]{2}|" + `\{[+#./;?&=,!@|]?` + variable + `(,` + variable + `)*\})*$`)
)

// variable is the form of a variable in a URI template (RFC 6570).
const variable = `([A-Za-z0-9_]|%[0-9A-Fa-f]{2})(\.?([A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*(:[1-9]\d{0,3}|\*)?`

// units returns the form of a part of a duration (RFC 3339, appendix A), which leaves out no unit
// in the middle.
func units(names string) string {
	a, b, c := names[:1], names[1:2], names[2:]
	return `(\d+` + a + `(\d+` + b + `(\d+` + c + `)?)?|\d+` + b + `(\d+` + c + `)?|\d+` + c + `)`
}

func validDate(s string) bool { _, err := time.Parse(time.DateOnly, s); return err == nil }

func validDateTime(s string) bool {
	return len(s) > 11 && (s[10] == 'T' || s[10] == 't') && validDate(s[:10]) && validTime(s[11:])
}

// validTime follows RFC 3339: a leap second is the last one of a day, in UTC.
func validTime(s string) bool {
	if !timeForm(s) || s[6:8] != "60" {
		return timeForm(s)
	}
	minutes := func(s string) int { return int(s[0]-'0')*600 + int(s[1]-'0')*60 + int(s[3]-'0')*10 + int(s[4]-'0') }
	switch offset := s[len(s)-6:]; offset[0] {
	case '+':
		return (minutes(s)-minutes(offset[1:])+24*60)%(24*60) == 24*60-1
	case '-':
		return (minutes(s)+minutes(offset[1:]))%(24*60) == 24*60-1
	}
	return s[:5] == "23:59"
}

// parses returns a function that reports whether a string can be parsed.
func parses[T any](parse func(string) (T, error)) func(string) bool {
	return func(s string) bool {
		_, err := parse(s)
		return err == nil
	}
}
