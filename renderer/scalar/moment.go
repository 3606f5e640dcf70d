// Package scalar reads, compares and writes numbers, durations, times and time zones as texts.
package scalar

import (
	"bytes"
	"maps"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	_ "time/tzdata" // zones are also available if the system has none, as in the container image
)

// maxDuration limits durations to about two hundred years, so that calculations with times do not
// overflow.
const maxDuration = 200 * 365 * 24 * time.Hour

// ParseDuration reads "1h30m", "250ms", "7d", "2w", or a number of seconds.
func ParseDuration(b []byte) (time.Duration, bool) {
	units := map[byte]time.Duration{'d': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	unit, count := time.Second, b
	if n := len(b); n > 0 && units[b[n-1]] != 0 {
		unit, count = units[b[n-1]], b[:n-1]
	}
	if !IsNumeric(count) {
		d, err := time.ParseDuration(string(b))
		return d, err == nil && d.Abs() <= maxDuration
	}
	n, err := strconv.ParseFloat(string(count), 64)
	d := n * float64(unit)
	if err != nil || d > float64(maxDuration) || d < -float64(maxDuration) {
		return 0, false
	}
	return time.Duration(d), true
}

// namedLayouts contains the layouts that have a name.
var namedLayouts = map[string]string{
	"iso":     "2006-01-02T15:04:05.000Z07:00",
	"rfc3339": time.RFC3339,
	"http":    "Mon, 02 Jan 2006 15:04:05 GMT",
	"date":    time.DateOnly,
	"time":    time.TimeOnly,
}

// millis stands for the milliseconds of a layout with %: in Go's layouts they can only follow a
// dot.
const millis = "\x00ms"

// strftime contains the conversions of a layout with %.
var strftime = map[byte]string{
	'Y': "2006", 'y': "06", 'm': "01", 'd': "02", 'e': "_2", 'H': "15", 'I': "03", 'M': "04", 'S': "05",
	'L': millis, 'p': "PM", 'B': "January", 'b': "Jan", 'A': "Monday", 'a': "Mon", 'j': "002",
	'Z': "MST", 'z': "-0700", 'F': time.DateOnly, 'T': time.TimeOnly, '%': "%",
}

// UnixTime returns the time a number of seconds after the beginning of 1970, to the nanosecond, in
// the years that ISO 8601 can represent. A number with an exponent has the precision of a float64,
// and is rounded to the microsecond.
func UnixTime(b []byte) (time.Time, bool) {
	const first, last = -62167219200, 253402300799 // of the years 0 and 9999
	if bytes.ContainsAny(b, "eE") {
		f, err := strconv.ParseFloat(string(b), 64)
		if err != nil || f < first || f > last {
			return time.Time{}, false
		}
		whole, part := math.Modf(f)
		return time.Unix(int64(whole), int64(math.Round(part*1e6))*1e3).UTC(), true
	}
	whole, digits, _ := bytes.Cut(b, []byte("."))
	seconds, err := strconv.ParseInt(string(whole), 10, 64)
	if err != nil || seconds < first || seconds > last {
		return time.Time{}, false
	}
	part := int64(0)
	for i := range 9 {
		if part *= 10; i < len(digits) {
			part += int64(digits[i] - '0')
		}
	}
	if b[0] == '-' {
		part = -part
	}
	return time.Unix(seconds, part).UTC(), true
}

// Zones contains the time zones that one filter has looked up by name, nil for an unknown name. The
// map is replaced, never changed. The zero value is ready for use.
type Zones struct {
	byName atomic.Pointer[map[string]*time.Location]
}

const (
	maxZones    = 2000 // the database has some 600 names
	maxUnknown  = 1000 // unknown names, which clients may invent, leave room for zones
	maxZoneName = 64   // bytes; longer names are not looked up
)

// Named returns the zone with a name, or nil. Each name is looked up on disk once, as long as there
// is room for it.
func (z *Zones) Named(name []byte) *time.Location {
	var known map[string]*time.Location
	before := z.byName.Load()
	if before != nil {
		known = *before
	}
	location, ok := known[string(name)]
	if ok || len(name) > maxZoneName {
		return location
	}
	location, err := time.LoadLocation(string(name))
	room := maxZones
	if err != nil {
		location, room = nil, maxUnknown
	}
	if len(known) < room {
		more := map[string]*time.Location{string(name): location}
		maps.Copy(more, known)
		z.byName.CompareAndSwap(before, &more) // another request may win; then this name is read again
	}
	return location
}

// Layout determines how a time is written. Pieces with even indexes are literal text, so that digits in
// it are never mistaken for a date, and pieces with odd indexes are Go layouts.
type Layout struct {
	pieces []string
	utc    bool
}

// ParseLayout reads a layout of a date: one of Go's ("2006-01-02"), one with % conversions
// ("%Y-%m-%d"), or a name (iso, rfc3339, http, date, time). problem says what is wrong with
// it.
func ParseLayout(text string) (l Layout, problem string) {
	if named, ok := namedLayouts[text]; ok {
		return Layout{[]string{"", named}, text == "http"}, ""
	}
	if strings.Contains(text, "%") {
		l.pieces, problem = conversions(text)
		return l, problem
	}
	if !hasDateElement(text) {
		return l, `has no element of a date; expected a Go layout ("2006-01-02 15:04:05"), % conversions ("%Y-%m-%d"), ` +
			`or one of iso, rfc3339, http, date, time, unix, unix-ms`
	}
	return Layout{pieces: []string{"", text}}, ""
}

// AppendTime appends a time.
func (l *Layout) AppendTime(dst []byte, t time.Time) []byte {
	if l.utc {
		t = t.UTC()
	}
	for i, piece := range l.pieces {
		switch {
		case i%2 == 0:
			dst = append(dst, piece...)
		case piece == millis:
			dst = append(dst, t.Format(".000")[1:]...)
		default:
			dst = t.AppendFormat(dst, piece)
		}
	}
	return dst
}

// conversions cuts a layout with % into pieces.
func conversions(layout string) (pieces []string, problem string) {
	literal := ""
	for i := 0; i < len(layout); i++ {
		if layout[i] != '%' {
			literal += layout[i : i+1]
			continue
		}
		if i++; i == len(layout) {
			return nil, "ends with a % that converts nothing"
		}
		element, ok := strftime[layout[i]]
		if !ok {
			return nil, "has the unknown conversion %" + layout[i:i+1]
		}
		if layout[i] == '%' {
			literal += element
			continue
		}
		pieces, literal = append(pieces, literal, element), ""
	}
	if len(pieces) == 0 {
		return nil, "has no element of a date"
	}
	return append(pieces, literal), ""
}

// hasDateElement reports whether a Go layout contains an element of a time: if so, two times that
// differ in every element look different.
func hasDateElement(layout string) bool {
	a := time.Date(2021, 3, 4, 5, 6, 7, 89000000, time.UTC)
	b := time.Date(1998, 11, 22, 17, 48, 59, 123000000, time.FixedZone("X", 3600))
	return a.Format(layout) != b.Format(layout)
}
