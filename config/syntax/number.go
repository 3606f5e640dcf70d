package syntax

import (
	"math/big"
	"strings"
)

// IsJSONNumber reports whether a literal is a number by the grammar of RFC 8259: no blanks, no
// leading zeros, digits on both sides of the point. It does not allocate.
func IsJSONNumber[T string | []byte](s T) bool {
	i := 0
	if i < len(s) && s[i] == '-' {
		i++
	}
	whole := pastDigits(s, i)
	if whole == i || whole > i+1 && s[i] == '0' {
		return false
	}
	i = whole
	if i < len(s) && s[i] == '.' {
		end := pastDigits(s, i+1)
		if end == i+1 {
			return false
		}
		i = end
	}
	if i == len(s) {
		return true
	}
	if s[i] != 'e' && s[i] != 'E' {
		return false
	}
	i++
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	return i < len(s) && pastDigits(s, i) == len(s)
}

// pastDigits returns where the decimal digits in s that start at i end.
func pastDigits[T string | []byte](s T, i int) int {
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return i
}

// jsonNumber returns a YAML number in JSON: the literal itself if JSON allows it, otherwise its
// value (0x1F is 31, .5 is 0.5, 1_000 is 1000). A leading zero has no meaning, as in YAML 1.2. It
// returns "" if JSON cannot represent the number.
func jsonNumber(literal string) string {
	if IsJSONNumber(literal) {
		return literal
	}
	s, isNegative := strings.CutPrefix(strings.ReplaceAll(literal, "_", ""), "-")
	if !isNegative {
		s = strings.TrimPrefix(s, "+")
	}
	if len(s) > 2 && s[0] == '0' && strings.IndexByte("xXoObB", s[1]) >= 0 {
		n, ok := new(big.Int).SetString(s, 0)
		if !ok {
			return ""
		}
		s = n.String()
	} else {
		s = plainDecimal(s)
	}
	if isNegative {
		s = "-" + s
	}
	if !IsJSONNumber(s) {
		return ""
	}
	return s
}

// plainDecimal adds the zeros that JSON requires to a decimal literal, and removes the zeros and the
// point that it forbids.
func plainDecimal(s string) string {
	if pastDigits(strings.TrimPrefix(s, "."), 0) == 0 {
		return ""
	}
	s = strings.TrimLeft(s, "0")
	if pastDigits(s, 0) == 0 {
		s = "0" + s
	}
	if point := pastDigits(s, 0); strings.HasPrefix(s[point:], ".") && pastDigits(s, point+1) == point+1 {
		s = s[:point] + s[point+1:]
	}
	return s
}
