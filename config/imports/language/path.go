package language

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Path is a declared path, as a list of its segments.
type Path []Segment

// Segment is one segment of a path.
type Segment struct {
	Kind SegmentKind
	Text string // a literal, decoded; or the name of a parameter
}

// SegmentKind is the kind of a segment.
type SegmentKind uint8

// The kinds of segments, the most specific first.
const (
	Literal SegmentKind = iota
	Param
	Rest // only as the last segment
)

// LiteralPath returns the Path that matches a request path, which may be percent-encoded.
func LiteralPath(path string) Path {
	var p Path
	for _, part := range Parts(path) {
		p = append(p, Segment{Literal, Decoded(part)})
	}
	return p
}

// Decoded returns a segment of a request path without its percent-encoding; one with an invalid encoding unchanged.
func Decoded(segment string) string {
	if text, err := url.PathUnescape(segment); err == nil {
		return text
	}
	return segment
}

// PercentEncoded reports whether clients send a character of a path only percent-encoded.
func PercentEncoded(r rune) bool {
	return r <= ' ' || r > '~' || strings.ContainsRune("\"#<>\\^`", r)
}

// Parts splits a path at its slashes; a slash at its beginning and a slash at its end are ignored.
func Parts(path string) []string {
	path = strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/")
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

// String returns the path as it is declared.
func (p Path) String() string {
	var b strings.Builder
	for _, s := range p {
		b.WriteByte('/')
		switch s.Kind {
		case Param:
			b.WriteString(":" + s.Text)
		case Rest:
			b.WriteString("*" + s.Text)
		default:
			b.WriteString(literal(s.Text))
		}
	}
	if b.Len() == 0 {
		return "/"
	}
	return b.String()
}

// special lists the characters that are percent-encoded in a declared path.
const special = "%?#{}<>*|\\\"^` \t\r\n"

// literal returns a literal segment as it is declared: special characters are percent-encoded.
func literal(text string) string {
	var b strings.Builder
	valid := utf8.ValidString(text)
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c < 0x20 || c >= utf8.RuneSelf && !valid || c == 0x7F || c == '/' || strings.IndexByte(special, c) >= 0 || i == 0 && c == ':' {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

var notName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// Name returns a text as a name of the language, which consists of letters, digits, - and _.
func Name(text string) string {
	if name := strings.Trim(notName.ReplaceAllString(text, "-"), "-"); name != "" {
		return name
	}
	return "x"
}
