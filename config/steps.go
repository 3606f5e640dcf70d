package config

import (
	"fmt"
	"slices"

	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/wording"
)

// Steps say how a member of the rows of a set changes by itself.
type Steps struct {
	Pos   syntax.Pos // left zero in Go
	Key   string     // left "" in Go
	Field syntax.Text
	First string // what the member of a new row is that has none; "" leaves it out
	Moves []Move `key:"move"`
}

// Move is a change that a row makes by itself, some time after its member has entered a value.
type Move struct {
	Pos      syntax.Pos // left zero in Go
	Key      string     // left "" in Go
	From     string     // the value
	After    *Latency   // without rates; never nil in a valid spec
	To       []Choice   // one of them, by weight
	Set      []Setting  // further members of the row
	Webhooks []Webhook  // sent at that moment
}

// Choice is one of the values that a member may enter.
type Choice struct {
	Weight   float64 // 1 if it is 0 and Weighted is not set
	Weighted bool    // Weight applies even if it is 0
	Value    string
}

var (
	stepsFields = []table.Field[Steps]{
		table.Of[Steps](row{Key: "field", Doc: "the member that changes, a.b for a nested one", Required: true, Kinds: table.Texts, Filled: true}),
		table.Of[Steps](row{Key: "first", Doc: "what it is in a new row that does not have it", Kinds: table.Texts, Filled: true}),
		table.With(row{Key: "move", Doc: "how it changes", Required: true, Kinds: table.Lists, Item: moveItem},
			func(d *decoder, v value, s *Steps) { s.Moves = decodeMoves(d, v) }),
	}
	moveFields = []table.Field[Move]{
		table.Of[Move](row{Key: "from", Doc: "the value that is left", Required: true, Kinds: table.Texts, Filled: true}),
		table.With(row{Key: "after", Doc: "how long after it was entered: a duration, or any form of latency", Required: true, Kinds: table.Texts | table.Maps,
			Form: `a duration such as "2s", or a map with ` + afterForms, Table: table.Rows(afterFields)}, setAfter),
		table.With(row{Key: "to", Doc: "the value that is entered, or several with their weights", Required: true, Kinds: table.Texts | table.Lists, Filled: true,
			Item: &row{Kinds: table.Maps, Table: table.Rows(choiceFields)}}, setTo),
		table.With(row{Key: "set", Doc: "further members of the row and their values", Kinds: table.Maps, Value: &row{Kinds: table.Anything}},
			func(d *decoder, v value, m *Move) { m.Set = decodeSettings(d, v) }),
		table.With(row{Key: "webhook", Unless: "webhooks", Doc: "a request that is sent at that moment", Kinds: table.Maps, Table: table.Rows(webhookFields)},
			func(d *decoder, v value, m *Move) { addWebhooks(d, &m.Webhooks, v) }),
		table.With(row{Key: "webhooks", Doc: "several of them", Kinds: table.Lists, Item: &row{Kinds: table.Maps, Table: table.Rows(webhookFields)}},
			func(d *decoder, v value, m *Move) { addWebhooks(d, &m.Webhooks, v.Parts()...) }),
	}
	moveItem     = &row{Kinds: table.Maps, Table: table.Rows(moveFields)}
	choiceFields = []table.Field[Choice]{
		table.Of[Choice](row{Key: "value", Doc: "what is entered", Required: true, Kinds: table.Texts, Filled: true}),
		table.Of[Choice](row{Key: "weight", Given: "weighted", Doc: "its share among the weights of all, 1 when left out; 0 is never drawn", Kinds: table.Numbers, UpTo: maxWeight}),
	}
	// afterFields are the keys of a latency that are lengths.
	afterFields = slices.DeleteFunc(slices.Clone(latencyFields), func(f table.Field[latencyForm]) bool {
		return slices.Contains([]string{"failure-rate", "timeout-rate", "timeout", "timeout-ms"}, f.Key)
	})
	stepsTable = table.Rows(stepsFields)
	stepsField = row{Key: "steps", Doc: "how a member of rows changes by itself", Kinds: table.Maps, Table: stepsTable}
)

const afterForms = "min and max, percentiles such as p50 and p99, or median and sigma"

