package matcher

import (
	"bytes"
	"strings"
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
