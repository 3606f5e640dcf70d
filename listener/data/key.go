package data

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"

	"mockserver/config"
	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/internal/json"
	"mockserver/internal/wording"
	"mockserver/listener/state"
	"mockserver/renderer"
	"mockserver/renderer/scalar"
)

// newKeys generates the keys of rows that have none.
type newKeys struct {
	text    *renderer.Made
	integer bool          // keys are the largest key plus 1
	largest *atomic.Int64 // largest integer that has been a key in the set
}

func compileNewKeys(d *config.Data) (*newKeys, syntax.Problems) {
	made := &newKeys{largest: new(atomic.Int64)}
	text := d.NewKey
	switch {
	case text.Value == config.NewKeyInt:
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

// A key that is a number has the same form in all notations: 4, 4.0 and 4e0 are the key 4. So has a
// text that is such a number without an exponent. Texts such as 12e4 and 007, which may be meant
// otherwise, stay as they are. Where a row is looked up, they first stand for themselves, and then
// for the number.

// isPlain reports whether a text is already in the form that a key has.
func isPlain(text []byte) bool {
	digits := 0
	for digits < len(text) && '0' <= text[digits] && text[digits] <= '9' {
		digits++
	}
	return digits > 0 && digits == len(text) && (digits == 1 || text[0] != '0') || !scalar.IsNumeric(text)
}

// isAmbiguous reports whether a text that is numeric may be meant otherwise.
func isAmbiguous(text []byte) bool {
	return bytes.ContainsAny(text, "eE") || !syntax.IsJSONNumber(text)
}

// appendKeyText appends the form that a key has; isText says that it is not a JSON number.
func appendKeyText(to, text []byte, isText bool) []byte {
	if isPlain(text) || isText && isAmbiguous(text) {
		return append(to, text...)
	}
	return scalar.AppendPlain(to, text, maxKey)
}

// get returns the row that a text names, and the key that it has, or would have.
func (s *set) get(tx *state.Tx, part, text []byte) (row state.Row, key []byte) {
	if isPlain(text) {
		return tx.Get(s.Set, part, text), text
	}
	if isAmbiguous(text) {
		if row = tx.Get(s.Set, part, text); row.Found() {
			return row, text
		}
	}
	key = scalar.AppendPlain(nil, text, maxKey)
	return tx.Get(s.Set, part, key), key
}

// has reports whether a row with the key of a new row exists.
func (s *set) has(tx *state.Tx, part, key []byte) bool {
	if !syntax.IsJSONNumber(key) {
		return tx.Get(s.Set, part, key).Found()
	}
	row, _ := s.get(tx, part, key)
	return row.Found()
}

// isKey reports whether a value in a row is a key, in any notation.
func isKey(v json.Value, key []byte) bool {
	text := v.AppendText(nil)
	return string(appendKeyText(nil, text, false)) == string(appendKeyText(nil, key, false))
}

// maxKey is the maximum size of a key's text in bytes.
const maxKey = 512

// keyOf returns the text of a row's key, or what is wrong with the key.
func keyOf(row json.Value, way []string) (key []byte, what string) {
	if row.Kind != json.Object {
		return nil, "the row is not an object"
	}
	return appendKey(nil, row.Raw, way)
}

// appendKey appends the text of an object's key, or returns what is wrong with the key.
func appendKey(to, row []byte, way []string) (made []byte, what string) {
	v := member(row, way)
	switch v.Kind {
	case json.Missing, json.Null:
		return nil, fmt.Sprintf("the row has no key; expected a member %q", joined(way))
	case json.Array, json.Object:
		return nil, fmt.Sprintf("the key %q is %s; expected a text or a number", joined(way), wording.Clip(string(v.Raw)))
	}
	if made = v.AppendText(to); !isPlain(made[len(to):]) {
		made = appendKeyText(to, bytes.Clone(made[len(to):]), v.Kind == json.String)
	}
	switch n := len(made) - len(to); {
	case n == 0:
		return nil, fmt.Sprintf("the key %q is empty; expected a text or a number", joined(way))
	case n > maxKey:
		return nil, fmt.Sprintf("the key %q has %d bytes; expected at most %d", joined(way), n, maxKey)
	}
	return made, ""
}
