package matcher

import (
	"bytes"
	"strings"

	"mockserver/config/item"
	"mockserver/config/syntax"
)

// mixed is a segment that contains parameters and text: the texts, and the names of the parameters
// between them. There is one more text than there are parameters. The texts are decoded.
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

// split appends the parameters of a segment to values, and reports whether the segment has this
// form. A parameter has at least one byte, and ends at the first occurrence of the text after it;
// the last parameter is the remaining text.
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

// Path compiles the path of an endpoint. It calls ParseTemplate for a path in an OpenAPI document,
// otherwise ParsePattern.
func Path(e *item.Endpoint) (Pattern, syntax.Problems) {
	if e.Template {
		return ParseTemplate(e.Path.Value), nil
	}
	return ParsePattern(e.Path)
}

// ParseTemplate compiles a path of an OpenAPI document. Its parameters are in braces, anywhere in a
// segment: /reports/{id}.{format}. Any other text is literal, including a "{" without a "}" after
// it.
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
