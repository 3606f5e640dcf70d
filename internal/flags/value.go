package flags

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// Int parses an integer from least to most.
func Int(into *int, text string, least, most int) bool {
	n, err := strconv.Atoi(text)
	*into = n
	return err == nil && n >= least && n <= most
}

// Switch parses true or false, 1 or 0.
func Switch(into *bool, text string) bool {
	*into = text == "true" || text == "1"
	return *into || text == "false" || text == "0"
}

// units contains the units of a size. The longest names come first, since "MiB" also ends with "B".
var units = []struct {
	name  string
	bytes int64
}{
	{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30},
	{"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"b", 1}, {"", 1},
}

// SizeForm describes what Size accepts, for messages.
const SizeForm = "a number of bytes above 0, such as 1048576, 64KiB or 16MB"

// Size parses a number of bytes above 0, with or without a unit.
func Size(into *int, text string) bool {
	text = strings.ToLower(text)
	for _, unit := range units {
		number, ok := strings.CutSuffix(text, unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil || n <= 0 || n > math.MaxInt/unit.bytes {
			return false
		}
		*into = int(n * unit.bytes)
		return true
	}
	return false
}

// Duration parses a duration of 0 or more, such as 1.5s, or a number of seconds.
func Duration(into *time.Duration, text string) bool {
	d, err := time.ParseDuration(text)
	if err != nil {
		d, err = Times(text, time.Second)
	}
	*into = d
	return err == nil && d >= 0
}

// errRange is the error for a number of units that is not a valid duration.
var errRange = errors.New("duration: out of range")

// Times converts a number of units to a duration.
func Times(number string, unit time.Duration) (time.Duration, error) {
	f, err := strconv.ParseFloat(number, 64)
	nanos := math.Round(f * float64(unit))
	if err != nil || math.IsNaN(nanos) || math.Abs(nanos) >= math.MaxInt64 {
		return 0, errRange
	}
	return time.Duration(nanos), nil
}
