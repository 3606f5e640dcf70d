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
	Pos   syntax.Pos // left zero in Go
	Key   string     // left "" in Go
	Field syntax.Text
	First string // the value of the member in a new row that lacks it; "" leaves the member out
	Moves []Move `key:"move"`
}

// Move is a change to a row that happens some time after the member got a certain value.
type Move struct {
	Pos      syntax.Pos      // left zero in Go
	Key      string          // left "" in Go
	From     string          // the value that starts the move
	After    *policy.Latency // a latency without rates; never nil in a valid spec
	To       []Choice        // one of them is chosen, by weight
	Set      []Setting       // additional members of the row
	Webhooks []Webhook       // sent when the row changes
}

// Choice is one of the values that a member may get.
type Choice struct {
	Weight   float64 // 1 if it is 0 and Weighted is not set
	Weighted bool    // Weight applies even if it is 0
	Value    string
}

var stepsFields = []table.Field[Steps]{
	table.Of[Steps](table.Row{Key: "field", Doc: "the member that changes, a.b for a nested one", Required: true, Kinds: table.Texts, Filled: true}),
	table.Of[Steps](table.Row{Key: "first", Doc: "its value in a new row that does not have it", Kinds: table.Texts, Filled: true}),
	table.With(table.Row{Key: "move", Doc: "how it changes", Required: true, Kinds: table.Lists, Form: movesForm, Item: moveItem},
		func(d *table.Decoder, v table.Value, s *Steps) { s.Moves = decodeMoves(d, v) }),
}

var moveFields = slices.Concat(
	[]table.Field[Move]{
		table.Of[Move](table.Row{Key: "from", Doc: "the value before the move", Required: true, Kinds: table.Texts, Filled: true}),
		policy.AfterKey[Move]("how long after the value was entered: a duration, or any form of latency"),
		table.With(table.Row{Key: "to", Doc: "the value after the move, or several with their weights", Required: true, Kinds: table.Texts | table.Lists, Filled: true,
			Item: &table.Row{Kinds: table.Maps, Form: "a map, such as {value: paid, weight: 2}", Table: table.Rows(choiceFields)}}, setTo),
		table.With(table.Row{Key: "set", Mask: table.MaskNamed, Doc: "further members of the row and their values", Kinds: table.Maps, Value: &table.Row{Kinds: table.Anything}},
			func(d *table.Decoder, v table.Value, m *Move) { m.Set = decodeSettings(d, v) }),
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
	for _, one := range v.Parts() {
		if !d.Take(one) {
			continue
		}
		m := Move{Pos: one.Pos(), Key: one.Key}
		table.Fill(d, one.Node, one.Key, moveFields, &m)
		c := table.Check(m.Pos, m.Key, one.Node, d.Reported)
		checkMove(c, &m, all)
		for _, p := range c.Problems {
			d.Known(p.Key)
			d.Add(p)
		}
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
	for _, one := range v.Parts() {
		if d.Take(one) {
			var c Choice
			table.Fill(d, one.Node, one.Key, choiceFields, &c)
			m.To = append(m.To, c)
		}
	}
}

// checkMove checks a move; earlier are the moves before it.
func checkMove(c *table.Checker, m *Move, earlier []Move) {
	if m.From == "" && c.InGo() {
		c.Wrong("is empty; expected the value before the move", "from")
	}
	if m.From != "" && slices.ContainsFunc(earlier, func(e Move) bool { return e.From == m.From }) {
		c.Wrong(fmt.Sprintf("%q is left by an earlier move; expected one move from each value", wording.Clip(m.From)), "from")
	}
	if c.InGo() && m.After == nil {
		c.Wrong("is missing; expected a latency", "after")
	}
	policy.CheckLatency(c, m.After, []string{"after"})
	checkWebhooks(c, m.Webhooks, nil)
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

// faults returns the problems of steps that were made in Go.
func (s *Steps) faults(key string) (found syntax.Problems) {
	if s == nil {
		return nil
	}
	c := table.Check(syntax.Pos{}, key, nil, nil)
	if s.Field.Value == "" {
		c.Wrong("is empty; expected a member", "field")
	}
	if len(s.Moves) == 0 {
		c.Wrong("is empty; expected a move", "move")
	}
	for i := range s.Moves {
		move := table.Check(syntax.Pos{}, fmt.Sprintf("%s.move[%d]", key, i), nil, nil)
		checkMove(move, &s.Moves[i], s.Moves[:i])
		found = append(found, move.Problems...)
	}
	return append(c.Problems, found...)
}

func (s *Steps) complete() {
	if s == nil {
		return
	}
	for i := range s.Moves {
		m := &s.Moves[i]
		completeWebhooks(m.Webhooks)
		policy.Group{Latency: m.After}.Complete()
		for j := range m.Set {
			m.Set[j].Value.complete()
		}
		for j := range m.To {
			m.To[j].Weighted = m.To[j].Weighted || m.To[j].Weight != 0
		}
	}
}

// EffectiveWeight returns the weight of the value: 1 if none is declared.
func (c *Choice) EffectiveWeight() float64 {
	if c.Weight == 0 && !c.Weighted {
		return 1
	}
	return c.Weight
}
