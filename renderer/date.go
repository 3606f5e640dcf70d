package renderer

import (
	"mockserver/matcher"
	"mockserver/renderer/scalar"
	"mockserver/renderer/value"
)

// date compiles the date filter: its layout, and then the time zone, which becomes the
// argument.
func (s *scanner) date(f *filter, layout token) bool {
	f.arg = nil
	var zone token
	if s.tok.is(":") {
		s.next()
		zone = s.tok
		var ok bool
		if f.arg, ok = s.argument(); !ok {
			return false
		}
	}
	if layout.kind != textToken {
		s.fail(layout.offset, "the layout of date is a text in quotes, such as \"2006-01-02\" or \"%%Y-%%m-%%d\"")
		return false
	}
	format, problem := value.DateLayout(layout.text)
	if problem != "" {
		s.fail(layout.offset, "the date layout %q %s", layout.text, problem)
		return false
	}
	in := &scalar.Zones{}
	if f.arg != nil && f.arg.constant() && !value.IsZone(in, f.arg.literal) {
		s.fail(zone.offset, "unknown time zone %s (expected a name of the IANA database, such as \"Europe/Zurich\" or \"UTC\")", zone.describe())
		return false
	}
	f.apply = func(v, zone value.Value, r *matcher.Request) value.Value {
		t, ok := value.MomentOf(v)
		if !ok {
			return value.Value{}
		}
		if !zone.IsEmpty() {
			location := in.Named(zone.Text(r))
			if location == nil {
				return value.Value{}
			}
			t = t.In(location)
		}
		return format(t, r)
	}
	return true
}
