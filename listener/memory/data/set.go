package data

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/internal/files"
	"mockserver/internal/json"
	"mockserver/internal/list"
	"mockserver/internal/wording"
	"mockserver/listener/memory/data/edit"
	"mockserver/listener/memory/state"
	"mockserver/renderer"
)

// set is a declared set.
type set struct {
	*state.Set
	declared item.Data
	print    string     // fingerprint of the declaration
	seen     files.Look // the metadata of the file when it was read
	settled  bool       // a later change to the file would be noticed
	sum      uint64     // hash of the content of the file
	base     *state.Base
	anew     bool // base was read for the declaration, and is not yet that of Set
	options  state.Options
	members  []*state.Member
	key      []string   // the path to the key
	hashed   [][]string // see places
	made     *newKeys
	steps    *steps // nil if rows do not change by themselves
	counters *counters
}

// addMembers adds the members that requests can search or sort by: those of index, then those of
// sort, each once, and the orders of places.
func (s *set) addMembers() {
	for _, name := range slices.Concat(s.declared.Index, s.declared.Sort) {
		if memberOf(s.members, name.Value) != nil {
			continue
		}
		s.members = append(s.members, newMember(name.Value))
	}
	for _, names := range s.hashed {
		s.members = append(s.members, s.places(names))
	}
}

// newMember returns the member with a name such as a.b.
func newMember(name string) *state.Member {
	way := strings.Split(name, ".")
	return &state.Member{Name: name, Root: way[0], Value: func(row, to []byte) []byte {
		return renderer.AppendOrdered(to, edit.Member(row, way))
	}}
}

// isolation compiles the operand that selects the part of a set; it returns nil if there is only
// one part.
func (s *set) isolation(scope *renderer.Scope) (*renderer.Operand, syntax.Problems) {
	return renderer.CompileOperand(s.declared.Isolate, scope)
}

// memberOf returns the member with a name, or nil if there is none.
func memberOf(all []*state.Member, name string) *state.Member {
	for _, m := range all {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// ordered returns the member with a name, or the problem that requests cannot search or sort by it.
func (s *set) ordered(text syntax.Text) (*state.Member, syntax.Problems) {
	name := text.Value
	if m := memberOf(s.members, name); m != nil || s.print == "" { // only a set with errors lacks its members
		return m, nil
	}
	names := list.Map(s.members[:len(s.members)-len(s.hashed)], func(m *state.Member) string { return m.Name })
	known := "but it has none"
	if len(names) > 0 {
		known = "which has " + strings.Join(names, ", ")
	}
	return nil, syntax.Problems{{Pos: text.Pos, Key: text.Key, What: fmt.Sprintf("the set %q has no index of %q%s; expected one of the members under index or sort, %s",
		s.declared.Name, name, wording.DidYouMean(name, names), known)}}
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
