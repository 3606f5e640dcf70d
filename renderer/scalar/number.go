package scalar

import (
	"bytes"
	"cmp"
	"math"
	"math/big"
	"strconv"

	"mockserver/internal/json"
)

// IsNumeric reports whether conditions and arithmetic treat a text as a number: it is a JSON
// number, or has a plus sign or leading zeros, as parameters of type int and float may have.
func IsNumeric(b []byte) bool {
	if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
		b = b[1:]
	}
	for len(b) > 1 && b[0] == '0' && '0' <= b[1] && b[1] <= '9' {
		b = b[1:]
	}
	return len(b) > 0 && b[0] != '-' && json.IsNumber(b)
}

// Decimal is a number split into its parts. Its value is 0.DIGITS × 10^exp, with the digits of
// whole and fraction without leading zeros. Comparing digit by digit distinguishes ids that are too
// long for a float64.
type Decimal struct {
	negative bool
	whole    []byte // digits before the point
	fraction []byte // digits after it
	exp      int64  // decimal exponent of the first non-zero digit; without meaning for zero
	zero     bool
}

// maxExponent limits the exponent that is read; beyond it every number is practically infinite, or
// zero.
const maxExponent = 1 << 40

func parseDecimal(b []byte) Decimal {
	var d Decimal
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		d.negative, b = b[0] == '-', b[1:]
	}
	if e := bytes.IndexAny(b, "eE"); e >= 0 {
		exp, err := strconv.ParseInt(string(b[e+1:]), 10, 64)
		if err != nil || exp > maxExponent || exp < -maxExponent {
			exp = maxExponent
			if b[e+1] == '-' {
				exp = -maxExponent
			}
		}
		d.exp, b = exp, b[:e]
	}
	d.whole = b
	if point := bytes.IndexByte(b, '.'); point >= 0 {
		d.whole, d.fraction = b[:point], b[point+1:]
	}
	d.whole = bytes.TrimLeft(d.whole, "0")
	d.exp += int64(len(d.whole))
	if len(d.whole) == 0 {
		trimmed := bytes.TrimLeft(d.fraction, "0")
		d.exp -= int64(len(d.fraction) - len(trimmed))
		d.fraction = trimmed
		d.zero = len(trimmed) == 0
	}
	return d
}

// Canonical is like parseDecimal, but omits trailing zeros, so that equal numbers have the same
// number of digits.
func Canonical(b []byte) Decimal {
	d := parseDecimal(b)
	d.fraction = bytes.TrimRight(d.fraction, "0")
	if len(d.fraction) == 0 {
		d.whole = bytes.TrimRight(d.whole, "0")
	}
	return d
}

// AppendPlain appends a number in the one form that all its notations share: without an exponent or,
// if that would be longer than most, with one and without a point.
func AppendPlain(dst, number []byte, most int) []byte {
	d := Canonical(number)
	if d.zero {
		return append(dst, '0')
	}
	if d.negative {
		dst = append(dst, '-')
	}
	n := int64(len(d.whole) + len(d.fraction))
	length := max(d.exp, n+1)
	if d.exp <= 0 {
		length = n - d.exp + 2
	}
	if length > int64(most) {
		dst = append(append(dst, d.whole...), d.fraction...)
		return strconv.AppendInt(append(dst, 'e'), d.exp-n, 10)
	}
	if d.exp <= 0 {
		dst = append(dst, "0."...)
	}
	for i := min(d.exp, 0); i < max(n, d.exp); i++ {
		if i == d.exp && i > 0 {
			dst = append(dst, '.')
		}
		if i < 0 {
			dst = append(dst, '0')
		} else {
			dst = append(dst, d.digit(int(i)))
		}
	}
	return dst
}

// Same reports whether two canonical numbers are equal. It reads no digits if their numbers of
// digits differ.
func (d *Decimal) Same(o *Decimal) bool {
	return d.zero && o.zero || d.sign() == o.sign() && len(d.whole)+len(d.fraction) == len(o.whole)+len(o.fraction) && compareMagnitude(d, o) == 0
}

// digit returns the i-th significant digit, or '0' after the last one.
func (d *Decimal) digit(i int) byte {
	if i < len(d.whole) {
		return d.whole[i]
	}
	if i -= len(d.whole); i < len(d.fraction) {
		return d.fraction[i]
	}
	return '0'
}

// Compare compares two JSON numbers exactly, whatever their length.
func Compare(x, y []byte) int {
	a, b := parseDecimal(x), parseDecimal(y)
	if a.zero || a.sign() != b.sign() {
		return a.sign() - b.sign()
	}
	return a.sign() * compareMagnitude(&a, &b)
}

