package data

import (
	"slices"
	"strconv"

	"mockserver/internal/json"
	"mockserver/listener/memory/data/edit"
	"mockserver/listener/memory/state"
	"mockserver/matcher"
	"mockserver/renderer"
)

// work holds the transaction and the working memory of a request that uses rows. It is stored with
// the request.
type work struct {
	tx    state.Tx
	used  bool    // work was used since the last Release
	owner *Access // the last Access that has looked for rows; nil if none
	stale bool    // not all endpoints were tried with rows of the same time
	room  []byte  // memory for values
	equal []state.Condition
	keys  []madeKey
	taken []taken
}

// taken is a row that the request takes if the endpoint answers.
type taken struct {
	set  *set
	part []byte
	row  state.Row
}

// takenFrom returns the seqs of the rows of a part that the request takes.
func (w *work) takenFrom(s *set, part []byte) (seqs []uint64) {
	for _, t := range w.taken {
		if t.set == s && string(t.part) == string(part) && (t.part == nil) == (part == nil) {
			seqs = append(seqs, t.row.Seq)
		}
	}
	return seqs
}

// keptRoom is the size in bytes of the largest buffer that is kept for another request.
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

// Release ends the work of a request, so that nothing that the request has read stays in memory.
func (w *work) Release() {
	if !w.used {
		return
	}
	w.tx.End()
	clear(w.equal)
	clear(w.taken)
	w.owner, w.stale, w.used = nil, false, false
	if cap(w.room) > keptRoom {
		w.room = nil
	}
}

// hold makes what was appended to the room a part of it, and returns that part. It stays valid until
// the work is started again.
func (w *work) hold(appended []byte) []byte {
	start := len(w.room)
	w.room = appended
	return appended[start:len(appended):len(appended)]
}

// keep returns a copy of a text.
func (w *work) keep(text []byte) []byte { return w.hold(append(w.room, text...)) }

// with returns a row with the member at a path set to value, a JSON text.
func (w *work) with(row []byte, way []string, value []byte) []byte {
	return w.hold(edit.AppendWith(w.room, json.Value{Kind: json.Object, Raw: row}, way, value))
}

// partOf returns the name of the part of a set that a request sees, or nil for the common part.
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

// keyOf returns the text of the key of a row that a request makes, whose value is v, or what is wrong
// with the key.
func (w *work) keyOf(v json.Value, way []string) (key []byte, what string) {
	key, what = appendKey(w.room, v, way)
	if what == "" {
		key = w.hold(key)
	}
	return key, what
}

// newKey returns a new key as a JSON value. An integer is returned only if no row of the part has it
// as its key: a request may have inserted a row with the number that was drawn.
func (w *work) newKey(s *set, k *newKeys, part []byte, r *matcher.Request) []byte {
	if !k.integer {
		return w.hold(k.text.AppendJSON(w.room, r))
	}
	for {
		n := k.largest.Add(1)
		w.keys = append(w.keys, madeKey{k, n})
		if key := w.hold(strconv.AppendInt(w.room, n, 10)); !w.tx.Get(s.Set, part, key).Found() {
			return key
		}
	}
}

// keyed returns a row with its key, which is a new one if the row has none, and the text of the key,
// or what is wrong with the key.
func (w *work) keyed(row []byte, s *set, k *newKeys, part []byte, r *matcher.Request) (made, key []byte, what string) {
	way := s.key
	given := edit.Member(row, way)
	switch kind := given.Kind; {
	case kind == json.Missing && len(way) == 1:
		given = json.Parse(w.newKey(s, k, part, r))
		row = w.hold(edit.AppendMember(w.room, row, way[0], given.Raw))
	case kind == json.Missing || kind == json.Null:
		given = json.Parse(w.newKey(s, k, part, r))
		row = w.with(row, way, given.Raw)
	}
	key, what = w.keyOf(given, way)
	return row, key, what
}

// madeKey is an integer key that was generated.
type madeKey struct {
	by *newKeys
	n  int64
}

// giveBack releases the keys that were generated for rows that were not inserted, unless later keys
// have been generated.
func (w *work) giveBack() {
	for _, m := range slices.Backward(w.keys) {
		m.by.largest.CompareAndSwap(m.n, m.n-1)
	}
	w.keys = w.keys[:0]
}
