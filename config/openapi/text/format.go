package text

import (
	"encoding/base64"
	"errors"
	"net/netip"
	"regexp"
	"regexp/syntax"
	"strings"
	"time"
)

var (
	durationForm        = regexp.MustCompile(`^P(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?)$`)
	hostForm            = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)*[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.?$`)
	uuidForm            = regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)
	pointerForm         = regexp.MustCompile(`^(/([^~/]|~[01])*)*$`)
	relativePointerForm = regexp.MustCompile(`^(0|[1-9]\d*)(#|(/([^~/]|~[01])*)*)$`)
)

func ValidDate(s string) bool { _, err := time.Parse(time.DateOnly, s); return err == nil }

func ValidDateTime(s string) bool {
	_, err := time.Parse(time.RFC3339Nano, strings.ToUpper(s))
	return err == nil
}

func ValidTime(s string) bool {
	_, err := time.Parse("15:04:05.999999999Z07:00", strings.ToUpper(s))
	return err == nil
}

func ValidEmail(s string) bool { return isMailbox(s, ascii) }

func ValidIDNEmail(s string) bool { return isMailbox(s, international) }

func ValidIP(s string) bool { _, err := netip.ParseAddr(s); return err == nil }

func ValidCIDR(s string) bool { _, err := netip.ParsePrefix(s); return err == nil }

func ValidURI(s string) bool { return isURI(s, ascii) }

func ValidIRI(s string) bool { return isURI(s, international) }

func ValidReference(s string) bool { return isReference(s, ascii) }

func ValidIRIReference(s string) bool { return isReference(s, international) }

func ValidRegex(s string) bool {
	narrow, _, err := goPattern(s)
	if err == nil {
		_, err = syntax.Parse(narrow, syntax.Perl)
	}
	return err == nil || errors.Is(err, errLookAround)
}

func ValidBase64(s string) bool { _, err := base64.StdEncoding.DecodeString(s); return err == nil }

func ValidDuration(s string) bool { return durationForm.MatchString(s) }

func ValidHost(s string) bool { return hostForm.MatchString(s) }

func ValidUUID(s string) bool { return uuidForm.MatchString(s) }

func ValidPointer(s string) bool { return pointerForm.MatchString(s) }

func ValidRelativePointer(s string) bool { return relativePointerForm.MatchString(s) }
