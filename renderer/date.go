package renderer

import (
	"time"

	"mockserver/matcher"
	"mockserver/renderer/scalar"
)

// compileDate compiles the date filter: its layout, and then the time zone, which becomes the
// argument.
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
	in := &scalar.Zones{}
	f.arg, f.more = f.more, nil
	if f.arg != nil && f.arg.constant() && !isZone(in, f.arg.literal) {
		s.fail(zone.offset, "unknown time zone %s (expected a name of the IANA database, such as \"Europe/Zurich\" or \"UTC\")", zone.describe())
		return false
	}
	f.apply = func(v, zone value, r *matcher.Request) value {
		t, ok := momentOf(v)
		if !ok {
			return value{}
		}
		if !zone.empty() {
			location := in.Named(zone.text(r))
			if location == nil {
				return value{}
			}
			t = t.In(location)
		}
		return format(t, r)
	}
	return true
}

// isZone reports whether a literal is a time zone. An unset environment variable counts as one,
// like a missing value at request time.
func isZone(in *scalar.Zones, literal value) bool {
	return literal.kind == missing || len(literal.raw) > 0 && in.Named(literal.raw) != nil
}

// momentOf is timeOf for which a number means seconds since 1970.
func momentOf(v value) (time.Time, bool) {
	if v.numeric() {
		return scalar.UnixTime(v.raw)
	}
	return timeOf(v)
}

// dateFormat compiles a layout of the date filter: see parseLayout. It also accepts unix and
// unix-ms, which give numbers. problem says what is wrong with the layout.
func dateFormat(layout string) (format func(time.Time, *matcher.Request) value, problem string) {
	switch layout {
	case "unix":
		return func(t time.Time, r *matcher.Request) value { return intValue(t.Unix(), r) }, ""
	case "unix-ms":
		return func(t time.Time, r *matcher.Request) value { return intValue(t.UnixMilli(), r) }, ""
	}
	l, problem := scalar.ParseLayout(layout)
	return func(t time.Time, r *matcher.Request) value {
		start := len(r.Arena)
		r.Arena = l.AppendTime(r.Arena, t)
		return textValue(since(r, start))
	}, problem
}
