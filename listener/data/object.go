package data

import (
	"bytes"

	"mockserver/matcher/json"
	"mockserver/renderer/escape"
)

// What is done to rows is done to their texts: digits, the order of members and everything that is not
// touched stay as they are.

// members returns the members of an object.
func members(v json.Value, room []json.Member) []json.Member {
	n := v.Len()
	if cap(room) < n {
		room = make([]json.Member, 0, n)
	}
	_, all := json.ParseObject(v.Raw, room[:0:n])
	return all
}

// sameKey reports whether two names of members are equal.
func sameKey(a, b json.Value) bool {
	if bytes.Equal(a.Raw, b.Raw) {
		return true
	}
	if bytes.IndexByte(a.Raw, '\\') < 0 && bytes.IndexByte(b.Raw, '\\') < 0 {
		return false
	}
	return bytes.Equal(a.AppendText(nil), b.AppendText(nil))
}

// lastOf returns the index of the last member with a name; -1 if there is none.
func lastOf(all []json.Member, key json.Value) int {
	for i := len(all) - 1; i >= 0; i-- {
		if sameKey(all[i].Key, key) {
			return i
		}
	}
	return -1
}

// many is the number of comparisons from which a table of names costs less.
const many = 4096

// index returns a function that finds the last member with a name.
func index(all []json.Member, lookups int) func(key json.Value) int {
	if len(all)*lookups < many {
		return func(key json.Value) int { return lastOf(all, key) }
	}
	table := make(map[string]int, len(all))
	for i := range all {
		table[string(all[i].Key.AppendText(nil))] = i
	}
	return func(key json.Value) int {
		if i, ok := table[string(key.AppendText(nil))]; ok {
			return i
		}
		return -1
	}
}

// appendMerged appends a value with a patch merged into it, as RFC 7396 says.
func appendMerged(dst []byte, target, patch json.Value) []byte {
	if patch.Kind != json.Object {
		return append(dst, patch.Raw...)
	}
	var roomT, roomP [16]json.Member
	changes := members(patch, roomP[:0])
	var old []json.Member
	if target.Kind == json.Object {
		old = members(target, roomT[:0])
	}
	changeOf, oldOf := index(changes, len(old)), index(old, len(changes))
	w := objectWriter{dst: append(dst, '{')}
	for i := range old {
		m := &old[i]
		c := changeOf(m.Key)
		switch {
		case c < 0:
			w.key(m.Key)
			w.dst = append(w.dst, m.Value.Raw...)
		case changes[c].Value.Kind != json.Null && oldOf(m.Key) == i:
			w.key(m.Key)
			w.dst = appendMerged(w.dst, m.Value, changes[c].Value)
		}
	}
	for i := range changes {
		m := &changes[i]
		if m.Value.Kind != json.Null && oldOf(m.Key) < 0 && changeOf(m.Key) == i {
			w.key(m.Key)
			w.dst = appendMerged(w.dst, json.Value{}, m.Value)
		}
	}
	return append(w.dst, '}')
}

// objectWriter writes the members of an object.
type objectWriter struct {
	dst  []byte
	some bool // a member has been written
}

func (w *objectWriter) key(key json.Value) {
	w.comma()
	w.dst = append(append(w.dst, key.Raw...), ':')
}

func (w *objectWriter) comma() {
	if w.some {
		w.dst = append(w.dst, ',')
	}
	w.some = true
}

// appendWith appends a value in which the member at a way has another value, a JSON text. Objects on
// the way that are not there are made; what is in the way and no object is replaced.
func appendWith(dst []byte, v json.Value, way []string, value []byte) []byte {
	if len(way) == 0 {
		return append(dst, value...)
	}
	var room [16]json.Member
	var old []json.Member
	if v.Kind == json.Object {
		old = members(v, room[:0])
	}
	at := -1
	for i := range old {
		if old[i].Key.Equals(way[0]) {
			at = i
		}
	}
	w := objectWriter{dst: append(dst, '{')}
	for i := range old {
		w.key(old[i].Key)
		if i == at {
			w.dst = appendWith(w.dst, old[i].Value, way[1:], value)
		} else {
			w.dst = append(w.dst, old[i].Value.Raw...)
		}
	}
	if at < 0 {
		w.comma()
		w.dst = append(escape.AppendJSONText(w.dst, []byte(way[0])), ':')
		w.dst = appendWith(w.dst, json.Value{}, way[1:], value)
	}
	return append(w.dst, '}')
}

// appendCompact appends a JSON text without the blanks between its values.
func appendCompact(dst, text []byte) []byte {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			dst = append(dst, c, text[i+1]) // the text is valid, so it does not end here
			i++
			continue
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			continue
		}
		dst = append(dst, text[i])
	}
	return dst
}

// appendText returns a text as a JSON string.
func appendText(text []byte) []byte { return escape.AppendJSONText(nil, text) }
