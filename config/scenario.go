package config

import (
	"strings"

	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/wording"
)

// Scenario is a state that requests see and lead on, by a key of its own for each order, user or the
// like.
type Scenario struct {
	Pos   syntax.Pos  // left zero in Go
	Key   string      // "[3].scenario"; left "" in Go
	Name  string      // unique among scenarios and sets
	Per   syntax.Text // an operand: each value of it has a state of its own; empty for one state
	First string      // the state of which nothing is known
	Moves []Move      `key:"move"` // how it changes by itself
}

// InState says in which states of a scenario an endpoint answers, and to which it leads.
type InState struct {
	ByKey syntax.Text `key:"key"` // an operand, instead of the scenario's own; empty for that
	Pos   syntax.Pos  // left zero in Go
	Key   string      // left "" in Go
	Name  syntax.Text // the scenario
	Is    []string    // the states; empty for any
	Next  string      // the state that it leads to; "" for none
}

var scenarioFields = []table.Field[Scenario]{
	table.With(row{Key: "name", Doc: "what endpoints call it", Required: true, Kinds: table.Texts, Pattern: namePattern, Form: nameForm},
		func(d *decoder, v value, s *Scenario) { s.Name = decodeName(d, v, isName) }),
	table.Of[Scenario](row{Key: "per", Doc: "an operand: each value of it has a state of its own; one for all when left out", Kinds: table.Texts, Filled: true}),
	table.Of[Scenario](row{Key: "first", Doc: "the state that it begins in", Required: true, Kinds: table.Texts, Filled: true}),
	table.With(row{Key: "move", Doc: "how it changes by itself", Kinds: table.Lists, Item: moveItem},
		func(d *decoder, v value, s *Scenario) { s.Moves = decodeMoves(d, v) }),
}

// stateFields are the keys of a state with a key of its own.
var stateFields = []table.Field[InState]{
	table.With(row{Key: "is", Doc: "the state, or a list of them", Kinds: table.Texts | table.Lists, Filled: true, Item: &row{Kinds: table.Texts, Filled: true}},
		func(d *decoder, v value, s *InState) { s.Is = decodeStates(d, v) }),
	table.Of[InState](row{Key: "key", Of: "key", Doc: "an operand, instead of the scenario's own", Kinds: table.Scalars}),
}

var stateValue = &row{Kinds: table.Texts | table.Lists | table.Maps, Filled: true, Form: "a state, a list of them, or a map with is and key",
	Item: &row{Kinds: table.Texts, Filled: true}, Table: table.Rows(stateFields)}

func setScenario(d *decoder, v value, into *item) {
	s := &Scenario{Pos: v.Pos(), Key: v.Key}
	table.Fill(d, v.Node, v.Key, scenarioFields, s)
	into.scenario = s
}

// setStates decodes the states in which an endpoint answers.
func setStates(d *decoder, v value, e *Endpoint) {
	for _, entry := range v.Entries {
		one := v.Part(entry.Value, "."+wording.Label(entry.Key.Text.Value), v.Row.Value)
		if !d.Take(one) {
			continue
		}
		s := e.inState(entry.Key, one)
		if one.Kind == syntax.MapNode {
			table.Fill(d, one.Node, one.Key, stateFields, s)
		} else {
			s.Is = decodeStates(d, one)
		}
	}
}

// decodeStates returns a state, or those of a list.
func decodeStates(d *decoder, v value) []string {
	all := []value{v}
	if v.Kind == syntax.ListNode {
		all = v.Parts()
	}
	var states []string
	for _, one := range all {
		if !d.Take(one) {
			continue
		}
		if one.Text.Value == "" {
			d.Refuse(one)
			continue
		}
		states = append(states, one.Text.Value)
	}
	return states
}

// setNext decodes the states that an endpoint leads to.
func setNext(d *decoder, v value, e *Endpoint) {
	for _, entry := range v.Entries {
		one := v.Part(entry.Value, "."+wording.Label(entry.Key.Text.Value), v.Row.Value)
		if !d.Take(one) {
			continue
		}
		if one.Text.Value == "" {
			d.Refuse(one)
			continue
		}
		e.inState(entry.Key, one).Next = one.Text.Value
	}
}

// inState returns what the endpoint says of a scenario, which may be nothing yet.
func (e *Endpoint) inState(name *syntax.Node, v value) *InState {
	for i := range e.State {
		if e.State[i].Name.Value == name.Text.Value {
			return &e.State[i]
		}
	}
	text := name.Text
	text.Key = v.Key
	e.State = append(e.State, InState{Pos: v.Pos(), Key: v.Key, Name: text})
	return &e.State[len(e.State)-1]
}

// Rows returns the set whose rows are the states that were entered.
func (s *Scenario) Rows() *Data {
	rows := &Data{Pos: s.Pos, Key: s.Key, Name: s.Name, Member: syntax.Text{Value: "key"}}
	if len(s.Moves) > 0 {
		rows.Updated = "since"
		rows.Steps = &Steps{Pos: s.Pos, Key: s.Key, Field: syntax.Text{Value: "state"}, Moves: s.Moves}
	}
	return rows
}

// Claim says in those problems that have no position in a file which scenario they are about. It
// modifies ps and returns it.
func (s *Scenario) Claim(ps syntax.Problems) syntax.Problems {
	return claim(ps, s.Pos, "scenario "+wording.Label(s.Name))
}

// Condition returns when the endpoint answers, apart from its path, as a text for messages: its
// condition, and the states of scenarios. It is "" for an endpoint that always does.
func (e *Endpoint) Condition() string {
	var all []string
	if e.If.Value != "" {
		all = append(all, e.If.Value)
	}
	for i := range e.State {
		if s := &e.State[i]; len(s.Is) > 0 {
			all = append(all, "state "+s.Name.Value+" is "+strings.Join(s.Is, " or "))
		}
	}
	return strings.Join(all, " and ")
}
