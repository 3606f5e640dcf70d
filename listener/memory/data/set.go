package data

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/internal/json"
	"mockserver/internal/wording"
	"mockserver/listener/memory/data/edit"
	"mockserver/listener/memory/state"
	"mockserver/renderer"
)

// set is a declared set.
type set struct {
	*state.Set
	declared item.Data
	print    string // fingerprint of the declaration
	seen     look   // the metadata of the file when it was read
	settled  bool   // a later change to the file would be noticed
	sum      uint64 // hash of the content of the file
	base     *state.Base
	options  state.Options
	key      []string   // the path to the key
	hashed   [][]string // see places
	made     *newKeys
	steps    *steps // nil if rows do not change by themselves
	counters *counters
}

// members returns the members that requests can search or sort by: those of index, then those of
// sort, each once, and the orders of places.
func (s *set) members() []state.Member {
	var members []state.Member
	for _, name := range slices.Concat(s.declared.Index, s.declared.Sort) {
		if slices.ContainsFunc(members, func(m state.Member) bool { return m.Name == name.Value }) {
			continue
		}
		way := strings.Split(name.Value, ".")
		members = append(members, state.Member{Name: name.Value, Root: way[0], Value: func(row, to []byte) []byte {
			return renderer.AppendOrdered(to, edit.Member(row, way))
		}})
	}
	for _, names := range s.hashed {
		members = append(members, s.places(names))
	}
	return members
}

// isolation compiles the operand that selects the part of a set; it returns nil if there is only
// one part.
func (s *set) isolation(scope *renderer.Scope) (*renderer.Operand, syntax.Problems) {
	return renderer.CompileOperand(s.declared.Isolate, scope)
}

// order returns the index of the order of a member, and whether the member has one.
func (s *set) order(name string) (int, bool) {
	at := slices.IndexFunc(s.options.Members, func(m state.Member) bool { return m.Name == name })
	return max(0, at), at >= 0 || s.print == "" // only a set with errors lacks its members
}

func (s *set) notIndexed(name string) string {
	names := make([]string, 0, len(s.options.Members))
	for _, m := range s.options.Members[:len(s.options.Members)-len(s.hashed)] {
		names = append(names, m.Name)
	}
	known := "but it has none"
	if len(names) > 0 {
		known = "which has " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("the set %q has no index of %q%s; expected one of the members under index or sort, %s", s.declared.Name, name,
		wording.DidYouMean(name, names), known)
}

// keyJSON returns a key as a JSON value: as it is in the row, if the row contains it, or else in
// the form of the keys that are generated.
func (s *set) keyJSON(k *newKeys, row json.Value, key []byte) []byte {
	if v := edit.Member(row.Raw, s.key); v.Kind != json.Missing {
		return v.Raw
	}
	if k.integer && wholeNumber(key) > 0 {
		return key
	}
	return edit.Text(key)
}

// put writes a row in place of before, and returns the copy that is stored. If the member that
// changes by itself has a new value, put draws the next move.
func (s *set) put(tx *state.Tx, part, key []byte, before state.Row, row []byte, now time.Time) []byte {
	if !before.Found() {
		s.made.atLeast(wholeNumber(key))
	}
	if s.steps == nil {
		return tx.Put(s.Set, part, key, row, nil)
	}
	if !before.Found() {
		row = s.steps.begun(row)
	}
	is := edit.Member(row, s.steps.way)
	next := before.Move()
	if !before.Found() || !edit.Same(edit.Member(before.JSON, s.steps.way), is) {
		next = s.steps.enter(next, part, key, is, now)
	}
	return tx.Put(s.Set, part, key, row, next)
}

// mover returns the function that makes the moves of the set, or nil if there are none.
func (s *set) mover() state.Mover {
	if s.steps == nil {
		return nil
	}
	return s.steps.move
}
