package text

import (
	"encoding/base64"
	"errors"
	"net/netip"
	"regexp/syntax"
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
	"idn-email":             validIDNEmail,
	"hostname":              hostForm,
	"ipv4":                  validIPv4,
	"ipv6":                  validIPv6,
	"ip":                    validIP,
	"cidr":                  validCIDR,
	"uri":                   validURI,
	"url":                   validIRI,
	"iri":                   validIRI,
	"uri-reference":         validReference,
	"iri-reference":         validIRIReference,
	"uuid":                  uuidForm,
	"guid":                  uuidForm,
	"json-pointer":          pointerForm,
	"relative-json-pointer": relativePointerForm,
	"regex":                 validRegex,
	"byte":                  validBase64,
}

var (
	durationForm        = lazy.Match(`^P(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?)$`)
	uuidForm            = lazy.Match(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)
	pointerForm         = lazy.Match(`^(/([^~/]|~[01])*)*$`)
	relativePointerForm = lazy.Match(`^(0|[1-9]\d*)(#|(/([^~/]|~[01])*)*)$`)
)

func validDate(s string) bool { _, err := time.Parse(time.DateOnly, s); return err == nil }

func validDateTime(s string) bool {
	_, err := time.Parse(time.RFC3339Nano, strings.ToUpper(s))
	return err == nil
}

func validTime(s string) bool {
	_, err := time.Parse("15:04:05.999999999Z07:00", strings.ToUpper(s))
	return err == nil
}

func validEmail(s string) bool { return isMailbox(s, ascii) }

func validIDNEmail(s string) bool { return isMailbox(s, international) }

func validIP(s string) bool { _, err := netip.ParseAddr(s); return err == nil }

func validCIDR(s string) bool { _, err := netip.ParsePrefix(s); return err == nil }

func validURI(s string) bool { return isURI(s, ascii) }

func validIRI(s string) bool { return isURI(s, international) }

func validReference(s string) bool { return isReference(s, ascii) }

func validIRIReference(s string) bool { return isReference(s, international) }

func validRegex(s string) bool {
	narrow, _, err := goPattern(s)
	if err == nil {
		_, err = syntax.Parse(narrow, syntax.Perl)
	}
	return err == nil || errors.Is(err, errLookAround)
}

func validBase64(s string) bool { _, err := base64.StdEncoding.DecodeString(s); return err == nil }
