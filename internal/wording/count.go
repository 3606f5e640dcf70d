package wording

import (
	"fmt"
	"strconv"
	"strings"
)

// Count returns a number of things as words for a message: "1 endpoint", "3 endpoints", "3 queries".
// one is the singular.
func Count[N int | int64](n N, one string) string {
	text := strconv.FormatInt(int64(n), 10) + " " + one
	if n == 1 {
		return text
	}
	if stem, ok := strings.CutSuffix(text, "y"); ok && !strings.ContainsAny(stem[len(stem)-1:], "aeou") {
		return stem + "ies"
	}
	return text + "s"
}

// Thousands returns a number in groups of three digits: "18,840".
func Thousands[N int | uint64](n N) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// Size returns a number of bytes as words for a message: "8 MiB", "1500 bytes".
func Size[N int | int64](n N) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return strconv.FormatInt(int64(n)>>20, 10) + " MiB"
	}
	return Count(n, "byte")
}
