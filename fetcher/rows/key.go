package rows

import (
	"fmt"
	"strings"

	"mockserver/internal/json"
	"mockserver/internal/wording"
)

// maxKey is the maximum size of a key's text in bytes.
const maxKey = 512

// taker checks the keys of rows and passes the rows on.
type taker struct {
	label string   // Options.Key in messages
	path  []string // its members, from the outermost
	yield Yield

	out, key []byte // buffers: a row as JSON, the text of its key
}

func newTaker(o Options, yield Yield) (taker, error) {
	if o.Key == "" {
		return taker{}, problem(Place{}, "key is empty; expected the name of a member")
	}
	return taker{label: wording.Clip(o.Key), path: strings.Split(o.Key, "."), yield: yield}, nil
}

// find looks for the member at the end of path in v. If it does not exist, find returns the
// innermost value on the path that exists, and the part of the path that is missing in it.
func find(v json.Value, path []string) (inner json.Value, missing []string) {
	for len(path) > 0 {
		next := v.Member(path[0])
		if next.Kind == json.Missing {
			break
		}
		v, path = next, path[1:]
	}
	return v, path
}

// textOf returns the text of a key, or what is wrong with the key. The text is valid until the next
// call.
func (t *taker) textOf(v json.Value) (text []byte, wrong string) {
	if !isKey(v) {
		return nil, fmt.Sprintf("key %q is %s; expected a text, a number or a boolean", t.label, kinds[v.Kind])
	}
	t.key = v.AppendText(t.key[:0])
	switch n := len(t.key); {
	case n == 0:
		return nil, fmt.Sprintf("key %q is empty", t.label)
	case n > maxKey:
		return nil, fmt.Sprintf("key %q has %d bytes; expected at most %d", t.label, n, maxKey)
	}
	return t.key, ""
}

func isKey(v json.Value) bool {
	return v.Kind == json.String || v.Kind == json.Number || v.Kind == json.Bool
}

// keyOf is like textOf, for a row of a table: cell is the JSON text in the column of the key.
func (t *taker) keyOf(cell []byte) (text []byte, wrong string) {
	v, missing := find(json.Parse(cell), t.path[1:])
	if len(missing) > 0 {
		return nil, t.keyless()
	}
	return t.textOf(v)
}

// keyless returns what is wrong with a row without a key.
func (t *taker) keyless() string { return fmt.Sprintf("row has no key: member %q is missing", t.label) }

// kinds are the kinds of JSON values in messages.
var kinds = [...]string{
	json.Missing: "missing",
	json.Null:    "null",
	json.Bool:    "a boolean",
	json.Number:  "a number",
	json.String:  "a text",
	json.Array:   "a list",
	json.Object:  "an object",
}
