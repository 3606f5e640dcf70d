package item

import (
	"fmt"
	"slices"

	"mockserver/config/policy"
	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/wording"
)

// Steps describes how a member of the rows of a set changes over time.
type Steps struct {
	Pos   syntax.Pos
	Key   string
	Field syntax.Text
	First string // the value of the member in a new row that lacks it; "" leaves the member out
	Moves []Move `key:"move"`
}

// Move is a change to a row that happens some time after the member got a certain value.
type Move struct {
	Pos      syntax.Pos
	Key      string
	From     string          // the value that starts the move
	After    *policy.Latency // a latency without rates; never nil in a valid spec
	To       []Choice        // one of them is chosen, by weight
	Set      []Setting       // additional members of the row
	Webhooks []Webhook       // sent when the row changes
}

// Choice is one of the values that a member may get.
type Choice struct {
	Weight   float64 `given:"Weighted"` // 1 if it is 0 and Weighted is not set
	Weighted bool    // Weight applies even if it is 0
	Value    string
}

var stepsFields = []table.Field[Steps]{
	table.Of[Steps](table.Row{Key: "field", Doc: "the member that changes, a.b for a nested one", Required: true, Kinds: table.Texts, Filled: true}),
	table.Of[Steps](table.Row{Key: "first", Doc: "its value in a new row that does not have it", Kinds: table.Texts, Filled: true}),
	table.By[Steps](table.Row{Key: "move", Doc: "how it changes", Required: true, Kinds: table.Lists, Form: movesForm, Item: moveItem}, decodeMoves),
}

var moveFields = slices.Concat(
	[]table.Field[Move]{
		table.Of[Move](table.Row{Key: "from", Doc: "the value before the move", Required: true, Kinds: table.Texts, Filled: true}),
		policy.LengthKey[Move](table.Row{Key: "after", Doc: "how long after the value was entered: a duration, or any form of latency", Required: true}),
		table.With(table.Row{Key: "to", Doc: "the value after the move, or several with their weights", Required: true, Kinds: table.Texts | table.Lists, Filled: true,
			Item: &table.Row{Kinds: table.Maps, Form: "a map, such as {value: paid, weight: 2}", Table: table.Rows(choiceFields)}}, setTo),
		table.By[Move](table.Row{Key: "set", Doc: "further members of the row and their values", Kinds: table.Maps, Value: &table.Row{Kinds: table.Anything}}, decodeSettings),
	},
	webhookKeys("a request that the server sends at that moment", func(m *Move) *[]Webhook { return &m.Webhooks }),
)

const movesForm = "a list of moves, such as [{from: new, after: 2s, to: paid}]"

var moveItem = &table.Row{Kinds: table.Maps, Table: table.Rows(moveFields)}

var choiceFields = []table.Field[Choice]{
	table.Of[Choice](table.Row{Key: "value", Doc: "the value after the move", Required: true, Kinds: table.Texts, Filled: true}),
	table.Of[Choice](table.Row{Key: "weight", Given: "weighted", Doc: "its share in the sum of all weights, 1 by default; 0 is never chosen", Kinds: table.Numbers, UpTo: maxWeight}),
}

var stepsField = table.Row{Key: "steps", Doc: "how a member of the rows changes over time", Kinds: table.Maps, Table: table.Rows(stepsFields)}

func decodeSteps(d *table.Decoder, v table.Value) *Steps {
	s := &Steps{Pos: v.Pos(), Key: v.Key}
	table.Fill(d, v.Node, v.Key, stepsFields, s)
	if moves := v.Get("move"); moves != nil && moves.Kind == syntax.ListNode && len(moves.Items) == 0 {
		d.About(table.Value{Node: moves, Key: s.Key + ".move"}, "is an empty list; expected a move")
	}
	return s
}

// decodeMoves returns the moves of a list.
func decodeMoves(d *table.Decoder, v table.Value) []Move {
	var all []Move
	for one := range d.Items(v) {
		m := Move{Pos: one.Pos(), Key: one.Key}
		table.Fill(d, one.Node, one.Key, moveFields, &m)
		c := table.Check(m.Pos, m.Key, one.Node, d.Reported)
		checkMove(c, &m, all)
		d.AddAll(c.Problems)
		all = append(all, m)
	}
	return all
}

func setTo(d *table.Decoder, v table.Value, m *Move) {
	if v.Kind == syntax.TextNode {
		if v.Text.Value == "" {
			d.Refuse(v)
			return
		}
		m.To = []Choice{{Value: v.Text.Value}}
		return
	}
	for one := range d.Items(v) {
		var c Choice
		table.Fill(d, one.Node, one.Key, choiceFields, &c)
		m.To = append(m.To, c)
	}
}

// checkMove checks a move; earlier are the moves before it.
func checkMove(c *table.Checker, m *Move, earlier []Move) {
	if m.From != "" && slices.ContainsFunc(earlier, func(e Move) bool { return e.From == m.From }) {
		c.Wrong(fmt.Sprintf("%q is left by an earlier move; expected one move from each value", wording.Clip(m.From)), "from")
	}
	policy.CheckLength(c, m.After, "after")
	checkWebhooks(c, m.Webhooks, nil)
	for i := range m.Webhooks {
		if w := &m.Webhooks[i]; !w.On.isDefault() {
			c.Wrong("does not apply to a row that changes by itself: there is no response", w.keyIn(c, nil), "on")
		}
	}
	if len(m.To) == 0 && !c.Faulty("to") {
		c.Wrong("is an empty list; expected a value", "to")
	}
	sum := 0.0
	for i := range m.To {
		sum += m.To[i].EffectiveWeight()
	}
	if len(m.To) > 0 && sum == 0 {
		c.Wrong("has only weights of 0; expected one above 0", "to")
	}
}

// EffectiveWeight returns the weight of the value: 1 if none is declared.
func (c *Choice) EffectiveWeight() float64 { return table.OrOne(c.Weight, c.Weighted) }
