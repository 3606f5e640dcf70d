package matcher

import (
	"fmt"
	"strings"

	"mockserver/config/syntax"
	"mockserver/internal/wording"
)

// Pattern is a declared path, compiled. The zero Pattern is the path "/".
type Pattern struct {
	segments []Segment
	params   []string
	types    []paramType // types of the parameters; nil if all of them accept any text
	mixed    []*mixed    // by parameter, the segments that contain more than one parameter or other text; nil if there are none
}

// Segment is one segment of a declared path.
type Segment struct {
	kind segmentKind
	text string // a decoded literal, or the name of a parameter
	typ  paramType
	// mixed contains the parts of a segment that consists of parameters and text. The tree treats
	// it as a typed segment. It is nil for other segments.
	mixed *mixed
}

// segmentKind is the kind of a segment, in the order of specificity, the most specific first.
type segmentKind uint8

const (
	literalSegment segmentKind = iota
	typedSegment
	textSegment
	restSegment
)

// Params returns the names of the path parameters, at the positions that Request.Param expects. The
// name is "" for a catch-all without a name, and for a segment that contains parameters and text;
// the parameters inside such segments come after all others. The slice is shared and must not be
// changed.
func (p Pattern) Params() []string { return p.params }

// Literal returns the path, without a trailing slash, if requests for it can be recognized by
// comparing bytes: it has no parameters, and contains nothing that can be written in a different
// way. In that case no route is more specific.
func (p Pattern) Literal() (path string, ok bool) {
	if len(p.params) > 0 || p.catchesAll() {
		return "", false
	}
	for i := range p.segments {
		if !registrable(p.segments[i].text) {
			return "", false
		}
	}
	return written(p.segments), true
}

// Segments returns the segments of the path. The slice is shared and must not be changed.
func (p Pattern) Segments() []Segment { return p.segments }

// IsLiteral reports whether s matches only its text.
func (s *Segment) IsLiteral() bool { return s.kind == literalSegment }

// CatchesAll reports whether s matches all remaining segments.
func (s *Segment) CatchesAll() bool { return s.kind == restSegment }

// Text returns the decoded text of a literal, or the name of a parameter.
func (s *Segment) Text() string { return s.text }

// Takes describes the texts that a parameter accepts: "an integer".
func (s *Segment) Takes() string { return s.typ.described() }

// Accepts reports whether a decoded segment of a request matches s, which must not be a catch-all.
func (s *Segment) Accepts(text []byte) bool {
	switch {
	case s.kind == literalSegment:
		return s.text == string(text)
	case len(text) == 0:
		return false
	case s.mixed == nil:
		return s.typ.accepts(text)
	}
	_, ok := s.mixed.split(text, nil)
	return ok
}

// String returns the segment as declared, without its type.
func (s *Segment) String() string {
	if s.kind == literalSegment || s.mixed != nil {
		return s.text
	}
	return ":" + s.text
}

// catchesAll reports whether the last segment is a catch-all.
func (p Pattern) catchesAll() bool {
	n := len(p.segments)
	return n > 0 && p.segments[n-1].kind == restSegment
}

// ParsePattern compiles a declared path. The problems are errors or warnings. If there are errors,
// the Pattern must not be used.
func ParsePattern(path syntax.Text) (Pattern, syntax.Problems) {
	p := patternParser{path: path}
	p.parse()
	return p.pattern, p.problems
}

type patternParser struct {
	path     syntax.Text
	pattern  Pattern
	names    map[string]bool // names of the parameters
	problems syntax.Problems
}

// maxProblems limits the problems reported for one path, since the position of each has to be
// looked up.
const maxProblems = 100

// report records a problem. The last one represents the rest of the path, which is not parsed.
func (p *patternParser) report(offset int, warning bool, format string, args ...any) {
	p.problems = append(p.problems, syntax.Problem{
		Pos: p.path.At(offset), Key: p.path.Key, What: fmt.Sprintf(format, args...), Warning: warning,
		Rest: len(p.problems) == maxProblems-1,
	})
}

func (p *patternParser) parse() {
	text := p.path.Value
	if i := strings.IndexByte(text, '?'); i >= 0 {
		p.report(i, true, "%q is left out: a path is matched without its query; a condition (if) can test the query", text[i:])
		text = text[:i]
	}
	if !strings.HasPrefix(text, "/") {
		p.report(0, false, "a path begins with \"/\": write %q", "/"+text)
		return
	}
	if len(text) > 1 {
		text = strings.TrimSuffix(text, "/")
	}
	if text == "/" {
		return
	}
	p.warnForeign(text)
	for at := 1; at <= len(text) && len(p.problems) < maxProblems; {
		end := strings.IndexByte(text[at:], '/')
		if end < 0 {
			end = len(text) - at
		}
		p.segment(text[at:at+end], at, at+end == len(text))
		at += end + 1
	}
}

// segment compiles a segment that begins at offset.
func (p *patternParser) segment(text string, offset int, last bool) {
	switch {
	case strings.HasPrefix(text, ":"):
		p.parameter(text[1:], offset+1)
	case last && strings.HasPrefix(text, "*"):
		if len(text) > 1 {
			p.checkName(text[1:], offset+1)
		}
		p.pattern.add(Segment{kind: restSegment, text: text[1:]})
	default:
		literal := string(appendDecoded(nil, []byte(text), false))
		p.pattern.segments = append(p.pattern.segments, Segment{text: literal})
	}
}

// parameter compiles the text after the colon, which begins at offset.
func (p *patternParser) parameter(text string, offset int) {
	name, typeName, typed := strings.Cut(text, "|")
	if name == "" {
		p.report(offset, false, `a parameter needs a name: write ":id"`)
	}
	p.checkName(name, offset)
	s := Segment{kind: textSegment, text: name}
	if typed {
		var ok bool
		if s.typ, ok = typeNames[typeName]; !ok {
			p.report(offset+len(name)+1, false, "unknown type %q%s; expected one of %s",
				typeName, wording.DidYouMean(typeName, typeOrder), strings.Join(typeOrder, ", "))
		}
		if s.typ != anyText {
			s.kind = typedSegment
		}
	}
	p.pattern.add(s)
}

// add appends a segment that has a value.
func (p *Pattern) add(s Segment) {
	p.segments = append(p.segments, s)
	p.params = append(p.params, s.text)
	if s.typ != anyText && p.types == nil {
		p.types = make([]paramType, len(p.params)-1)
	}
	if p.types != nil {
		p.types = append(p.types, s.typ)
	}
}

func (p *patternParser) checkName(name string, offset int) {
	for i, c := range name {
		if !isNameByte(c) {
			p.report(offset+i, false, "%q in the parameter name %q: a name is letters, digits, \"-\" and \"_\"", c, name)
			break
		}
	}
	if p.names[name] {
		p.report(offset, false, "the parameter %q is declared twice: rename one of them", name)
	}
	if name != "" {
		if p.names == nil {
			p.names = map[string]bool{}
		}
		p.names[name] = true
	}
}

func isNameByte(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// written returns a path in the form that the router expects.
func written(segments []Segment) string {
	if len(segments) == 0 {
		return "/"
	}
	var path strings.Builder
	for i := range segments {
		path.WriteByte('/')
		path.WriteString(segments[i].text)
	}
	return path.String()
}

// registrable reports whether the router interprets a literal literally: braces have a special
// meaning for it, and it compares characters, not bytes. A slash or a percent sign in a literal
// must have been encoded; such paths are handled by the tree.
func registrable(text string) bool {
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c > '~' || strings.IndexByte("{}/%?", c) >= 0 {
			return false
		}
	}
	return text != ""
}
