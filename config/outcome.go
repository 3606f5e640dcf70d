package config

import (
	"fmt"

	"mockserver/config/table"
)

// Outcome is one of several answers of an endpoint (endpoint.responses). Each request gets one of
// them.
type Outcome struct {
	Key string // "[3].endpoint.responses[1]"; left "" in Go
	// Weight is its share of the sum of all weights. It is 1 if Weight is 0 and Weighted is not
	// set.
	Weight   float64
	Weighted bool      // Weight applies even if it is 0, which is never drawn; Complete sets it for any other weight
	Response Response  `key:""`
	Latency  *Latency  // nil means that of the endpoint, the zero Latency means none
	Fault    *Fault    // nil means that of the endpoint
	Webhooks []Webhook // nil means those of the endpoint, an empty slice means none
	Do       []Do      // nil means those of the endpoint, an empty slice means none
}

// How one of several outcomes is selected.
const (
	SelectWeighted     = "weighted"      // by weight, at random
	SelectSequence     = "sequence"      // in turn, then again from the start
	SelectSequenceHold = "sequence-hold" // in turn, then the last one for ever
)

var selects = []string{SelectWeighted, SelectSequence, SelectSequenceHold}

const maxWeight = 1_000_000_000

// outcomeFields are the keys of a response, and the additional keys of an outcome.
var outcomeFields = append([]table.Field[Outcome]{
	table.Of[Outcome](row{Key: "weight", Given: "weighted", Doc: "its share among the weights of all, 1 when left out; 0 is never drawn", Kinds: table.Numbers, UpTo: maxWeight}),
	table.With(row{Key: "latency", Doc: "the time to this answer, instead of that of the endpoint", Kinds: table.Maps, Form: "a map with " + latencyForms, Table: table.Rows(latencyFields)},
		func(d *decoder, v value, o *Outcome) { o.Latency = decodeLatency(d, v) }),
	table.Map[Outcome](row{Key: "fault", Doc: "how this answer goes wrong, instead of that of the endpoint", Form: "a map with type and rate"}, faultFields),
	table.With(row{Key: "webhook", Unless: "webhooks", Doc: "a request of the server's own after this answer, instead of those of the endpoint", Kinds: table.Maps, Table: table.Rows(webhookFields)},
		func(d *decoder, v value, o *Outcome) { addWebhooks(d, &o.Webhooks, v) }),
	table.With(row{Key: "webhooks", Doc: "several of them; [] for none", Kinds: table.Lists, Item: &row{Kinds: table.Maps, Table: table.Rows(webhookFields)}},
		func(d *decoder, v value, o *Outcome) {
			o.Webhooks = append([]Webhook{}, o.Webhooks...) // an empty list is not nil: no webhook is sent
			addWebhooks(d, &o.Webhooks, v.Parts()...)
		}),
	table.With(row{Key: "do", Doc: "what this answer changes, instead of what the endpoint does; [] for nothing", Kinds: table.Lists, Item: doItem},
		func(d *decoder, v value, o *Outcome) { o.Do = append([]Do{}, decodeDo(d, v)...) }),
}, lift(responseFields, func(o *Outcome) *Response { return &o.Response })...)

// lift makes the keys of a T the keys of a type that contains one.
func lift[T, U any](fields []table.Field[T], at func(*U) *T) []table.Field[U] {
	lifted := make([]table.Field[U], len(fields))
	for i, f := range fields {
		lifted[i] = table.With(f.Row, func(d *decoder, v value, into *U) { f.Set(d, v, at(into)) })
	}
	return lifted
}

// HasBody reports whether a body is declared, be it empty, or a proxy.
func (r *Response) HasBody() bool { return r.declaresBody() || r.External != nil || r.Proxy != nil }

// EffectiveWeight returns the share of the outcome in the sum of all weights.
func (o *Outcome) EffectiveWeight() float64 {
	if o.Weight == 0 && !o.Weighted {
		return 1
	}
	return o.Weight
}

// Answers returns the responses that the endpoint may give: the only one, or those of its outcomes.
// They are not copies.
func (e *Endpoint) Answers() []*Response {
	if len(e.Responses) == 0 {
		return []*Response{&e.Response}
	}
	all := make([]*Response, len(e.Responses))
	for i := range e.Responses {
		all[i] = &e.Responses[i].Response
	}
	return all
}

func setResponses(d *decoder, v value, e *Endpoint) {
	if len(v.Items) == 0 {
		d.About(v, "is an empty list; expected one answer or more")
		return
	}
	e.Responses = make([]Outcome, 0, len(v.Items))
	for _, one := range v.Parts() {
		if d.Full() {
			return
		}
		o := Outcome{Key: one.Key}
		if d.Take(one) {
			o.Response.begin(one)
			table.Fill(d, one.Node, one.Key, outcomeFields, &o)
		}
		e.Responses = append(e.Responses, o)
	}
}

// outcomes checks the answers of an endpoint with several answers, and how one is selected.
func (c *checker) outcomes() {
	if what := c.perFault(); what != "" && !c.faulty([]string{"select"}) {
		c.wrong(what, "per")
	}
	if c.SharesTurns() && !c.inTurn() && !c.faulty([]string{"select"}) {
		c.wrong("shared needs select: "+SelectSequence+" or "+SelectSequenceHold+", whose answers come in turn", "scope")
	}
	if len(c.Responses) == 0 {
		if c.Select != "" && !c.faulty([]string{"responses"}) {
			c.wrong("select chooses among responses, which are not given", "select")
		}
		return
	}
	if c.node == nil && c.Response.declaresAnything() { // for a file, decoding reports it
		c.wrong(table.BothGiven("response", "responses"), "responses")
	}
	for i := range c.Responses {
		if c.Full() {
			return
		}
		o := &c.Responses[i]
		at := []string{fmt.Sprintf("responses[%d]", i)}
		c.answer(&o.Response, at)
		c.changes(o.Do, at)
		c.webhooks(o.Webhooks, at)
		c.latency(o.Latency, below(at, "latency"))
		c.fault(o.Fault, below(at, "fault"))
		f := o.Fault
		if f == nil {
			f = c.Fault
		}
		c.unseen(&o.Response, f, at)
	}
	c.weights()
}

// SharesTurns reports whether all replicas share the turns of the endpoint.
func (e *Endpoint) SharesTurns() bool { return e.Scope == LimitScopes[1] }

func (e *Endpoint) inTurn() bool { return e.Select == SelectSequence || e.Select == SelectSequenceHold }

// perFault returns why per has no meaning; "" if it has one.
func (c *checker) perFault() string {
	if c.Per.Value == "" || c.inTurn() {
		return ""
	}
	return "per needs select: " + SelectSequence + " or " + SelectSequenceHold + ", whose answers come in turn"
}

func (c *checker) weights() {
	if c.faulty([]string{"responses"}) {
		return
	}
	chosen := !c.inTurn()
	drawn := false
	for i := range c.Responses {
		o := &c.Responses[i]
		at := []string{fmt.Sprintf("responses[%d]", i)}
		switch {
		case !inBounds(c, outcomeFields, o, at):
			return
		case !chosen && o.Weighted:
			c.warn("has no effect: with select "+c.Select+" the answers come in turn", below(at, "weight")...)
			return // one report is enough
		}
		drawn = drawn || o.EffectiveWeight() > 0
	}
	if chosen && !drawn {
		c.wrong("all weights are 0; at least one has to be above 0", "responses")
	}
}
