package data

import (
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"mockserver/config"
	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/matcher"
	"mockserver/matcher/json"
	"mockserver/renderer"
)

// newKeys makes the keys of rows that have none.
type newKeys struct {
	text    *renderer.Made
	integer bool          // the largest key and 1
	largest *atomic.Int64 // of the set
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

// atLeast says that an integer is a key.
func (k *newKeys) atLeast(n int64) {
	for {
		last := k.largest.Load()
		if n <= last || k.largest.CompareAndSwap(last, n) {
			return
		}
	}
}

// newKey returns a new key as a JSON value.
func (w *work) newKey(k *newKeys, r *matcher.Request) []byte {
	start := len(w.room)
	if k.integer {
		n := k.largest.Add(1)
		w.keys = append(w.keys, madeKey{k, n})
		w.room = strconv.AppendInt(w.room, n, 10)
	} else {
		w.room = k.text.Append(w.room, r)
	}
	return w.made(start)
}

// keyed returns a row with a key, a new one if it has none.
func (w *work) keyed(row []byte, way []string, k *newKeys, r *matcher.Request) []byte {
	given := member(row, way)
	switch {
	case given.Kind == json.Missing && len(way) == 1:
		key := w.newKey(k, r)
		start := len(w.room)
		w.room = appendMember(w.room, row, way[0], key)
		return w.made(start)
	case given.Kind == json.Missing || given.Kind == json.Null:
		return w.with(row, way, w.newKey(k, r))
	}
	return row
}

// madeKey is an integer that was made as a key.
type madeKey struct {
	by *newKeys
	n  int64
}

// giveBack gives back the keys of rows that were not inserted, unless later ones have been made.
func (w *work) giveBack() {
	for _, m := range slices.Backward(w.keys) {
		m.by.largest.CompareAndSwap(m.n, m.n-1)
	}
	w.keys = w.keys[:0]
}

// wholeNumber returns a key that is an integer above 0, and 0 for any other.
func wholeNumber(key []byte) int64 {
	if len(key) == 0 || key[0] < '1' || key[0] > '9' || len(key) > 18 {
		return 0
	}
	n, err := strconv.ParseInt(string(key), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func joined(way []string) string { return strings.Join(way, ".") }
