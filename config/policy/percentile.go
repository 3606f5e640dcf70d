package policy

import (
	"regexp"
	"strconv"
	"strings"

	"mockserver/internal/address"
)

// percentilePattern matches the names of percentiles, in the syntax that ECMAScript and RE2 have in
// common: p50, p99.9, up to six digits after the point.
const percentilePattern = `^p([1-9][0-9]?(\.[0-9]{1,6})?|0\.0{0,5}[1-9][0-9]{0,5}|100)$`

var percentileName = regexp.MustCompile(percentilePattern)

// beginsPercentile reports whether a key looks like a percentile: p and a digit.
func beginsPercentile(name string) bool {
	return len(name) > 1 && name[0] == 'p' && address.IsDigit(name[1])
}

// rankOf returns the rank in the name of a percentile.
func rankOf(name string) (rank float64, ok bool) {
	if !percentileName.MatchString(name) {
		return 0, false
	}
	rank, err := strconv.ParseFloat(name[1:], 64)
	return rank, err == nil
}

// nearPercentile returns the percentile that another key, such as P99 or 95th, seems to mean; ""
// for none.
func nearPercentile(name string) string {
	const longest = 16
	if len(name) > longest {
		return ""
	}
	number := "p" + strings.Map(func(r rune) rune {
		if r == '.' || '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, strings.ReplaceAll(name, ",", "."))
	if _, ok := rankOf(number); !ok {
		return ""
	}
	return number
}
