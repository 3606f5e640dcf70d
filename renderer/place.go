package renderer

import "mockserver/renderer/escape"

// place describes a position in the text.
type place struct {
	form Form
	json jsonPlace       // tracked only in JSON
	url  escape.URLParts // tracked only in URLs
}

// jsonPlace follows a JSON text from literal to literal and knows whether the next character is
// inside a string. It does not check the text otherwise: a mock may deliberately declare an invalid
// response.
type jsonPlace struct {
	inString bool
	// pending is the number of characters that still belong to an escape; a placeholder is not
	// possible there.
	pending int
}

func (p jsonPlace) advance(literal string) jsonPlace {
	for i := range len(literal) {
		c := literal[i]
		switch {
		case p.pending > 1:
			p.pending--
		case p.pending == 1:
			p.pending = 0
			if c == 'u' && i > 0 && literal[i-1] == '\\' {
				p.pending = 4
			}
		case c == '"':
			p.inString = !p.inString
		case c == '\\' && p.inString:
			p.pending = 1
		}
	}
	return p
}
