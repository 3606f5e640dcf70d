package item

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/tags"
)

// jsonFault returns where and why a text is not a JSON value or, if many is set, not a sequence of
// JSON values. The reason is "" for a valid text.
func jsonFault(text string, many bool) (offset int, what string) {
	var value json.RawMessage
	var syntax *json.SyntaxError
	if !many {
		if errors.As(json.Unmarshal([]byte(text), &value), &syntax) {
			return max(int(syntax.Offset)-1, 0), syntax.Error()
		}
		return 0, ""
	}
	d := json.NewDecoder(strings.NewReader(text))
	for {
		err := d.Decode(&value)
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return 0, ""
		case errors.As(err, &syntax):
			return max(int(syntax.Offset)-1, 0), syntax.Error()
		default: // the text ends in the middle of a value
			return len(text), err.Error()
		}
	}
}

// looksFixedJSON reports whether a text begins like a JSON object or array, and has no
// placeholders.
func looksFixedJSON(text string, raw bool) bool {
	begin := strings.TrimLeft(text, " \t\r\n")
	return begin != "" && (begin[0] == '{' || begin[0] == '[') && (raw || !tags.In(text))
}

// checkJSON warns about a text that is not JSON, at the offending position.
func checkJSON(c *table.Checker, t *syntax.Text, many bool, format string, at []string) {
	if offset, what := jsonFault(t.Value, many); what != "" {
		c.Report(c.Spot(t, offset), fmt.Sprintf(format, what), at, true)
	}
}
