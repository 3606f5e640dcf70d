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
	s := strings.ReplaceAll(literal, "_", "")
	sign := ""
	switch {
	case strings.HasPrefix(s, "-"):
		sign, s = "-", s[1:]
	case strings.HasPrefix(s, "+"):
		s = s[1:]
	}
	if len(s) > 2 && s[0] == '0' {
		if base := radix(s[1]); base != 0 {
			n, ok := new(big.Int).SetString(s[2:], base)
			if !ok || n.Sign() < 0 {
				return ""
			}
			return sign + n.String()
		}
	}
	if s = sign + plainDecimal(s); IsJSONNumber(s) {
		return s
	}
	return ""
}

func radix(letter byte) int {
	switch letter {
	case 'x', 'X':
		return 16
	case 'o', 'O':
		return 8
	case 'b', 'B':
		return 2
	}
	return 0
}

// plainDecimal adds the zeros that JSON requires to a decimal literal, and removes those it
// forbids.
func plainDecimal(s string) string {
	whole := pastDigits(s, 0)
	head, rest := strings.TrimLeft(s[:whole], "0"), s[whole:]
	if rest, ok := strings.CutPrefix(rest, "."); ok {
		n := pastDigits(rest, 0)
		if whole == 0 && n == 0 {
			return ""
		}
		if head == "" {
			head = "0"
		}
		if n == 0 {
			return head + rest
		}
		return head + "." + rest
	}
	if head == "" && whole > 0 {
		head = "0"
	}
	return head + rest
}