func (d *Decimal) sign() int {
	switch {
	case d.zero:
		return 0
	case d.negative:
		return -1
	}
	return 1
}

func compareMagnitude(a, b *Decimal) int {
	if a.exp != b.exp {
		return cmp.Compare(a.exp, b.exp)
	}
	for i := range max(len(a.whole)+len(a.fraction), len(b.whole)+len(b.fraction)) {
		if x, y := a.digit(i), b.digit(i); x != y {
			return int(x) - int(y)
		}
	}
	return 0
}

// IsZero reports whether a number is 0, in any notation.
func IsZero(b []byte) bool {
	d := parseDecimal(b)
	return d.zero
}

// Arithmetic appends x op y, where op is '+', '-' or '*' and both are JSON
// numbers. Decimals are exact (0.1 + 0.2 is 0.3); numbers with an exponent, and very long ones, are
// calculated as float64. ok is false if the result is not a JSON number.
func Arithmetic(dst []byte, x []byte, op byte, y []byte) (_ []byte, ok bool) {
	a, errA := strconv.ParseInt(string(x), 10, 64)
	b, errB := strconv.ParseInt(string(y), 10, 64)
	if errA == nil && errB == nil {
		if n, fits := arithmetic(a, op, b); fits {
			return strconv.AppendInt(dst, n, 10), true
		}
	}
	if bytes.ContainsAny(x, "eE") || bytes.ContainsAny(y, "eE") || len(x)+len(y) > 1000 {
		return appendFloat(dst, x, op, y)
	}
	return appendExact(dst, x, op, y)
}

// arithmetic works on int64; fits is false on overflow.
func arithmetic(a int64, op byte, b int64) (n int64, fits bool) {
	const half = math.MaxInt32
	switch op {
	case '+', '-':
		if op == '-' {
			b = -b
		}
		n = a + b
		return n, b != math.MinInt64 && (n > a) == (b > 0)
	default:
		return a * b, -half <= a && a <= half && -half <= b && b <= half
	}
}

func appendExact(dst []byte, x []byte, op byte, y []byte) ([]byte, bool) {
	a, okA := new(big.Rat).SetString(string(x))
	b, okB := new(big.Rat).SetString(string(y))
	if !okA || !okB {
		return dst, false
	}
	scale := max(decimals(x), decimals(y))
	switch op {
	case '+':
		a.Add(a, b)
	case '-':
		a.Sub(a, b)
	default:
		a.Mul(a, b)
		scale = decimals(x) + decimals(y)
	}
	return append(dst, a.FloatString(scale)...), true
}

// decimals returns the number of digits after the point.
func decimals(b []byte) int {
	if point := bytes.IndexByte(b, '.'); point >= 0 {
		return len(b) - point - 1
	}
	return 0
}

func appendFloat(dst []byte, x []byte, op byte, y []byte) ([]byte, bool) {
	a, errA := strconv.ParseFloat(string(x), 64)
	b, errB := strconv.ParseFloat(string(y), 64)
	if errA != nil || errB != nil {
		return dst, false
	}
	switch op {
	case '+':
		a += b
	case '-':
		a -= b
	default:
		a *= b
	}
	if math.IsInf(a, 0) || math.IsNaN(a) {
		return dst, false
	}
	return strconv.AppendFloat(dst, a, 'g', -1, 64), true
}

// AppendOrdered appends a number in a form without zero bytes that sorts, byte by byte, exactly as
// the numbers do; equal numbers have equal forms. Four digits and their sign take four bytes.
func AppendOrdered(dst, number []byte) []byte {
	d := Canonical(number)
	if d.zero {
		return append(dst, 2)
	}
	start := len(dst)
	dst = appendExponent(append(dst, 3), d.exp)
	for i := 0; i < len(d.whole)+len(d.fraction); i += 2 {
		dst = append(dst, 10*(d.digit(i)-'0')+d.digit(i+1)-'0'+1)
	}
	if !d.negative {
		return dst
	}
	dst[start] = 1
	for i := start + 1; i < len(dst); i++ {
		dst[i] = 0xFF - dst[i]
	}
	return append(dst, 0xFF) // if two negative numbers begin with the same digits, the longer one is less
}

// appendExponent appends an exponent, in one byte if it is a common one.
func appendExponent(dst []byte, exp int64) []byte {
	const usual = 0x60
	if -usual < exp && exp < usual {
		return append(dst, byte(0x80+exp))
	}
	mark := byte(0xFE)
	if exp < 0 {
		mark = 2
	}
	dst = append(dst, mark)
	shifted := uint64(exp + 1<<48)
	for shift := 48; shift >= 0; shift -= 6 {
		dst = append(dst, 0x80|byte(shifted>>shift)&0x3F)
	}
	return dst
}
