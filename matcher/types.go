package matcher

// paramType is what texts a parameter takes.
type paramType uint8

const (
	anyText paramType = iota
	intType
	floatType
	boolType
	uuidType
	dateType
	mixedType // of a segment that parameters are a part of, see mixed
)

var typeNames = map[string]paramType{
	"string": anyText, "int": intType, "float": floatType, "double": floatType,
	"bool": boolType, "boolean": boolType, "uuid": uuidType, "date": dateType,
}

// typeOrder is the names of the types as messages list them.
var typeOrder = []string{"string", "int", "float", "double", "bool", "boolean", "uuid", "date"}

// described names a type in a sentence.
func (t paramType) described() string {
	return [...]string{"a text", "an integer", "a number", "true or false", "a UUID", "an ISO 8601 date", "of that form"}[t]
}

// accepts tells whether a parameter of type t takes the decoded text b.
func (t paramType) accepts(b []byte) bool {
	switch t {
	case intType:
		return isInt(b)
	case floatType:
		return isFloat(b)
	case boolType:
		return string(b) == "true" || string(b) == "false"
	case uuidType:
		return isUUID(b)
	case dateType:
		return isDate(b)
	}
	return true
}

// covers tells whether t takes every text that other takes.
func (t paramType) covers(other paramType) bool {
	return t == other || t == anyText || t == floatType && other == intType
}

func unsigned(b []byte) []byte {
	if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
		return b[1:]
	}
	return b
}

// leadingDigits is how many digits b begins with.
func leadingDigits(b []byte) int {
	n := 0
	for n < len(b) && isDigit(b[n]) {
		n++
	}
	return n
}

func isInt(b []byte) bool {
	b = unsigned(b)
	return len(b) > 0 && leadingDigits(b) == len(b)
}

func isFloat(b []byte) bool {
	b = unsigned(b)
	n := leadingDigits(b)
	if n == 0 {
		return false
	}
	b = b[n:]
	if len(b) > 0 && b[0] == '.' {
		if n = leadingDigits(b[1:]); n == 0 {
			return false
		}
		b = b[1+n:]
	}
	if len(b) > 0 && lower(b[0]) == 'e' {
		return isInt(b[1:])
	}
	return len(b) == 0
}

func isUUID(b []byte) bool {
	if len(b) != 36 {
		return false
	}
	for i, c := range b {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if unhex(c) > 15 {
				return false
			}
		}
	}
	return true
}

// isDate takes a calendar date, or a date and time as ISO 8601 writes it with
// its separators.
func isDate(b []byte) bool {
	if !shaped(b, "0000-00-00") || !isDay(b) {
		return false
	}
	return len(b) == 10 || b[10] == 'T' && isTime(b[11:])
}

// shaped tells whether b begins like layout: a digit at each 0, and every other
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

// monthDays is the days of each month of a year that is not a leap year.
var monthDays = [...]int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// isDay tells whether the YYYY-MM-DD that b begins with is in the calendar.
func isDay(b []byte) bool {
	century, year, month, day := two(b), two(b[2:]), two(b[5:]), two(b[8:])
	if month < 1 || month > 12 {
		return false
	}
	last := monthDays[month-1]
	leap := year%4 == 0 && (year != 0 || century%4 == 0)
	if month == 2 && leap {
		last++
	}
	return day >= 1 && day <= last
}

// isTime takes HH:MM, then :SS with a fraction or without, or nothing, then a
// zone or nothing.
func isTime(b []byte) bool {
	if !isMinute(b) {
		return false
	}
	b = b[5:]
	if !shaped(b, ":00") {
		return isZone(b)
	}
	if two(b[1:]) > 59 {
		return false
	}
	b = b[3:]
	if len(b) > 0 && b[0] == '.' {
		n := leadingDigits(b[1:])
		if n == 0 {
			return false
		}
		b = b[1+n:]
	}
	return isZone(b)
}

// isMinute tells whether b begins with HH:MM.
func isMinute(b []byte) bool { return shaped(b, "00:00") && two(b) <= 23 && two(b[3:]) <= 59 }

// isZone takes Z, an offset, or nothing for local time.
func isZone(b []byte) bool {
	switch len(b) {
	case 0:
		return true
	case 1:
		return b[0] == 'Z'
	case 6:
		return (b[0] == '+' || b[0] == '-') && isMinute(b[1:])
	}
	return false
}
