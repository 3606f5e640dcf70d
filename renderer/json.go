package renderer

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"mockserver/config/syntax"
)

// jsonPlace follows a JSON text from literal to literal and knows whether the next character is
// inside a string. It does not check the text otherwise: a mock may declare an invalid response on
// purpose.
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

// checkJSON warns about a body that is not JSON once its placeholders are filled in: a superfluous
// comma, or a placeholder in the place of a key or next to another. Each path through a text with
// blocks is a text of its own: see checkBlocks.
func (t *Template) checkJSON(text syntax.Text) syntax.Problems {
	sample, hasPlaceholders := make([]byte, 0, len(text.Value)), false
	for i := range t.nodes {
		switch n := &t.nodes[i]; n.kind {
		case literalNode:
			sample = append(sample, n.text...)
		case outputNode:
			hasPlaceholders = true
			if n.write.isJSONValue() {
				sample = append(sample, "null"...)
			}
		default:
			return t.checkBlocks(text)
		}
	}
	if !hasPlaceholders {
		return nil // a static body is checked at its declaration
	}
	decoder := json.NewDecoder(bytes.NewReader(sample))
	for {
		var v json.RawMessage
		err := decoder.Decode(&v)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return syntax.Problems{{
				Pos: text.Pos, Key: text.Key, Warning: true,
				What: "the body is served as JSON but is not valid JSON once its placeholders are filled in: " + err.Error(),
			}}
		}
	}
}
