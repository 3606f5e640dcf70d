package matcher

import (
	"strings"

	"mockserver/config/item"
	"mockserver/config/syntax"
)

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
