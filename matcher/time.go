package matcher

import "time"

// ParseTime returns the time that a text in ISO 8601 says: a day of the calendar, or a
// day and a time as parameters of type date take them, with a dot before the fraction and
// colons. Without an offset it is UTC, as what it returns is.
func ParseTime(b []byte) (time.Time, bool) {
	if !shaped(b, "0000-00-00") {
		return time.Time{}, false
	}
	month, number := two(b[5:]), two(b[8:])
	day := time.Date(two(b)*100+two(b[2:]), time.Month(month), number, 0, 0, 0, 0, time.UTC)
	if day.Month() != time.Month(month) || day.Day() != number {
		return time.Time{}, false // it is not in the calendar
	}
	if len(b) == len("0000-00-00") {
		return day, true
	}
	clock, ok := parseClock(b[10:])
	return day.Add(clock), ok
}

// shaped reports whether b begins like layout: a digit at each 0, and every other
// byte as it is.
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

// two is the number that the two digits b begins with are.
func two(b []byte) int { return int(b[0]-'0')*10 + int(b[1]-'0') }

// parseClock returns how long after the midnight of UTC a time is: THH:MM, then :SS with
// a fraction or without, or nothing, then an offset or nothing.
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

// fraction is the part of a second that digits after a dot say, to the nanosecond.
func fraction(digits []byte) time.Duration {
	part := time.Duration(0)
	for i, unit := 0, time.Second/10; i < len(digits) && unit > 0; i, unit = i+1, unit/10 {
		part += time.Duration(digits[i]-'0') * unit
	}
	return part
}

// isMinute reports whether b begins with HH:MM.
func isMinute(b []byte) bool { return shaped(b, "00:00") && two(b) <= 23 && two(b[3:]) <= 59 }

// minutes is the HH:MM that b begins with.
func minutes(b []byte) time.Duration {
	return time.Duration(two(b))*time.Hour + time.Duration(two(b[3:]))*time.Minute
}

// parseOffset returns how far from UTC Z, +HH:MM, -HH:MM or nothing is.
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
