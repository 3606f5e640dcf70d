package item

import (
	"cmp"
	"fmt"
	"slices"

	"mockserver/config/policy"
	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/list"
)

// Outcome is one of several answers of an endpoint (endpoint.responses). Each request gets one of
// them.
type Outcome struct {
	Key string // "[3].endpoint.responses[1]"
	// Weight is the outcome's share in the sum of all weights. A Weight of 0 counts as 1 unless
	// Weighted is set.
	Weight   float64
	Weighted bool     // a Weight of 0 applies
	Response Response `key:""`
	// The policies that it does not declare are those of the endpoint; the zero Latency means none.
	policy.Group
	Webhooks []Webhook // nil means those of the endpoint, an empty slice means none
	Do       []Do      // nil means those of the endpoint, an empty slice means none
}

// The ways in which one of several outcomes is selected.
const (
	SelectWeighted     = "weighted"      // by weight, at random
	SelectSequence     = "sequence"      // in turn, then again from the start
	SelectSequenceHold = "sequence-hold" // in turn, then the last one forever
)

var selects = []string{SelectWeighted, SelectSequence, SelectSequenceHold}

const maxWeight = 1_000_000_000

// outcomeFields are the keys of a response, and the additional keys of an outcome.
var outcomeFields = slices.Concat(
	[]table.Field[Outcome]{
		table.Of[Outcome](table.Row{Key: "weight", Given: "weighted", Doc: "its share in the sum of all weights, 1 by default; 0 is never chosen", Kinds: table.Numbers, UpTo: maxWeight}),
	},
	policy.ResponseKeys[Outcome](faultItem),
	webhookKeys("a request that the server sends after this answer, instead of the endpoint's webhooks", func(o *Outcome) *[]Webhook { return &o.Webhooks }),
	[]table.Field[Outcome]{
		table.With(table.Row{Key: "do", Doc: "the changes that come with this answer, instead of the endpoint's; [] for none", Kinds: table.Lists, Item: doItem},
			func(d *table.Decoder, v table.Value, o *Outcome) { o.Do = append([]Do{}, decodeDo(d, v)...) }),
	},
	lift(ResponseFields, func(o *Outcome) *Response { return &o.Response }),
)

// lift turns the keys of a T into keys of a type that contains a T.
func lift[T, U any](fields []table.Field[T], at func(*U) *T) []table.Field[U] {
	return list.Map(fields, func(f table.Field[T]) table.Field[U] {
		return table.With(f.Row, func(d *table.Decoder, v table.Value, into *U) { f.Set(d, v, at(into)) })
	})
}

// EffectiveWeight returns the weight of the outcome: 1 if none is declared.
func (o *Outcome) EffectiveWeight() float64 { return table.OrOne(o.Weight, o.Weighted) }

// decodeOutcomes returns the answers of a list.
func decodeOutcomes(d *table.Decoder, v table.Value) []Outcome {
	if len(v.Items) == 0 {
		d.About(v, "is an empty list; expected at least one answer")
		return nil
	}
	all := make([]Outcome, 0, len(v.Items))
	for _, one := range v.Parts() {
		if d.Full() {
			break
		}
		o := Outcome{Key: one.Key}
		if d.Take(one) {
			o.Response.begin(one)
			table.Fill(d, one.Node, one.Key, outcomeFields, &o)
		}
		all = append(all, o)
	}
	return all
}

// selection is the way in which one of several outcomes is selected, and the settings for all of
// them.
type selection struct {
	outcomes []Outcome
	by       string        // Endpoint.Select
	per      syntax.Text   // Endpoint.Per
	fault    *policy.Fault // of the endpoint; nil for none
	latency  *policy.Latency
	finds    bool // the endpoint finds rows
}

// inTurn reports whether outcomes are selected in turn rather than at random.
func inTurn(by string) bool { return by == SelectSequence || by == SelectSequenceHold }

// checkOutcomes checks several answers, and the way in which one is selected.
func checkOutcomes(c *table.Checker, s selection) {
	if s.per.Value != "" && !inTurn(s.by) && !c.Faulty("select") {
		c.Wrong("per needs select: "+SelectSequence+" or "+SelectSequenceHold+", whose answers come in turn", "per")
	}
	if len(s.outcomes) == 0 {
		if s.by != "" && !c.Faulty("responses") {
			c.Wrong("select requires responses", "select")
		}
		return
	}
	for i := range s.outcomes {
		if c.Full() {
			return
		}
		o := &s.outcomes[i]
		at := []string{fmt.Sprintf("responses[%d]", i)}
		checkResponse(c, &o.Response, s.finds, at)
		checkStream(c, &o.Response, cmp.Or(o.Latency, s.latency), at)
		checkChanges(c, o.Do, s.finds, at)
		checkWebhooks(c, o.Webhooks, at, &o.Response)
		o.Group.Check(c, "", at)
		checkFault(c, o.Fault, formOf(nil, &o.Response), table.Below(at, "fault"))
		checkUnseen(c, cmp.Or(o.Fault, s.fault), at)
	}
	checkWeights(c, s)
}

func checkWeights(c *table.Checker, s selection) {
	if c.Faulty("responses") {
		return
	}
	drawn := inTurn(s.by)
	for i := range s.outcomes {
		o := &s.outcomes[i]
		if o.Weighted && inTurn(s.by) {
			c.Warn("has no effect: with select "+s.by+" the answers come in turn", fmt.Sprintf("responses[%d]", i), "weight")
			return // one report is enough
		}
		drawn = drawn || o.EffectiveWeight() > 0
	}
	if !drawn {
		c.Wrong("all weights are 0; at least one must be above 0", "responses")
	}
}
