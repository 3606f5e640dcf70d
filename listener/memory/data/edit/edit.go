// Package edit changes JSON objects as texts: the digits of numbers, the order of members and
// everything else that a change does not affect stay as they are.
package edit

import (
	"bytes"
	"strings"
	"time"

	"mockserver/internal/json"
)

// Member returns the value at a path in a row, which is a JSON object.
func Member(row []byte, way []string) json.Value {
	v := json.Value{Kind: json.Object, Raw: row}
	for _, name := range way {
		v = v.Member(name)
	}
	return v
}

// object holds the members of a JSON object, for lookups by name.
type object struct {
	all     []json.Member
	escaped bool           // a name may contain escapes
	table   map[string]int // used with many lookups: the last index of each decoded name
}

// many is the number of comparisons at which a table of names becomes cheaper.
const many = 4096

// members reads the members of an object into room.
func members(v json.Value, room []json.Member) object {
	return object{all: v.AppendMembers(room), escaped: bytes.IndexByte(v.Raw, '\\') >= 0}
}

// expect prepares for the given number of lookups.
func (o *object) expect(lookups int) {
	if len(o.all)*lookups < many {
		return
	}
	o.table = make(map[string]int, len(o.all))
	for i := range o.all {
		o.table[string(o.all[i].Key.AppendText(nil))] = i
	}
}

// find returns the index of the last member with the name key, or -1 if there is none. escaped says
// whether key may contain escapes.
func (o *object) find(key json.Value, escaped bool) int {
	if o.table != nil {
		if i, ok := o.table[string(key.AppendText(nil))]; ok {
			return i
		}
		return -1
	}
	for i := len(o.all) - 1; i >= 0; i-- {
		if bytes.Equal(o.all[i].Key.Raw, key.Raw) || (escaped || o.escaped) && bytes.Equal(o.all[i].Key.AppendText(nil), key.AppendText(nil)) {
			return i
		}
	}
	return -1
}

// AppendMerged appends a value with a patch merged into it, as defined by RFC 7396.
func AppendMerged(dst []byte, target, patch json.Value) []byte {
	if patch.Kind != json.Object {
		return append(dst, patch.Raw...)
	}
	return appendPatched(dst, target, patch, true)
}

// AppendAssigned appends a value with the members of an object in place of its own, as Object.assign of JavaScript does.
func AppendAssigned(dst []byte, target, patch json.Value) []byte {
	return appendPatched(dst, target, patch, false)
}

// appendPatched appends a value with the members of a patch. merges says that objects are merged, and that null
// removes a member.
func appendPatched(dst []byte, target, patch json.Value, merges bool) []byte {
	value := func(dst []byte, old, patch json.Value) []byte {
		if merges {
			return AppendMerged(dst, old, patch)
		}
		return append(dst, patch.Raw...)
	}
	keeps := func(v json.Value) bool { return !merges || v.Kind != json.Null }
	var roomT, roomP [16]json.Member
	changes, old := members(patch, roomP[:0]), members(target, roomT[:0])
	changes.expect(len(old.all))
	old.expect(len(changes.all))
	w := objectWriter{dst: append(dst, '{')}
	for i := range old.all {
		m := &old.all[i]
		c := changes.find(m.Key, old.escaped)
		switch {
		case c < 0:
			w.key(m.Key)
			w.dst = append(w.dst, m.Value.Raw...)
		case keeps(changes.all[c].Value) && old.find(m.Key, old.escaped) == i:
			w.key(m.Key)
			w.dst = value(w.dst, m.Value, changes.all[c].Value)
		}
	}
	for i := range changes.all {
		m := &changes.all[i]
		if keeps(m.Value) && old.find(m.Key, changes.escaped) < 0 && changes.find(m.Key, changes.escaped) == i {
			w.key(m.Key)
			w.dst = value(w.dst, json.Value{}, m.Value)
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
	if w.some {
		w.dst = append(w.dst, ',')
	}
	w.some = true
	w.dst = append(append(w.dst, key.Raw...), ':')
}

// AppendWith appends v with the member at a path set to value, a JSON text. Missing objects on the
// path are created; other values on the path are replaced by objects.
func AppendWith(dst []byte, v json.Value, way []string, value []byte) []byte {
	if len(way) == 0 {
		return append(dst, value...)
	}
	if v.Kind != json.Object {
		v.Raw = []byte("{}")
	}
	if at, old := v.Place(way[0]); old.Kind != json.Missing {
		dst = AppendWith(append(dst, v.Raw[:at]...), old, way[1:], value)
		return append(dst, v.Raw[at+len(old.Raw):]...)
	}
	if len(way) > 1 {
		value = AppendWith(nil, json.Value{}, way[1:], value)
	}
	return AppendMember(dst, v.Raw, way[0], value)
}

// AppendMember appends an object with an additional member, whose name the object must not have
// yet.
func AppendMember(dst, object []byte, name string, value []byte) []byte {
	end := len(object) - 1
	for object[end-1] <= ' ' {
		end--
	}
	dst = append(dst, object[:end]...)
	if object[end-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(json.AppendString(dst, []byte(name)), ':')
	return append(append(dst, value...), '}')
}

// Text returns a text as a JSON string.
func Text(text []byte) []byte { return json.AppendString(nil, text) }

// Time returns a time as a JSON text.
func Time(at time.Time) []byte {
	return at.UTC().AppendFormat(nil, `"2006-01-02T15:04:05.000Z"`)
}

// Same reports whether two values are of one kind and have the same text.
func Same(a, b json.Value) bool {
	return a.Kind == b.Kind && (bytes.Equal(a.Raw, b.Raw) || a.Kind == json.String && bytes.Equal(a.AppendText(nil), b.AppendText(nil)))
}

// Joined returns a path as it is written, a.b.
func Joined(way []string) string { return strings.Join(way, ".") }
