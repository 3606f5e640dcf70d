package data

import (
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"time"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/internal/json"
	"mockserver/listener/memory/data/edit"
	"mockserver/listener/memory/state"
	"mockserver/matcher"
	"mockserver/renderer"
)

// Webhooks compiles the webhooks of a move, and returns a function that sends them when a row has
// made the move at the given time; the row is among the rows of the request. It returns nil if
// there are no webhooks.
type Webhooks func(all []item.Webhook, name string, scope *renderer.Scope) (send func(r *matcher.Request, at time.Time), problems syntax.Problems)

// steps define how a member of the rows of a set changes by itself. They are compiled and
// immutable.
type steps struct {
	set     *set
	way     []string
	first   []byte   // the member's value in a new row, as a JSON text; nil if none
	updated []string // the path to the member that has the time of the last change; nil if none
	seed    uint64   // seed of the set
	moves   []move
}

// move is a change that a row makes by itself.
type move struct {
	from    string
	after   func(part float64) time.Duration
	to      []choice
	members []setting
	send    func(r *matcher.Request, at time.Time) // nil if there are no webhooks
}

// choice is a value that may be entered, with the sum of the weights up to and including this one.
type choice struct {
	value []byte // a JSON text
	sum   float64
}

// shortest is the shortest time between two moves of a row, so that rows whose moves form a cycle
// do not keep the server busy.
const shortest = time.Millisecond

// suspended is how late a move may be. If a move is later, the server must have been suspended, and
// the time of the next move counts from now.
const suspended = time.Second

// compileSteps compiles the steps of a set; it returns nil if there are none. name is the name of a
// row in texts.
func (s *Sets) compileSteps(made *set, name string) (*steps, syntax.Problems) {
	d := made.declared.Steps
	if d == nil {
		return nil, nil
	}
	c := &steps{set: made, way: strings.Split(d.Field.Value, "."), seed: s.seed ^ matcher.Mix(hashOf([]byte(made.declared.Name)))}
	if d.First != "" {
		c.first = edit.Text([]byte(d.First))
	}
	if u := made.declared.Updated; u != "" {
		c.updated = strings.Split(u, ".")
	}
	scope := s.scope
	scope.Rows = []string{name}
	var problems syntax.Problems
	if overlap(c.way, made.key) {
		problems = append(problems, syntax.Problem{Pos: d.Field.Pos, Key: d.Field.Key, What: fmt.Sprintf("%q is the key of the row; expected another member", d.Field.Value)})
	}
	for i := range d.Moves {
		m := &d.Moves[i]
		one := move{from: m.From, after: m.After.Lengths()}
		if one.after == nil {
			one.after = func(float64) time.Duration { return 0 }
		}
		if m.After != nil && len(m.To) > 0 && one.after(0.999) == 0 {
			problems = append(problems, syntax.Problem{Pos: m.Pos, Key: m.Key + ".after", Warning: true,
				What: fmt.Sprintf("is 0; the row moves after %v. To enter %q at once, name it in first, or in the request that enters %q", shortest, m.To[0].Value, m.From)})
		}
		sum := 0.0
		for j := range m.To {
			sum += m.To[j].EffectiveWeight()
			one.to = append(one.to, choice{edit.Text([]byte(m.To[j].Value)), sum})
		}
		for j := range m.Set {
			to, wrong := renderer.CompileMade(m.Set[j].Value.Text, m.Set[j].Value.JSON, &scope)
			problems = append(problems, wrong...)
			if name := m.Set[j].Name; name == made.key[0] || name == c.way[0] {
				problems = append(problems, syntax.Problem{Pos: m.Set[j].Value.Text.Pos, Key: m.Set[j].Value.Text.Key,
					What: fmt.Sprintf("%q is the key of the row, or the member that moves; expected another member", name)})
			}
			one.members = append(one.members, setting{[]string{m.Set[j].Name}, to})
		}
		if len(m.Webhooks) > 0 {
			var wrong syntax.Problems
			one.send, wrong = s.webhooks(m.Webhooks, fmt.Sprintf("%s from %s", made.declared.Name, m.From), &scope)
			problems = append(problems, wrong...)
		}
		c.moves = append(c.moves, one)
	}
	return c, problems
}

