package item

import (
	"mockserver/config/syntax"
	"mockserver/config/table"
)

// Scenario is a state that requests depend on and change. It can have a separate value for each
// order, user and so on.
type Scenario struct {
	Pos   syntax.Pos
	Key   string      // "[3].scenario"
	Name  string      // unique among scenarios and sets
	Per   syntax.Text // an operand: each of its values has its own state; empty for one state
	First string      // the initial state
	Moves []Move      `key:"move"` // how it changes over time
}

// InState says in which states of a scenario an endpoint answers, and which state the endpoint
// leads to.
type InState struct {
	ByKey syntax.Text `key:"key"` // an operand that replaces the scenario's Per; empty for the scenario's
	Pos   syntax.Pos
	Key   string
	Name  syntax.Text // the scenario
	Is    []string    // the states; empty for any
	Next  string      // the state that the endpoint leads to; "" for none
}

var scenarioFields = []table.Field[Scenario]{
	table.Of[Scenario](table.Row{Key: "name", Doc: "the name by which endpoints refer to it", Required: true, Kinds: table.Texts, Pattern: namePattern, Form: nameForm, Is: isName}),
	table.Of[Scenario](table.Row{Key: "per", Doc: "an operand: each of its values has its own state; one state for all by default", Kinds: table.Texts, Filled: true}),
	table.Of[Scenario](table.Row{Key: "first", Doc: "the initial state", Required: true, Kinds: table.Texts, Filled: true}),
	table.By[Scenario](table.Row{Key: "move", Doc: "how it changes over time", Kinds: table.Lists, Form: movesForm, Item: moveItem}, decodeMoves),
}

// stateFields are the keys of a state with a key of its own.
var stateFields = []table.Field[InState]{
	table.Of[InState](table.Row{Key: "is", Doc: "the state, or a list of them", Kinds: table.Texts | table.Lists, Filled: true, Item: &table.Row{Kinds: table.Texts, Filled: true}}),
	table.Of[InState](table.Row{Key: "key", Of: "key", Doc: "an operand, instead of the scenario's per", Kinds: table.Scalars}),
}

var stateValue = &table.Row{Kinds: table.Texts | table.Lists | table.Maps, Filled: true, Form: "a state, a list of them, or a map with is and key",
	Item: &table.Row{Kinds: table.Texts, Filled: true}, Table: table.Rows(stateFields)}

// addStates decodes the states in which an endpoint answers.
func addStates(d *table.Decoder, v table.Value, into *[]InState) {
	for name, one := range d.Entries(v) {
		s := inState(into, name, one)
		if one.Kind == syntax.MapNode {
			table.Fill(d, one.Node, one.Key, stateFields, s)
		} else {
			s.Is = d.Strings(one)
		}
	}
}

// addNext decodes the states that an endpoint leads to.
func addNext(d *table.Decoder, v table.Value, into *[]InState) {
	for name, one := range d.Entries(v) {
		if one.Text.Value == "" {
			d.Refuse(one)
			continue
		}
		inState(into, name, one).Next = one.Text.Value
	}
}

// inState returns the entry of a scenario in all. It adds an entry if there is none.
func inState(all *[]InState, name *syntax.Node, v table.Value) *InState {
	for i := range *all {
		if (*all)[i].Name.Value == name.Text.Value {
			return &(*all)[i]
		}
	}
	text := name.Text
	text.Key = v.Key
	*all = append(*all, InState{Pos: v.Pos(), Key: v.Key, Name: text})
	return &(*all)[len(*all)-1]
}

// Rows returns the set whose rows hold the states that were entered.
func (s *Scenario) Rows() *Data {
	rows := &Data{Pos: s.Pos, Key: s.Key, Name: s.Name, Member: syntax.Text{Value: "key"}}
	if len(s.Moves) > 0 {
		rows.Updated = "since"
		rows.Steps = &Steps{Pos: s.Pos, Key: s.Key, Field: syntax.Text{Value: "state"}, Moves: s.Moves}
	}
	return rows
}
