package value

import (
	"time"

	"mockserver/matcher"
	"mockserver/renderer/scalar"
)

// IsZone reports whether a literal is a time zone. An unset environment variable counts as one,
// like a missing value at request time.
func IsZone(in *scalar.Zones, literal Value) bool {
	return literal.Kind == Missing || len(literal.Raw) > 0 && in.Named(literal.Raw) != nil
}

// MomentOf returns the time of a value in UTC: an instant, a text in ISO 8601, or a number, which
// means seconds since 1970.
func MomentOf(v Value) (time.Time, bool) {
	if v.IsNumeric() {
		return scalar.UnixTime(v.Raw)
	}
	return timeOf(v)
}

// DateLayout compiles a layout: see scalar.ParseLayout. It also accepts unix and
// unix-ms, which return numbers. problem says what is wrong with the layout.
func DateLayout(layout string) (format func(time.Time, *matcher.Request) Value, problem string) {
	switch layout {
	case "unix":
		return func(t time.Time, r *matcher.Request) Value { return OfInt(t.Unix(), r) }, ""
	case "unix-ms":
		return func(t time.Time, r *matcher.Request) Value { return OfInt(t.UnixMilli(), r) }, ""
	}
	l, problem := scalar.ParseLayout(layout)
	return func(t time.Time, r *matcher.Request) Value {
		return Appended(r, l.AppendTime(r.Arena, t))
	}, problem
}