// overlap reports whether one of two paths leads to the other's member, or to a part of it.
func overlap(a, b []string) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}

// hashOf returns a hash of texts that is the same in every process. A zero byte after each text
// separates them.
func hashOf(all ...[]byte) uint64 {
	h := fnv.New64a()
	for _, text := range all {
		_, _ = h.Write(text) // never fails
		_, _ = io.WriteString(h, "\x00")
	}
	return h.Sum64()
}

// begun returns a new row with the first value of the member, unless the row already has a value.
func (s *steps) begun(row []byte) []byte {
	if s == nil || s.first == nil || edit.Member(row, s.way).Kind != json.Missing {
		return row
	}
	return edit.AppendWith(nil, json.Value{Kind: json.Object, Raw: row}, s.way, s.first)
}

// of returns the move from a value, or nil if there is none.
func (s *steps) of(value json.Value) *move {
	for i := range s.moves {
		if value.Kind == json.String && value.Equals(s.moves[i].from) {
			return &s.moves[i]
		}
	}
	return nil
}

// The streams of random numbers for one entry: for drawing its move, and for the texts of the move.
const (
	ofDraw = iota
	ofMove
	streams
)

// random returns the random numbers for an entry of a row into a value.
func (s *steps) random(part, key []byte, entry uint32, stream uint64) (random matcher.Random) {
	random.Seed(s.seed^matcher.Mix(hashOf(part, key)), uint64(entry)*streams+stream)
	return random
}

// enter draws the next move of a row once its member has entered a value. The result depends on the
// seed, the set, the part, the key, and how often the row has entered a value before.
func (s *steps) enter(before *state.Move, part, key []byte, value json.Value, now time.Time) *state.Move {
	next := &state.Move{Entry: 1}
	if before != nil {
		next.Entry = before.Entry + 1
	}
	m := s.of(value)
	if m == nil {
		return next
	}
	random := s.random(part, key, next.Entry, ofDraw)
	next.At = now.Add(max(shortest, m.after(random.Float64()))).UnixNano()
	drawn := random.Float64() * m.to[len(m.to)-1].sum
	for i := range m.to {
		if next.To = m.to[i].value; drawn < m.to[i].sum {
			break
		}
	}
	return next
}

// move makes the move of a row. It is a state.Mover.
func (s *steps) move(tx *state.Tx, part []byte, row state.Row) func() {
	next := row.Move()
	m := s.of(edit.Member(row.JSON, s.way))
	if m == nil {
		return nil // the move is no longer declared
	}
	at := time.Unix(0, next.At)
	if now := time.Now(); now.Sub(at) > suspended {
		at = now
	}
	r := matcher.Acquire(matcher.Input{Time: at})
	r.Random = s.random(part, row.Key, next.Entry, ofMove)
	made := edit.AppendWith(nil, json.Value{Kind: json.Object, Raw: row.JSON}, s.way, next.To)
	if s.updated != nil {
		made = edit.AppendWith(nil, json.Value{Kind: json.Object, Raw: made}, s.updated, edit.Time(at))
	}
	for i := range m.members {
		r.Rows = append(r.Rows[:0], json.Value{Kind: json.Object, Raw: made})
		value := m.members[i].value.AppendJSON(nil, r)
		made = edit.AppendWith(nil, json.Value{Kind: json.Object, Raw: made}, m.members[i].way, value)
	}
	r.Stopped = nil // if a text was too long, the row moves all the same
	kept := s.set.put(tx, part, row.Key, row, made, at)
	r.Rows = append(r.Rows[:0], json.Value{Kind: json.Object, Raw: kept})
	return func() {
		if m.send != nil {
			m.send(r, at)
		}
		matcher.Release(r)
	}
}

// setting is a member to be set.
type setting struct {
	way   []string // the path, a single name
	value *renderer.Operand
}
