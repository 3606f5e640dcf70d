package edit

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mockserver/internal/json"
)

// maxPattern is the maximum size, in bytes, of an expression that a request sends.
const maxPattern = 256

// Searches are the operators of Search. The slice must not be modified.
var Searches = []string{"like", "contains", "startsWith", "endsWith"}

// Search returns a test of whether the text of a member, whatever its case, matches one of several regular expressions
// of "like", or has one of several texts.
func Search(way []string, op string, values [][]byte) (func(row []byte) bool, error) {
	var all []string
	for _, value := range values {
		text := string(value)
		if op != "like" {
			text = regexp.QuoteMeta(text)
		}
		switch op {
		case "startsWith":
			text = `\A` + text
		case "endsWith":
			text += `\z`
		}
		all = append(all, "(?:"+text+")")
	}
	text := strings.Join(all, "|")
	if len(text) > maxPattern {
		return nil, fmt.Errorf("has %d bytes; expected at most %d", len(text), maxPattern)
	}
	expression, err := regexp.Compile("(?i)" + text)
	if err != nil {
		return nil, fmt.Errorf("is not a regular expression of RE2: %w", err)
	}
	return func(row []byte) bool {
		v := Member(row, way)
		var room [128]byte
		return v.Kind > json.Null && (v.Kind == json.String || op == "like") && expression.Match(v.AppendText(room[:0]))
	}, nil
}

// HasText reports whether a value, or one in it, contains a text in lower case. As in json-server, what JavaScript
// takes for false contains none.
func HasText(v json.Value, text []byte) bool {
	switch v.Kind {
	case json.Object:
		return slices.ContainsFunc(v.AppendMembers(nil), func(m json.Member) bool { return HasText(m.Value, text) })
	case json.Array:
		for elements := v.Elements(); ; {
			if one, ok := elements.Next(); !ok || HasText(one, text) {
				return ok
			}
		}
	}
	var room [128]byte
	is := v.AppendText(room[:0])
	isFalse := v.Kind <= json.Null || v.Kind != json.String && (string(is) == "false" || string(is) == "0")
	return !isFalse && bytes.Contains(bytes.ToLower(is), text)
}
