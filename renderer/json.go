package renderer

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"mockserver/config/syntax"
)

// checkJSON warns about a body that is not JSON once its placeholders are filled in: a superfluous
// comma, or a placeholder in the place of a key or next to another one. Each path through a text
// with blocks is a separate text: see checkBlocks.
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
	if err := whyNotJSON(sample); err != nil {
		return syntax.Problems{{
			Pos: text.Pos, Key: text.Key, Warning: true,
			What: "the body is served as JSON but is not valid JSON once its placeholders are filled in: " + err.Error(),
		}}
	}
	return nil
}

// whyNotJSON returns why a text is not a sequence of JSON values; nil if it is.
func whyNotJSON(text []byte) (err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	for err == nil {
		var v json.RawMessage
		err = decoder.Decode(&v)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
