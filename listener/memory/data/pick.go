package data

import (
	"math"
	"math/bits"
	"slices"
	"strings"

	"mockserver/config"
	"mockserver/config/item"
	"mockserver/internal/list"
	"mockserver/listener/memory/data/edit"
	"mockserver/listener/memory/state"
	"mockserver/matcher"
	"mockserver/renderer"
)

// Rows are picked by hash as in multi-probe consistent hashing: the hash of its key gives each row
// a place on a circle, the value has several probes there, and the row that follows one of them
// most closely is picked. So a row that comes takes over values only for itself, and the values of
// a row that goes are all that move. The places are an order of the set.

// probes is the number of probes of a value. The most popular row has about 1+1/probes times the
// average number of values.
const probes = 8

// placeOf returns the place of a text on the circle, which is the same in every process.
func placeOf(text []byte) uint64 { return matcher.Mix(hashOf(text)) }

// appendPlace appends the first digits of a place in a form without zero bytes that sorts as the
// places do; eight digits tell all places of a large set apart.
func appendPlace(to []byte, place uint64, digits int) []byte {
	for range digits {
		var digit uint64
		digit, place = bits.Mul64(place, math.MaxUint8)
		to = append(to, byte(digit)+1)
	}
	return to
}

// appendGroup appends the form of the values that all rows of a group have.
func appendGroup(to []byte, values ...[]byte) []byte {
	if len(values) == 0 {
		return to
	}
	return appendPlace(to, matcher.Mix(hashOf(values...)), 4)
}

// placesName is the name of the order of places, by the members that all rows of a group share.
func placesName(members []string) string { return "\x00" + strings.Join(members, "\x00") }

// places returns that order.
func (s *set) places(members []string) *state.Member {
	ways := list.Map(members, func(name string) []string { return strings.Split(name, ".") })
	return &state.Member{Name: placesName(members), Value: func(row, to []byte) []byte {
		var room, keyRoom [128]byte
		var values [4][]byte
		all, made := values[:0], room[:0]
		for _, way := range ways {
			start := len(made)
			made = renderer.AppendOrdered(made, edit.Member(row, way))
			all = append(all, made[start:len(made):len(made)])
		}
		to = appendGroup(to, all...)
		key, _ := appendKey(keyRoom[:0], edit.Member(row, s.key), s.key)
		return appendPlace(to, placeOf(key), 8)
	}}
}

// hashed returns the orders of places that endpoints use, by the names of their sets.
func hashed(spec *config.Spec) map[string][][]string {
	all := map[string][][]string{}
	for i := range spec.Endpoints {
		for _, f := range spec.Endpoints[i].Find {
			if names := groupOf(&f); f.Hash.Value != "" && !slices.ContainsFunc(all[f.In.Value], func(known []string) bool { return slices.Equal(known, names) }) {
				all[f.In.Value] = append(all[f.In.Value], names)
			}
		}
	}
	for _, names := range all {
		slices.SortFunc(names, slices.Compare)
	}
	return all
}

// groupOf returns the members that the rows of a group share, as the endpoint names them.
func groupOf(f *item.Find) []string {
	return list.Map(f.Where, func(w item.Where) string { return w.Name })
}

// byHash returns the row that is picked by hash among those that have all values.
func (f *find) byHash(all []state.Condition, part []byte, w *work, r *matcher.Request) (row state.Row) {
	text, _ := f.hash.Text(r)
	var room [4][]byte
	values := room[:0]
	for i := range all {
		values = append(values, all[i].From.Value)
	}
	group := w.hold(appendGroup(w.room, values...))
	end := state.Bound{}
	if len(group) > 0 {
		end.Value = append(w.keep(group), "\xff\xff\xff\xff\xff\xff\xff\xff\xff"...)
	}
	nearest, from := uint64(math.MaxUint64), placeOf(text)
	for range probes {
		place := w.hold(appendPlace(append(w.room, group...), from, 8))
		for _, begin := range [][]byte{place, group} { // after the last row comes the first one
			after := first(w.tx.Within(f.set.Set, part, f.places, state.Bound{Value: begin}, end), all)
			if !after.Found() {
				continue
			}
			if distance := placeOf(after.Key) - from; !row.Found() || distance < nearest {
				row, nearest = after, distance
			}
			break
		}
		from = matcher.Mix(from + 1)
	}
	if row.Found() {
		return w.tx.Get(f.set.Set, part, row.Key)
	}
	return row
}

// first returns the first row that meets all conditions. Others in the list are there by chance:
// their group has the same form.
func first(rows state.Rows, all []state.Condition) (found state.Row) {
	rows.Each(0, 1, func(row state.Row) bool {
		for i := range all {
			if !all[i].Meets(row.JSON) {
				return true
			}
		}
		found = row
		return false
	})
	return found
}
