package text

import (
	"strings"
	"sync"
	"unicode"

	"golang.org/x/net/idna"

	"mockserver/internal/lazy"
)

var hostForm = lazy.Match(`^([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)*[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)

// validHost reports whether a string is a host name in ASCII (RFC 1123), in which labels that begin
// with xn-- are those of an international one.
func validHost(s string) bool {
	return len(s) <= longestHost && hostForm(s) && (!strings.Contains(s, "--") || validIDNHost(s))
}

var labels = sync.OnceValue(func() *idna.Profile {
	return idna.New(idna.ValidateLabels(true), idna.CheckHyphens(true), idna.CheckJoiners(true), idna.BidiRule(), idna.StrictDomainName(true), idna.VerifyDNSLength(true))
})

// dots are the characters that separate labels.
var dots = strings.NewReplacer("\u3002", ".", "\uFF0E", ".", "\uFF61", ".")

// validIDNHost reports whether a string is an international host name (RFC 5890 to 5893).
func validIDNHost(s string) bool {
	s = dots.Replace(s)
	ascii, err := labels().ToASCII(strings.ToLower(s))
	if err != nil || strings.HasSuffix(s, ".") || len(ascii) > longestHost {
		return false
	}
	s, err = labels().ToUnicode(ascii)
	if err != nil {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if !contextFits([]rune(label)) {
			return false
		}
	}
	return true
}

// contextFits checks the characters that RFC 5892 allows only next to others, or not at all.
func contextFits(label []rune) bool {
	digits := rune(0) // the block of the Arabic digits so far
	for i, r := range label {
		before, after := rune(0), rune(0)
		if i > 0 {
			before = label[i-1]
		}
		if i+1 < len(label) {
			after = label[i+1]
		}
		fits := true
		switch {
		case r == 0xB7: // the middle dot of Catalan
			fits = before == 'l' && after == 'l'
		case r == 0x375:
			fits = unicode.Is(unicode.Greek, after)
		case r == 0x5F3 || r == 0x5F4:
			fits = unicode.Is(unicode.Hebrew, before)
		case r == 0x30FB:
			fits = strings.ContainsFunc(string(label), func(r rune) bool { return unicode.In(r, unicode.Hiragana, unicode.Katakana, unicode.Han) })
		case r >= 0x660 && r <= 0x669 || r >= 0x6F0 && r <= 0x6F9:
			fits = digits == 0 || digits == r&^0xF
			digits = r &^ 0xF
		case r == 0x640, r == 0x7FA, r == 0x302E, r == 0x302F, r >= 0x3031 && r <= 0x3035, r == 0x303B:
			fits = false
		}
		if !fits {
			return false
		}
	}
	return true
}
