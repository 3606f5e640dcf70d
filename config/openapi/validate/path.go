package validate

import "strings"

// pathTemplate is the path of an operation, split into segments.
type pathTemplate []segmentTemplate

// segmentTemplate is a segment: literal texts, and parameter names between them. There is one more
// text than there are names. If a parameter fills the segment, the texts around it are empty.
type segmentTemplate struct{ texts, names []string }

func parsePath(path string) pathTemplate {
	var t pathTemplate
	for _, segment := range segmentsOf(path) {
		var s segmentTemplate
		for {
			text, rest, found := strings.Cut(segment, "{")
			name, after, closed := strings.Cut(rest, "}")
			if !found || !closed {
				s.texts = append(s.texts, segment)
				break
			}
			s.texts, s.names, segment = append(s.texts, text), append(s.names, name), after
		}
		t = append(t, s)
	}
	return t
}

// segmentsOf splits a path into segments. A trailing slash is ignored.
func segmentsOf(path string) []string {
	return strings.Split(strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/"), "/")
}

// values returns the values of the path parameters, as sent, or nil when the number of segments
// differs. A segment of a different form has no values.
func (t pathTemplate) values(path string) map[string]string {
	segments := segmentsOf(path)
	if len(segments) != len(t) {
		return nil
	}
	values := map[string]string{}
	for i, s := range t {
		s.match(segments[i], values)
	}
	return values
}

// match splits a segment at the literal texts of its template. A parameter ends at the first
// occurrence of the text after it; the last one gets everything that remains.
func (s *segmentTemplate) match(segment string, values map[string]string) {
	if len(s.names) == 0 {
		return
	}
	rest, ok := strings.CutPrefix(segment, s.texts[0])
	last := len(s.names) - 1
	if ok {
		rest, ok = strings.CutSuffix(rest, s.texts[last+1])
	}
	for i := 0; ok && i <= last; i++ {
		value := rest
		if i < last {
			value, rest, ok = strings.Cut(rest, s.texts[i+1])
		}
		if ok && value != "" {
			values[s.names[i]] = value
		}
	}
}
