package language

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Order places endpoints in the order in which their source tries them. The server tries the more
// specific path first, whatever the order. So an endpoint that comes after one with a less specific
// path is written in the shape of that path, with its own path as a condition.
type Order struct {
	general map[string][]Path // the paths with parameters so far, by method and the first two segments
	written map[string]bool   // by method and shape
}

// Place returns the path that is written for an endpoint, and the condition that a request matches
// the endpoint's own path; "" if the paths are the same.
func (o *Order) Place(method string, own Path) (written Path, condition string) {
	if o.general == nil {
		o.general, o.written = map[string][]Path{}, map[string]bool{}
	}
	written = own
	for changed := true; changed; {
		changed = false
		for _, key := range keys(method, own) {
			for _, earlier := range o.general[key] {
				if overlap(own, earlier) && preferred(written, earlier) {
					written, changed = join(written, earlier), true
				}
			}
		}
	}
	if len(written) > 0 && !written.IsLiteral() {
		if shape := method + " " + Shape(written); !o.written[shape] {
			o.written[shape] = true
			first, second := segment(written, 0), segment(written, 1)
			key := method + " " + first + " " + second
			o.general[key] = append(o.general[key], written)
			if first == anySegment && second != anySegment {
				key = method + " " + anySegment + " literal"
				o.general[key] = append(o.general[key], written)
			}
		}
	}
	return written, differs(own, written)
}

// keys returns the keys of the paths before which the server may try the given one.
func keys(method string, own Path) []string {
	first, second := method+" "+segment(own, 0)+" ", segment(own, 1)
	anyFirst := method + " " + anySegment + " "
	if second == anySegment {
		return []string{first + anySegment, anyFirst + anySegment, anyFirst + "literal"}
	}
	return []string{first + second, first + anySegment, anyFirst + second, anyFirst + anySegment}
}

const anySegment = "*"

// segment returns a segment if it is a literal, otherwise anySegment.
func segment(p Path, i int) string {
	if i < len(p) && p[i].Kind == Literal {
		return "/" + p[i].Text
	}
	return anySegment
}

// IsLiteral reports whether the path has no parameters.
func (p Path) IsLiteral() bool {
	return !slices.ContainsFunc(p, func(s Segment) bool { return s.Kind != Literal })
}

// Shape returns a path without the names of its parameters.
func Shape(p Path) string {
	shape := make(Path, len(p))
	for i, s := range p {
		if shape[i] = s; s.Kind != Literal {
			shape[i].Text = ""
		}
	}
	return shape.String()
}

// overlap reports whether a request may match both paths.
func overlap(a, b Path) bool {
	for i := 0; ; i++ {
		switch {
		case i < len(a) && a[i].Kind == Rest, i < len(b) && b[i].Kind == Rest:
			return true
		case i >= len(a) || i >= len(b):
			return len(a) == len(b)
		case a[i].Kind == Literal && b[i].Kind == Literal && a[i].Text != b[i].Text:
			return false
		}
	}
}

// preferred reports whether the server tries a before b, which overlap.
func preferred(a, b Path) bool {
	for i := 0; i < len(a) && i < len(b); i++ {
		if a[i].Kind != b[i].Kind {
			return a[i].Kind < b[i].Kind
		}
	}
	return len(a) < len(b) // b has a catch-all where a ends
}

// join returns a path that matches what either of two paths matches. It keeps the names of the
// parameters of a.
func join(a, b Path) Path {
	var all Path
	for i := 0; ; i++ {
		switch {
		case i >= len(a) && i >= len(b):
			return all
		case i >= len(a) || i >= len(b) || a[i].Kind == Rest || b[i].Kind == Rest:
			name := "rest"
			if i < len(a) && a[i].Kind == Rest {
				name = a[i].Text
			}
			return append(all, Segment{Rest, free(a, name)})
		case a[i].Kind == Param || a[i] == b[i]:
			all = append(all, a[i])
		default:
			all = append(all, Segment{Param, free(a, "p"+strconv.Itoa(i+1))})
		}
	}
}

// free returns a name that no parameter of a path has, except perhaps its catch-all.
func free(p Path, name string) string {
	for p.Has(name) {
		name += "-"
	}
	return name
}

// differs returns the condition that a request matches own, given that it matches written.
func differs(own, written Path) string {
	var all []string
	for i, s := range written {
		switch {
		case s.Kind == Rest && (i >= len(own) || own[i].Kind != Rest):
			return "path matches " + Quote(own.Expression())
		case s.Kind == Param && own[i].Kind == Literal:
			all = append(all, Equal(Member("path-params", s.Text), own[i].Text))
		}
	}
	return And(all...)
}

// Expression returns a regular expression that matches the same paths as the path, encoded as
// clients send them.
func (p Path) Expression() string {
	var b strings.Builder
	b.WriteByte('^')
	for _, s := range p {
		switch s.Kind {
		case Literal:
			b.WriteByte('/')
			for i := range len(s.Text) {
				b.WriteString(sent(s.Text[i : i+1]))
			}
		case Param:
			b.WriteString("/[^/]+")
		default:
			b.WriteString("(?:/.*)?")
		}
	}
	b.WriteString("/?$")
	return b.String()
}

// sent returns a regular expression that matches a byte of a segment as clients may send it.
func sent(char string) string {
	escaped := url.PathEscape(char)
	if escaped == char {
		return regexp.QuoteMeta(char)
	}
	encoded := "%(?i:" + escaped[1:] + ")"
	if strings.Contains("/%?", char) || PercentEncoded(rune(char[0])) {
		return encoded
	}
	return "(?:" + regexp.QuoteMeta(char) + "|" + encoded + ")"
}

// Has reports whether the path has a parameter of this name, other than its catch-all.
func (p Path) Has(name string) bool { return slices.Contains(p, Segment{Param, name}) }
