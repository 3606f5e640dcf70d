package address

import (
	"fmt"
	"strings"

	"mockserver/internal/wording"
)

// NameForm describes the form of a declared host, for messages.
const NameForm = "a name such as api.example.com or *.example.com"

// NamePattern is a regular expression in the common subset of ECMAScript and RE2. It matches
// everything that NameFault accepts, in any case, and little else.
const (
	NamePattern  = `^(\*\.)?` + labelPattern + `(\.` + labelPattern + `)*$`
	labelPattern = `[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?`
)

// NameFault returns what is wrong with a declared host, which must be in lower case; "" if it is
// valid.
func NameFault(host string) string {
	const accepted = "expected " + NameForm
	shown := wording.Clip(host)
	name := strings.TrimPrefix(host, "*.")
	switch {
	case host == "*":
		return "* alone is not a host; leave host out to answer for any"
	case strings.Contains(host, "://"):
		return fmt.Sprintf("%q is a URL; %s", shown, accepted)
	case strings.Contains(host, ":"):
		return fmt.Sprintf("%q has a port, which a host is compared without; leave the port out", shown)
	case host != strings.ToLower(host):
		return fmt.Sprintf("%q is not in lower case", shown)
	case strings.Contains(name, "*"):
		return fmt.Sprintf("%q has a * that is not at the beginning; %s", shown, accepted)
	case len(name) > 253:
		return "the host is longer than 253 characters; " + accepted
	}
	for label := range strings.SplitSeq(name, ".") {
		if what := labelFault(label); what != "" {
			return fmt.Sprintf("%q %s; %s", shown, what, accepted)
		}
	}
	return ""
}

// labelFault checks the part of a host between two dots.
func labelFault(label string) string {
	switch {
	case label == "":
		return "has an empty part between two dots, or at an end"
	case len(label) > 63:
		return "has a part longer than 63 characters"
	case label[0] == '-' || label[len(label)-1] == '-':
		return "has a part that begins or ends with -"
	}
	for _, r := range label {
		if r >= 0x80 {
			return "contains non-ASCII letters, which requests send in their xn-- form"
		}
		if b := byte(r); !IsLetterOrDigit(b) && b != '-' && b != '_' {
			return fmt.Sprintf("contains %q", r)
		}
	}
	return ""
}

// IsLetterOrDigit reports whether a byte is an ASCII letter or digit.
func IsLetterOrDigit(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' || '0' <= b && b <= '9' }
