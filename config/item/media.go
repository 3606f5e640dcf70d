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

// JSONFault returns where and why a text is not a JSON value or, if many is set, not a sequence of
// JSON values. The reason is "" for a valid text.
func JSONFault(text string, many bool) (offset int, what string) {
	var value json.RawMessage
	var err error
	if d := json.NewDecoder(strings.NewReader(text)); many {
		for err == nil {
			err = d.Decode(&value)
		}
	} else {
		err = json.Unmarshal([]byte(text), &value)
	}
	malformed, ok := errors.AsType[*json.SyntaxError](err)
	switch {
	case err == nil || many && errors.Is(err, io.EOF):
		return 0, ""
	case ok:
		return max(int(malformed.Offset)-1, 0), malformed.Error()
	}
	return len(text), err.Error() // the text ends in the middle of a value
}

// looksFixedJSON reports whether a text begins like a JSON object or array, and has no
// placeholders.
func looksFixedJSON(text string, raw bool) bool {
	begin := strings.TrimLeft(text, " \t\r\n")
	return begin != "" && (begin[0] == '{' || begin[0] == '[') && (raw || !tags.In(text))
}

// checkJSON warns about a text that is not JSON, at the offending position.
func checkJSON(c *table.Checker, t *syntax.Text, many bool, format string, at []string) {
	if offset, what := JSONFault(t.Value, many); what != "" {
		c.Report(c.Spot(t, offset), fmt.Sprintf(format, what), at, true)
	}
}
