package data

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/internal/json"
	"mockserver/internal/wording"
	"mockserver/listener/memory/data/edit"
	"mockserver/listener/memory/state"
	"mockserver/renderer"
	"mockserver/renderer/scalar"
)

// newKeys generates the keys of rows that have none.
type newKeys struct {
	text    *renderer.Operand
	integer bool          // keys are the largest key plus 1
	largest *atomic.Int64 // largest integer that has been a key in the set
}

func compileNewKeys(d *item.Data) (*newKeys, syntax.Problems) {
	made := &newKeys{largest: new(atomic.Int64)}
	text := d.NewKey
	switch {
	case text.Value == item.NewKeyInt:
		made.integer = true
		return made, nil
	case text.Value == "":
		text.Value = "{{uuid}}"
	case slices.Contains(item.NewKeys, text.Value):
		text.Value = "{{" + text.Value + "}}"
	}
	var problems syntax.Problems
	made.text, problems = renderer.CompileMade(text, false, &renderer.Scope{})
	return made, problems
}

// atLeast records that an integer is in use as a key.
func (k *newKeys) atLeast(n int64) {
	for {
		last := k.largest.Load()
		if n <= last || k.largest.CompareAndSwap(last, n) {
			return
		}
	}
}

// wholeNumber returns the value of a key that is an integer from 1 to 2⁶². For any other key it
// returns 0.
func wholeNumber(key []byte) int64 {
	if len(key) == 0 || key[0] < '1' || key[0] > '9' || len(key) > 19 {
		return 0
	}
	n, err := strconv.ParseInt(string(key), 10, 64)
	if err != nil || n > 1<<62 {
		return 0
	}
	return n
}

// get returns the row that a text names, and the key that it has, or would have.
func (s *set) get(tx *state.Tx, part, text []byte) (row state.Row, key []byte) {
	if scalar.IsKey(text) {
		return tx.Get(s.Set, part, text), text
	}
	if scalar.IsAmbiguous(text) {
		if row = tx.Get(s.Set, part, text); row.Found() {
			return row, text
		}
	}
	key = scalar.AppendPlain(nil, text, maxKey)
	return tx.Get(s.Set, part, key), key
}

// isKey reports whether a value in a row is a key, in any notation.
func isKey(v json.Value, key []byte) bool {
	text := v.AppendText(nil)
	return string(scalar.AppendKey(nil, text, false, maxKey)) == string(scalar.AppendKey(nil, key, false, maxKey))
}

// mismatch returns what is wrong with the key in a body whose row the path names.
func (s *set) mismatch(body, key []byte) string {
	given := edit.Member(body, s.key)
	if given.Kind == json.Missing || isKey(given, key) {
		return ""
	}
	return fmt.Sprintf("the body has the key %s in %q, and the path has %q; expected the same", wording.Clip(string(given.Raw)), edit.Joined(s.key), wording.Clip(string(key)))
}

// maxKey is the maximum size of a key's text in bytes.
const maxKey = 512

// appendKey appends the text of a row's key, whose value is v, or returns what is wrong with the key.
func appendKey(to []byte, v json.Value, way []string) (made []byte, what string) {
	switch v.Kind {
	case json.Missing, json.Null:
		return nil, fmt.Sprintf("the row has no key; expected a member %q", edit.Joined(way))
	case json.Array, json.Object:
		return nil, fmt.Sprintf("the key %q is %s; expected a text or a number", edit.Joined(way), wording.Clip(string(v.Raw)))
	}
	if made = v.AppendText(to); !scalar.IsKey(made[len(to):]) {
		made = scalar.AppendKey(to, bytes.Clone(made[len(to):]), v.Kind == json.String, maxKey)
	}
	switch n := len(made) - len(to); {
	case n == 0:
		return nil, fmt.Sprintf("the key %q is empty; expected a text or a number", edit.Joined(way))
	case n > maxKey:
		return nil, fmt.Sprintf("the key %q has %d bytes; expected at most %d", edit.Joined(way), n, maxKey)
	}
	return made, ""
}
