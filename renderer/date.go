package renderer

import (
	"bytes"
	"maps"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	_ "time/tzdata" // zones are the same where the system has none, as in the container image

	"mockserver/matcher"
)

// maxDuration bounds durations, so that no time leaves what can be computed with:
// some two hundred years.
const maxDuration = 200 * 365 * 24 * time.Hour

// parseDuration reads "1h30m", "250ms", "7d", "2w", or a number of seconds.
func parseDuration(b []byte) (time.Duration, bool) {
	units := map[byte]time.Duration{'d': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	unit, count := time.Second, b
	if n := len(b); n > 0 && units[b[n-1]] != 0 {
		unit, count = units[b[n-1]], b[:n-1]
	}
	if !isNumeric(count) {
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

// namedLayouts are the layouts that have a name.
var namedLayouts = map[string]string{
	"iso":     "2006-01-02T15:04:05.000Z07:00",
	"rfc3339": time.RFC3339,
	"http":    "Mon, 02 Jan 2006 15:04:05 GMT",
	"date":    time.DateOnly,
	"time":    time.TimeOnly,
}

// millis stands for the milliseconds of a layout with %: Go's own layouts have
// them after a point only.
const millis = "\x00ms"

// strftime are the conversions of a layout with %.
var strftime = map[byte]string{
	'Y': "2006", 'y': "06", 'm': "01", 'd': "02", 'e': "_2", 'H': "15", 'I': "03", 'M': "04", 'S': "05",
	'L': millis, 'p': "PM", 'B': "January", 'b': "Jan", 'A': "Monday", 'a': "Mon", 'j': "002",
	'Z': "MST", 'z': "-0700", 'F': time.DateOnly, 'T': time.TimeOnly, '%': "%",
}

// compileDate compiles the filter date: its layout, and the time zone after it, which is
// the argument that is left.
func compileDate(s *source, f *filter, layout, zone token) bool {
	if layout.kind != textToken {
		s.fail(layout.offset, "the layout of date is a text in quotes, such as \"2006-01-02\" or \"%%Y-%%m-%%d\"")
		return false
	}
	format, problem := dateFormat(layout.text)
	if problem != "" {
		s.fail(layout.offset, "the date layout %q %s", layout.text, problem)
		return false
	}
	in := &zones{}
	f.arg, f.more = f.more, nil
	if f.arg != nil && f.arg.constant() && !in.check(f.arg.literal) {
		s.fail(zone.offset, "unknown time zone %s (expected a name of the IANA database, such as \"Europe/Zurich\" or \"UTC\")", zone.describe())
		return false
	}
	f.apply = func(v, zone value, r *matcher.Request) value {
		t, ok := momentOf(v)
		if !ok {
			return value{}
		}
		if !zone.empty() {
			location := in.named(zone.text(r))
			if location == nil {
				return value{}
			}
			t = t.In(location)
		}
		return format(t, r)
	}
	return true
}

// momentOf is timeOf, and a number as seconds since 1970.
func momentOf(v value) (time.Time, bool) {
	if v.numeric() {
		return unixTime(v.raw)
	}
	return timeOf(v)
}

// unixTime is the time a number of seconds after 1970 began, to the nanosecond, in the
// years that ISO 8601 can write. A number with an exponent is as exact as a float64.
func unixTime(b []byte) (time.Time, bool) {
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

// zones are the time zones that one filter was asked for by name, nil for a name that is
// unknown. The map is replaced, never changed. The zero value is ready.
type zones struct {
	byName atomic.Pointer[map[string]*time.Location]
}

const (
	maxZones    = 2000 // the database has some 600 names
	maxUnknown  = 1000 // names that clients make up leave the rest of the room to zones
	maxZoneName = 64   // bytes; longer names are not looked for
)

// check reports whether a literal is a zone. A variable of the environment that is not
// set is, as a missing value is when it is served.
func (z *zones) check(literal value) bool {
	return literal.kind == missing || len(literal.raw) > 0 && z.named(literal.raw) != nil
}

// named returns the zone of a name, nil if there is none. Each name is looked up on disk
// once, as long as there is room for it.
func (z *zones) named(name []byte) *time.Location {
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
		z.byName.CompareAndSwap(before, &more) // another request's name may win: this one is read again
	}
	return location
}

// dateFormat compiles a layout of the filter date: one of Go's ("2006-01-02"), one with
// % conversions ("%Y-%m-%d"), or a name (iso, rfc3339, http, date, time, unix, unix-ms).
// problem says what is wrong with it.
func dateFormat(layout string) (format func(time.Time, *matcher.Request) value, problem string) {
	switch layout {
	case "unix":
		return func(t time.Time, r *matcher.Request) value { return intValue(t.Unix(), r) }, ""
	case "unix-ms":
		return func(t time.Time, r *matcher.Request) value { return intValue(t.UnixMilli(), r) }, ""
	}
	pieces := []string{layout}
	if named, ok := namedLayouts[layout]; ok {
		pieces[0] = named
	} else if strings.Contains(layout, "%") {
		if pieces, problem = conversions(layout); problem != "" {
			return nil, problem
		}
	} else if !hasDateElement(layout) {
		return nil, `has no element of a date; accepted are Go layouts ("2006-01-02 15:04:05"), % conversions ("%Y-%m-%d"), ` +
			`and iso, rfc3339, http, date, time, unix, unix-ms`
	}
	return func(t time.Time, r *matcher.Request) value {
		if layout == "http" {
			t = t.UTC() // as it says
		}
		start := len(r.Arena)
		for i, piece := range pieces {
			switch {
			case i%2 == 1:
				r.Arena = append(r.Arena, piece...)
			case piece == millis:
				r.Arena = append(r.Arena, t.Format(".000")[1:]...)
			default:
				r.Arena = t.AppendFormat(r.Arena, piece)
			}
		}
		return textValue(since(r, start))
	}, ""
}

// conversions cuts a layout with % into pieces: those at even places are Go
// layouts, those at odd places are literal, so that digits of the literal text
// are never taken for a date.
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
		if literal != "" || len(pieces) > 0 {
			if len(pieces) == 0 {
				pieces = append(pieces, "")
			}
			pieces = append(pieces, literal)
			literal = ""
		}
		pieces = append(pieces, element)
	}
	if len(pieces) == 0 {
		return nil, "has no element of a date"
	}
	return append(pieces, literal), ""
}

// hasDateElement reports whether a Go layout shows anything of a time: two times
// that differ in everything look different.
func hasDateElement(layout string) bool {
	a := time.Date(2021, 3, 4, 5, 6, 7, 89000000, time.UTC)
	b := time.Date(1998, 11, 22, 17, 48, 59, 123000000, time.FixedZone("X", 3600))
	return a.Format(layout) != b.Format(layout)
}
