package data

import (
	"errors"
	"fmt"
	"time"

	"mockserver/internal/json"
	"mockserver/internal/wording"
	"mockserver/listener/memory/data/edit"
	"mockserver/listener/memory/state"
)

// The reasons why an operation on a set through the admin API fails.
var (
	ErrNoSet = errors.New("there is no such set")
	ErrNoRow = errors.New("there is no such row")
)

// Set returns the set with a name, or nil if there is none.
func (s *Sets) Set(name string) *state.Set { return s.store.Set(name) }

// known returns a declared set, or nil if there is none.
func (s *Sets) known(name string) *set {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current[name]
}

// Row returns the row with a key in a part of a set, both of which may not exist.
func (s *Sets) Row(name string, part, key []byte) (row state.Row) {
	if known := s.known(name); known != nil {
		var tx state.Tx
		tx.Begin(s.store)
		row, _ = known.get(&tx, part, key)
	}
	return row
}

// Put writes a row for the admin API: in place of the row with its key or, if merge is true, merged
// into that row (RFC 7396). It returns the resulting row. The errors are ErrNoSet, ErrNoRow for
// merge, a *state.FullError, and errors that say what is wrong with the row.
func (s *Sets) Put(name string, part, key, row []byte, merge bool) ([]byte, error) {
	known := s.known(name)
	if known == nil {
		return nil, ErrNoSet
	}
	v := json.Parse(row)
	if v.Kind != json.Object {
		return nil, errors.New("the body is not a JSON object")
	}
	if what := known.mismatch(v.Raw, key); what != "" {
		return nil, errors.New(what)
	}
	var made []byte
	err := s.try(func(tx *state.Tx) error {
		old, key := known.get(tx, part, key)
		if merge && !old.Found() {
			return ErrNoRow
		}
		before := json.Value{Kind: json.Object, Raw: old.JSON}
		made = json.AppendCompact(nil, v.Raw)
		if merge {
			made = edit.AppendMerged(nil, before, v)
		}
		made = edit.AppendWith(nil, json.Value{Kind: json.Object, Raw: made}, known.key, known.keyJSON(known.made, before, key))
		if _, what := appendKey(nil, edit.Member(made, known.key), known.key); what != "" {
			return errors.New(what)
		}
		made = known.put(tx, part, key, old, made, time.Now())
		return nil
	})
	return made, err
}

// Delete deletes a row for the admin API. The errors are ErrNoSet, ErrNoRow and a *state.FullError.
func (s *Sets) Delete(name string, part, key []byte) error {
	known := s.known(name)
	if known == nil {
		return ErrNoSet
	}
	return s.try(func(tx *state.Tx) error {
		row, key := known.get(tx, part, key)
		if !row.Found() {
			return ErrNoRow
		}
		tx.Delete(known.Set, part, key)
		return nil
	})
}

// Reset drops the changes to the sets with the given names, or to all sets if there are no names,
// in one part, or in all parts if part is nil. Picks from these sets start over. The error wraps
// ErrNoSet and contains the name; in that case nothing was reset.
func (s *Sets) Reset(names []string, part []byte) error {
	sets := s.store.Sets()
	if len(names) > 0 {
		sets = nil
		for _, name := range names {
			set := s.store.Set(name)
			if set == nil {
				return fmt.Errorf("%w: %q", ErrNoSet, wording.Clip(name))
			}
			sets = append(sets, set)
		}
	}
	s.mu.Lock() // no set is replaced meanwhile
	defer s.mu.Unlock()
	for _, set := range sets {
		set.Reset(part)
		for of, t := range s.turns {
			if of.set == set.Name {
				t.Reset(part)
			}
		}
	}
	return nil
}
