package syntax

import (
	"cmp"
	"math/big"
	"regexp"
	"strings"

	"mockserver/internal/json"
)

// jsonNumber returns a YAML number in JSON: the literal itself if JSON allows it, otherwise its
// value (0x1F is 31, .5 is 0.5, 1_000 is 1000). A leading zero has no meaning, as in YAML 1.2. It
// returns "" if JSON cannot represent the number.
func jsonNumber(literal string) string {
	if json.IsNumber(literal) {
		return literal
	}
	s, isNegative := strings.CutPrefix(strings.ReplaceAll(literal, "_", ""), "-")
	if !isNegative {
		s = strings.TrimPrefix(s, "+")
	}
	m := decimal.FindStringSubmatch(s)
	switch {
	case len(s) > 2 && s[0] == '0' && strings.IndexByte("xXoObB", s[1]) >= 0:
		n, ok := new(big.Int).SetString(s, 0)
		if !ok {
			return ""
		}
		s = n.String()
	case m == nil || m[1]+m[2]+strings.TrimPrefix(m[3], ".") == "":
		return ""
	default: // with the zeros that JSON requires, and without the zeros and the point that it forbids
		s = cmp.Or(m[2], "0") + strings.TrimSuffix(m[3], ".") + m[4]
	}
	if isNegative {
		s = "-" + s
	}
	if !json.IsNumber(s) {
		return ""
	}
	return s
}

// decimal matches a decimal literal of YAML: its zeros, its other digits, its fraction, its exponent.
var decimal = regexp.MustCompile(`^(0*)([0-9]*)(\.[0-9]*)?([eE].*)?$`)
