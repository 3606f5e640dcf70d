package renderer

import (
	"strconv"
	"strings"
	"time"

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
	"iso":     isoMillis,
	"rfc3339": time.RFC3339,
	"http":    "Mon, 02 Jan 2006 15:04:05 GMT",
	"date":    time.DateOnly,
	"time":    time.TimeOnly,
}

// millis stands for the milliseconds of a layout with %: Go's own layouts have
// them behind a point only.
const millis = "\x00ms"

// strftime are the conversions of a layout with %.
var strftime = map[byte]string{
	'Y': "2006", 'y': "06", 'm': "01", 'd': "02", 'e': "_2", 'H': "15", 'I': "03", 'M': "04", 'S': "05",
	'L': millis, 'p': "PM", 'B': "January", 'b': "Jan", 'A': "Monday", 'a': "Mon", 'j': "002",
	'Z': "MST", 'z': "-0700", 'F': time.DateOnly, 'T': time.TimeOnly, '%': "%",
}

// dateFormat compiles the date filter for a layout: one of Go's ("2006-01-02"),
// one with % conversions ("%Y-%m-%d"), or a name (iso, rfc3339, http, date,
// time, unix, unix-ms). problem says what is wrong with it.
func dateFormat(layout string) (apply func(v, _ value, r *matcher.Request) value, problem string) {
	switch layout {
	case "unix":
		return func(v, _ value, r *matcher.Request) value { return epoch(v, r, time.Time.Unix) }, ""
	case "unix-ms":
		return func(v, _ value, r *matcher.Request) value { return epoch(v, r, time.Time.UnixMilli) }, ""
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
	return func(v, _ value, r *matcher.Request) value {
		t, ok := timeOf(v)
		if !ok {
			return value{}
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

func epoch(v value, r *matcher.Request, count func(time.Time) int64) value {
	t, ok := timeOf(v)
	if !ok {
		return value{}
	}
	return intValue(count(t), r)
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

// hasDateElement tells whether a Go layout shows anything of a time: two times
// that differ in everything look different.
func hasDateElement(layout string) bool {
	a := time.Date(2021, 3, 4, 5, 6, 7, 89000000, time.UTC)
	b := time.Date(1998, 11, 22, 17, 48, 59, 123000000, time.FixedZone("X", 3600))
	return a.Format(layout) != b.Format(layout)
}