func decodeSteps(d *decoder, v value) *Steps {
	s := &Steps{Pos: v.Pos(), Key: v.Key}
	table.Fill(d, v.Node, v.Key, stepsFields, s)
	if moves := v.Get("move"); moves != nil && moves.Kind == syntax.ListNode && len(moves.Items) == 0 {
		d.About(value{Node: moves, Key: s.Key + ".move"}, "is an empty list; expected a move")
	}
	return s
}

// decodeMoves returns the moves of a list.
func decodeMoves(d *decoder, v value) []Move {
	var all []Move
	for _, one := range v.Parts() {
		if !d.Take(one) {
			continue
		}
		m := Move{Pos: one.Pos(), Key: one.Key}
		table.Fill(d, one.Node, one.Key, moveFields, &m)
		c := &checker{Endpoint: &Endpoint{Pos: m.Pos}, key: m.Key, node: one.Node, reported: d.Reported}
		c.move(&m, all)
		for _, p := range c.Problems {
			d.Known(p.Key)
			d.Add(p)
		}
		all = append(all, m)
	}
	return all
}

func setAfter(d *decoder, v value, m *Move) {
	if v.Kind == syntax.MapNode {
		l := latencyForm{Latency: Latency{Pos: v.Pos(), Key: v.Key}}
		if len(v.Entries) == 0 {
			d.About(v, "is an empty map; expected %s", afterForms)
		}
		table.Fill(d, v.Node, v.Key, afterFields, &l)
		slices.SortStableFunc(l.Curve, byRank)
		l.complete(l.MaxGiven)
		m.After = &l.Latency
		return
	}
	var l latencyForm
	length := latencyFields[0]
	one := v
	one.Row = length.Row
	length.Set(d, one, &l)
	m.After = &Latency{Pos: v.Pos(), Key: v.Key, Min: l.Min, Max: l.Min}
}

func setTo(d *decoder, v value, m *Move) {
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

// move checks a move; earlier are those before it.
func (c *checker) move(m *Move, earlier []Move) {
	if m.From == "" && c.node == nil {
		c.wrong("is empty; expected the value that is left", "from")
	}
	if m.From != "" && slices.ContainsFunc(earlier, func(e Move) bool { return e.From == m.From }) {
		c.wrong(fmt.Sprintf("%q is left by an earlier move; expected one move from each value", wording.Clip(m.From)), "from")
	}
	if c.node == nil && m.After == nil {
		c.wrong("is missing; expected a latency", "after")
	}
	c.latency(m.After, []string{"after"})
	c.webhooks(m.Webhooks, nil)
	if len(m.To) == 0 && !c.faulty([]string{"to"}) {
		c.wrong("is an empty list; expected a value", "to")
	}
	sum := 0.0
	for i := range m.To {
		sum += m.To[i].EffectiveWeight()
	}
	if len(m.To) > 0 && sum == 0 {
		c.wrong("has only weights of 0; expected one above 0", "to")
	}
}

// faults returns what is wrong with steps that were made in Go.
func (s *Steps) faults(key string) (found syntax.Problems) {
	if s == nil {
		return nil
	}
	c := &checker{Endpoint: &Endpoint{}, key: key, reported: map[string]bool{}}
	if s.Field.Value == "" {
		c.wrong("is empty; expected a member", "field")
	}
	if len(s.Moves) == 0 {
		c.wrong("is empty; expected a move", "move")
	}
	for i := range s.Moves {
		c.key = fmt.Sprintf("%s.move[%d]", key, i)
		c.move(&s.Moves[i], s.Moves[:i])
	}
	return c.Problems
}

func (s *Steps) complete() {
	if s == nil {
		return
	}
	for i := range s.Moves {
		m := &s.Moves[i]
		completeRest(m.Webhooks, m.After, nil)
		for j := range m.Set {
			m.Set[j].Value.complete()
		}
		for j := range m.To {
			m.To[j].Weighted = m.To[j].Weighted || m.To[j].Weight != 0
		}
	}
}

// EffectiveWeight returns the share of the value in the sum of all weights.
func (c *Choice) EffectiveWeight() float64 {
	if c.Weight == 0 && !c.Weighted {
		return 1
	}
	return c.Weight
}
