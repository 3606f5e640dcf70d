package matcher

import (
	"bytes"
	"strings"

	"mockserver/config"
	"mockserver/config/syntax"
)

// Path compiles the path of an endpoint: ParsePattern, or ParseTemplate for one that an
// OpenAPI document has.
func Path(e *config.Endpoint) (Pattern, syntax.Problems) {
	if e.Template {
		return ParseTemplate(e.Path.Value), nil
	}
	return ParsePattern(e.Path)
}

// ParseTemplate compiles a path of an OpenAPI document, whose parameters stand in braces
// anywhere in a segment: /reports/{id}.{format}. Any other text is literal, a "{" that
// has no "}" after it too.
func ParseTemplate(path string) Pattern {
	var p Pattern
	var inside []string // the names of parameters that are part of a segment
	path = strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/")
	if path == "" {
		return p
	}
	for _, text := range strings.Split(path, "/") {
		m := mixedOf(text)
		switch {
		case len(m.names) == 0:
			p.segments = append(p.segments, Segment{text: string(m.texts[0])})
		case len(m.names) == 1 && len(m.texts[0])+len(m.texts[1]) == 0:
			p.add(Segment{kind: textSegment, text: m.names[0]})
		default:
			p.mixed = append(p.mixed, make([]*mixed, len(p.params)-len(p.mixed))...)
			p.mixed = append(p.mixed, m)
			p.add(Segment{kind: typedSegment, typ: mixedType, text: text, mixed: m})
			p.params[len(p.params)-1] = "" // the whole segment has no name
			inside = append(inside, m.names...)
		}
	}
	p.params = append(p.params, inside...)
	return p
}

// mixed is a segment that parameters are a part of: texts, and the parameters between
// them. There is one text more than there are parameters; each is decoded.
type mixed struct {
	texts [][]byte
	names []string
}

func mixedOf(segment string) *mixed {
	m := &mixed{}
	for {
		text, rest, opened := strings.Cut(segment, "{")
		name, after, closed := strings.Cut(rest, "}")
		if !opened || !closed {
			m.texts = append(m.texts, appendDecoded(nil, []byte(segment), false))
			return m
		}
		m.texts = append(m.texts, appendDecoded(nil, []byte(text), false))
		m.names = append(m.names, name)
		segment = after
	}
}

// split appends the parameters of a segment to values, and reports whether it is of this
// form. A parameter is at least one byte, and ends where the text after it begins first;
// the last one has all that is left.
func (m *mixed) split(segment []byte, values [][]byte) ([][]byte, bool) {
	last := len(m.names) - 1
	rest, ok := bytes.CutPrefix(segment, m.texts[0])
	if !ok {
		return values, false
	}
	if rest, ok = bytes.CutSuffix(rest, m.texts[last+1]); !ok {
		return values, false
	}
	for _, text := range m.texts[1 : last+1] {
		if len(rest) == 0 {
			return values, false
		}
		at := bytes.Index(rest[1:], text)
		if at < 0 {
			return values, false
		}
		at++
		values, rest = append(values, rest[:at:at]), rest[at+len(text):]
	}
	return append(values, rest), len(rest) > 0
}

// splitAll appends the parameters inside of segments to those of the leaf, which are
// whole segments. It reports whether all of them are of their form.
func (e *entry) splitAll(r *Request, whole int) bool {
	r.params = r.params[:whole]
	for i, m := range e.mixed {
		if m == nil {
			continue
		}
		var ok bool
		if r.params, ok = m.split(r.params[i], r.params); !ok {
			r.params = r.params[:whole]
			return false
		}
	}
	return true
}
