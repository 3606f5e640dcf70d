package config

import (
	"math/big"
	"strings"
)

// isJSONNumber tells whether a literal is a number of JSON's grammar.
func isJSONNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	whole := digits(s)
	if whole == 0 || whole > 1 && s[0] == '0' {
		return false
	}
	s = s[whole:]
	if strings.HasPrefix(s, ".") {
		n := digits(s[1:])
		if n == 0 {
			return false
		}
		s = s[1+n:]
	}
	if s == "" {
		return true
	}
	if s[0] != 'e' && s[0] != 'E' {
		return false
	}
	s = s[1:]
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	return s != "" && digits(s) == len(s)
}

// digits counts the decimal digits that s begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}

// jsonNumber returns a YAML number as JSON writes it: the literal itself where
// JSON has it, else its value (0x1F is 31, .5 is 0.5, 1_000 is 1000). A leading
// zero counts nothing, as in YAML 1.2. "" is what JSON cannot say.
func jsonNumber(literal string) string {
	if isJSONNumber(literal) {
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
	if s = sign + plainDecimal(s); isJSONNumber(s) {
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

// plainDecimal gives a decimal literal the zeros that JSON wants, and takes
// those away that it forbids.
func plainDecimal(s string) string {
	whole := digits(s)
	head, rest := strings.TrimLeft(s[:whole], "0"), s[whole:]
	if rest, ok := strings.CutPrefix(rest, "."); ok {
		n := digits(rest)
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
