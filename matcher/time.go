package matcher

import "time"

// ParseTime parses a time in ISO 8601: a calendar day, or a day and a time in the form accepted by
// parameters of type date, with colons and a dot before the fraction. A time without an offset is
// in UTC. The result is in UTC.
func ParseTime(b []byte) (time.Time, bool) {
	if !shaped(b, "0000-00-00") {
		return time.Time{}, false
	}
	month, number := two(b[5:]), two(b[8:])
	day := time.Date(two(b)*100+two(b[2:]), time.Month(month), number, 0, 0, 0, 0, time.UTC)
	if day.Month() != time.Month(month) || day.Day() != number {
		return time.Time{}, false // not a calendar day
	}
	if len(b) == len("0000-00-00") {
		return day, true
	}
	clock, ok := parseClock(b[10:])
	return day.Add(clock), ok
}

// shaped reports whether b begins like layout: with a digit for each 0, and the same byte for
// everything else.
func shaped(b []byte, layout string) bool {
	if len(b) < len(layout) {
		return false
	}
	for i := range len(layout) {
		if layout[i] == '0' && !isDigit(b[i]) || layout[i] != '0' && b[i] != layout[i] {
			return false
		}
	}
	return true
}

// two returns the value of the two digits at the beginning of b.
func two(b []byte) int { return int(b[0]-'0')*10 + int(b[1]-'0') }

func isDigit(c byte) bool { return c-'0' < 10 }

// leadingDigits returns the number of digits at the beginning of b.
func leadingDigits(b []byte) int {
	n := 0
	for n < len(b) && isDigit(b[n]) {
		n++
	}
	return n
}

// parseClock returns how long after midnight UTC a time is: THH:MM, optionally followed by :SS with
// or without a fraction, optionally followed by an offset.
func parseClock(b []byte) (time.Duration, bool) {
	if len(b) == 0 || b[0] != 'T' || !isMinute(b[1:]) {
		return 0, false
	}
	clock := minutes(b[1:])
	b = b[len("T00:00"):]
	if shaped(b, ":00") {
		if two(b[1:]) > 59 {
			return 0, false
		}
		clock += time.Duration(two(b[1:])) * time.Second
		b = b[len(":00"):]
		if len(b) > 0 && b[0] == '.' {
			n := leadingDigits(b[1:])
			if n == 0 {
				return 0, false
			}
			clock += fraction(b[1 : 1+n])
			b = b[1+n:]
		}
	}
	offset, ok := parseOffset(b)
	return clock - offset, ok
}

// fraction returns the fraction of a second given by the digits after a dot, to the nanosecond.
func fraction(digits []byte) time.Duration {
	part := time.Duration(0)
	for i, unit := 0, time.Second/10; i < len(digits) && unit > 0; i, unit = i+1, unit/10 {
		part += time.Duration(digits[i]-'0') * unit
	}
	return part
}

// isMinute reports whether b begins with HH:MM.
func isMinute(b []byte) bool { return shaped(b, "00:00") && two(b) <= 23 && two(b[3:]) <= 59 }

// minutes returns the duration of the HH:MM at the beginning of b.
func minutes(b []byte) time.Duration {
	return time.Duration(two(b))*time.Hour + time.Duration(two(b[3:]))*time.Minute
}

// parseOffset returns the offset from UTC of Z, +HH:MM, -HH:MM or nothing.
func parseOffset(b []byte) (time.Duration, bool) {
	switch {
	case len(b) == 0, string(b) == "Z":
		return 0, true
	case len(b) != len("+00:00") || !isMinute(b[1:]):
		return 0, false
	case b[0] == '-':
		return -minutes(b[1:]), true
	}
	return minutes(b[1:]), b[0] == '+'
}
