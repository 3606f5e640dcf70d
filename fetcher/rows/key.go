package rows

import (
	"strings"

	"mockserver/internal/json"
	"mockserver/internal/wording"
)

// taker passes the rows on.
type taker struct {
	label string   // Options.Key in messages
	path  []string // its members, from the outermost
	yield Yield

	out []byte // buffer of a row as JSON
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
