package data

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"mockserver/config/item"
	"mockserver/internal/json"
	"mockserver/listener/memory/data/edit"
	"mockserver/listener/memory/state"
	"mockserver/matcher"
	"mockserver/renderer"
	"mockserver/renderer/scalar"
)

// scenario is a declared scenario. Its states are the rows of a set. A key that is still in the
// initial state has no row.
type scenario struct {
	declared item.Scenario
	set      *set
	initial  []byte // the row of the initial state
	begins   bool   // the scenario leaves the initial state by itself, once a request has seen it
}

// inState is a state that an endpoint requires or leads to, compiled.
type inState struct {
	of   *scenario
	key  *renderer.Operand // nil if the scenario has one state for all requests
	is   []string          // the states in which the endpoint answers; empty for any
	next string            // "" if the endpoint leads to no other state
	name int               // the index of its name among the endpoint's names
}

// oneState is the key of the state in a scenario that has one state for all requests.
const oneState = "-"

// stateRow returns the row for a state; since is a JSON text.
func stateRow(key, state, since string) []byte {
	b := []byte(`{`)
	if key != "" {
		b = append(json.AppendString(append(b, `"key":`...), []byte(key)), ',')
	}
	b = json.AppendString(append(b, `"state":`...), []byte(state))
	return append(append(append(b, `,"since":`...), since...), '}')
}

// keyOf returns the key of the state that a request sees.
func (s *inState) keyOf(w *work, r *matcher.Request) []byte {
	if s.key != nil {
		if text, ok := s.key.Text(r); ok && len(text) > 0 {
			if len(text) > maxKey { // such as a token: the key of a row is shorter
				text = fmt.Appendf(nil, "%x", sha256.Sum256(text))
			}
			return w.hold(scalar.AppendKey(w.room, text, true, maxKey))
		}
	}
	return w.keep([]byte(oneState))
}

// see reads the state, and reports whether the endpoint answers in this state.
func (s *inState) see(w *work, r *matcher.Request) bool {
	row := w.tx.Get(s.of.set.Set, nil, s.keyOf(w, r))
	text := row.JSON
	if !row.Found() {
		text = s.of.initial
	}
	r.Rows[s.name] = json.Value{Kind: json.Object, Raw: text}
	if len(s.is) == 0 {
		return true
	}
	now := r.Rows[s.name].Member("state")
	return now.Kind == json.String && slices.ContainsFunc(s.is, now.Equals) // a row from the admin API may have another type
}

// lead writes the state that the endpoint leads to.
func (s *inState) lead(w *work, r *matcher.Request) {
	key := s.keyOf(w, r)
	now := edit.Time(r.Now())
	kept := s.of.set.put(&w.tx, nil, key, w.tx.Get(s.of.set.Set, nil, key), stateRow(string(key), s.next, string(now)), r.Now())
	r.Rows[s.name] = json.Value{Kind: json.Object, Raw: kept}
}

// begin enters the initial state if the scenario leaves that state by itself and no request has
// asked for it before. It reports whether the state must be read again.
func (s *inState) begin(sets *Sets, w *work, r *matcher.Request) bool {
	if !s.of.begins {
		return false
	}
	key := s.keyOf(w, r)
	if s.of.set.Get(nil, key).Found() {
		return false
	}
	return sets.try(func(tx *state.Tx) error {
		if before := tx.Get(s.of.set.Set, nil, key); !before.Found() {
			s.of.set.put(tx, nil, key, before, stateRow(string(key), s.of.declared.First, string(edit.Time(r.Now()))), r.Now())
		}
		return nil
	}) == nil
}
