package samples

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"mockserver/internal/wording"
)

// MaxLength is the maximum length that is read.
const MaxLength = 24 * time.Hour

// Units are the units of numbers, by name.
var Units = map[string]time.Duration{"ns": time.Nanosecond, "us": time.Microsecond, "ms": time.Millisecond, "s": time.Second}

// length parses a duration with a unit, or a number in the given unit. The second result says what
// is wrong.
func length(text string, unit time.Duration) (time.Duration, string) {
	text = strings.TrimSpace(text)
	d, err := time.ParseDuration(text)
	if err != nil || d == 0 {
		f, wrong := number(text)
		switch {
		case wrong != nil:
			return 0, fmt.Sprintf("%q is not a duration; expected a number, or a duration such as 8.1ms", wording.Clip(text))
		case unit == 0:
			return 0, fmt.Sprintf("%q has no unit; expected a duration such as 8.1ms, or unit: ms next to from", wording.Clip(text))
		}
		d = time.Duration(min(f*float64(unit)+0.5, float64(2*MaxLength)))
	}
	if d < 0 || d > MaxLength {
		return 0, fmt.Sprintf("%q is outside of 0 to 24h", wording.Clip(text))
	}
	return d, ""
}

// number parses a number of 0 or more.
func number(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err == nil && (math.IsNaN(f) || math.IsInf(f, 0) || f < 0) {
		err = strconv.ErrRange
	}
	return f, err
}
