package matcher

import (
	"bytes"
	"strings"
	"time"
)

// ParseTime parses a time in ISO 8601: a calendar day, or a day and a time in the form accepted by
// parameters of type date, with colons and a dot before the fraction. A time without an offset is
// in UTC. The result is in UTC.
func ParseTime(b []byte) (time.Time, bool) {
	const day, minute = "2006-01-02", "2006-01-02T15:04"
	if len(b) < len(day) || b[4] != '-' || b[7] != '-' { // most texts that are no time; the library allocates its errors
		return time.Time{}, false
	}
	layout := day
	if len(b) > len(day) {
		seconds := len(b) > len(minute) && b[len(minute)] == ':'
		offset := b[len(b)-1] == 'Z' || len(b) > len("+00:00") && strings.IndexByte("+-", b[len(b)-len("+00:00")]) >= 0
		switch layout = minute; {
		case seconds && offset:
			layout = "2006-01-02T15:04:05Z07:00"
		case seconds:
			layout = "2006-01-02T15:04:05"
		case offset:
			layout = "2006-01-02T15:04Z07:00"
		}
		// The library also accepts hours of one digit, a comma before the fraction, and 24 hours.
		if len(b) < len(minute) || b[len("2006-01-02T15")] != ':' || bytes.IndexByte(b, ',') >= 0 || offset && bytes.HasSuffix(b, []byte("24:00")) {
			return time.Time{}, false
		}
	}
	t, err := time.Parse(layout, string(b))
	return t.UTC(), err == nil
}

func isDigit(c byte) bool { return c-'0' < 10 }
