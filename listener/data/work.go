package data

import (
	"slices"
	"strconv"

	"mockserver/listener/state"
	"mockserver/matcher"
	"mockserver/matcher/json"
	"mockserver/renderer"
)

// work is what a request does with rows. It is kept with the memory of the request.
type work struct {
	tx    state.Tx
	used  bool    // since the last Release
	owner *Access // whose rows it has; nil for none
	room  []byte  // for values
	equal []state.Equal
	keys  []madeKey
}

// keptRoom is the largest buffer that is kept for another request, in bytes.
const keptRoom = 64 << 10

// workOf returns the work of a request.
func workOf(r *matcher.Request) *work {
	w, _ := r.Access.(*work)
	if w == nil {
		w = &work{}
		r.Access = w
	}
	w.used = true
	return w
}

// Release ends the work of a request: nothing that it has seen is kept in memory by it.
func (w *work) Release() {
	if !w.used {
		return
	}
	w.tx.End()
	clear(w.equal)
	w.owner, w.used = nil, false
	if cap(w.room) > keptRoom {
		w.room = nil
	}
}

// made returns what was appended to the room from a place on.
func (w *work) made(from int) []byte { return w.room[from:len(w.room):len(w.room)] }

// keep copies a text to where it stays as it is until the work begins anew.
func (w *work) keep(text []byte) []byte {
	start := len(w.room)
	w.room = append(w.room, text...)
	return w.room[start:len(w.room):len(w.room)]
}

// with returns a row in which the member at a way has another value, a JSON text. It stays as it is until
// the work begins anew.
func (w *work) with(row []byte, way []string, value []byte) []byte {
	start := len(w.room)
	w.room = appendWith(w.room, json.Value{Kind: json.Object, Raw: row}, way, value)
	return w.made(start)
}

// merged returns a row with a patch merged into it.
func (w *work) merged(row, patch json.Value) []byte {
	start := len(w.room)
	w.room = appendMerged(w.room, row, patch)
	return w.made(start)
}

// part returns the name of the part of a set that a request sees; nil for the one of all.
func partOf(o *renderer.Operand, w *work, r *matcher.Request) []byte {
	if o == nil {
		return nil
	}
	text, ok := o.Text(r)
	if !ok || len(text) == 0 {
		return nil
	}
	return w.keep(text)
}

// keyOf is the function keyOf for a row that a request makes.
func (w *work) keyOf(row []byte, way []string) (key []byte, what string) {
	start := len(w.room)
	made, what := appendKey(w.room, row, way)
	if what != "" {
		return nil, what
	}
	w.room = made
	return w.made(start), ""
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
