package language

import (
	"regexp"
	"strings"
)

var dateParts = regexp.MustCompile(`'[^']*'|yyyy|yy|MMMM|MMM|MM|dd|d|HH|hh|mm|ss|SSS|EEEE|EEE|a|Z|[A-Za-z]+|[^A-Za-z']+`)

var conversions = map[string]string{"yyyy": "%Y", "yy": "%y", "MMMM": "%B", "MMM": "%b", "MM": "%m", "dd": "%d", "HH": "%H", "hh": "%I", "mm": "%M",
	"ss": "%S", "SSS": "%L", "EEEE": "%A", "EEE": "%a", "a": "%p", "Z": "%z"}

// JavaDate returns the layout of a date format of Java; epoch and unix are formats that WireMock
// adds.
func JavaDate(format string) (layout string, known bool) {
	switch format {
	case "epoch":
		return "unix-ms", true
	case "unix":
		return "unix", true
	}
	var b strings.Builder
	for _, part := range dateParts.FindAllString(format, -1) {
		switch conversion, ok := conversions[part]; {
		case ok:
			b.WriteString(conversion)
		case part == "''":
			b.WriteByte('\'')
		case part[0] == '\'':
			b.WriteString(strings.ReplaceAll(part[1:len(part)-1], "%", "%%"))
		case part[0] >= 'A' && part[0] <= 'Z' || part[0] >= 'a' && part[0] <= 'z':
			return "", false
		default:
			b.WriteString(strings.ReplaceAll(part, "%", "%%"))
		}
	}
	return b.String(), strings.Contains(b.String(), "%")
}

var offset = regexp.MustCompile(`^\s*([+-]?)\s*([0-9]{1,5})\s+(second|minute|hour|day)s?\s*$`)

// Moved returns the expression of a time that is moved by an offset such as "-3 days"; ok is false
// if the language cannot express the offset.
func Moved(expression, by string) (moved string, ok bool) {
	m := offset.FindStringSubmatch(by)
	if m == nil {
		return expression, false
	}
	filter := "|add:"
	if m[1] == "-" {
		filter = "|sub:"
	}
	return expression + filter + Quote(m[2]+m[3][:1]), true
}
