package item

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"mockserver/config/openapi"
	"mockserver/config/policy"
	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/address"
	"mockserver/internal/secret"
	"mockserver/internal/semantics"
	"mockserver/internal/wording"
)

// Endpoint is one method and path with its answer.
type Endpoint struct {
	Pos  syntax.Pos // where the declaration begins
	Key  string     // its key path in the document, "[3].endpoint"
	Dir  string     // the directory in which relative file names are looked up first; "" is the working directory
	Host string     // "", "api.example.com" or "*.example.com"; lower case

	Method string // upper case; "" means GET
	Path   syntax.Text
	// Template reports that Path is written as in OpenAPI, "/pets/{petId}.{format}", where ":" and
	// "*" have no meaning.
	Template bool
	If       syntax.Text // a condition; an empty text is always true

	// State says in which states of scenarios the endpoint answers, and which states it leads to.
	State []InState

	Find []Find // rows that it names, in order: a later one may use earlier ones
	Do   []Do   // what it changes
	// Let are named values that are computed once for each request. Later values may use earlier
	// ones.
	Let []Setting

	Response Response
	Webhooks []Webhook // sent after the answer

	// Responses are several answers instead of Response. Select says how one is chosen for each
	// request: SelectWeighted (also ""), SelectSequence, SelectSequenceHold.
	Responses []Outcome
	Select    string
	Per       syntax.Text // an operand: each of its values has its own turn in a sequence; empty for one turn

	policy.Group

	// Operation is what an OpenAPI document declares for the endpoint; nil for any other endpoint.
	// If it is set, Response is the default answer.
	Operation *openapi.Operation
	// Resource is the operation of a resource that the endpoint stands for; nil for any other
	// endpoint. If it is set, Response declares its status and headers.
	Resource *Operation
	// LLM is the model that the endpoint is a path of; nil for any other endpoint.
	LLM *LLM

	Doc Doc `key:""`
}

// MethodAny is the method of an endpoint that answers all methods that no other endpoint with the
// path answers.
const MethodAny = "ANY"

// endpointMethods are the methods that an endpoint may declare.
var endpointMethods = append(slices.Clone(semantics.Methods), MethodAny)

// EndpointFields are the keys of an endpoint. The slice must not be modified.
var EndpointFields = slices.Concat(
	[]table.Field[Endpoint]{
		table.Of[Endpoint](table.Row{Key: "method", Doc: "the request's method, GET by default; any is all of them", Kinds: table.Texts, Enum: endpointMethods, AnyCase: true,
			Form: "one of " + strings.Join(semantics.Methods, ", ") + ", or any for all of them; several methods are several endpoints"}),
		table.Of[Endpoint](table.Row{Key: "path", Doc: "the path to answer, such as /users/:id", Required: true, Kinds: table.Texts, Pattern: "^/"}),
		table.By[Endpoint](table.Row{Key: "host", Doc: "the host to answer for; any by default", Kinds: table.Texts, Form: address.NameForm, Pattern: address.NamePattern}, decodeHost),
		table.Of[Endpoint](table.Row{Key: "if", Doc: "the condition under which the endpoint answers", Kinds: table.Scalars | table.Nulls}),
		table.By[Endpoint](table.Row{Key: "find", Doc: "rows of data, by the names that conditions, texts and webhooks use", Kinds: table.Maps, Value: &table.Row{Kinds: table.Maps, Form: "a map, such as {in: users, key: path-params.id}", Table: table.Rows(findFields)}}, decodeFinds),
		table.With(table.Row{Key: "state", Doc: "the states of scenarios in which the endpoint answers", Kinds: table.Maps, Value: stateValue},
			func(d *table.Decoder, v table.Value, e *Endpoint) { addStates(d, v, &e.State) }),
		table.With(table.Row{Key: "next", Doc: "the states of scenarios that it leads to", Kinds: table.Maps, Value: &table.Row{Kinds: table.Texts, Filled: true}},
			func(d *table.Decoder, v table.Value, e *Endpoint) { addNext(d, v, &e.State) }),
		table.By[Endpoint](table.Row{Key: "let", Doc: "values that are computed once per request, by the names that texts and webhooks use", Kinds: table.Maps, Value: &table.Row{Kinds: table.Anything}}, decodeLet),
		table.By[Endpoint](table.Row{Key: "do", Doc: "the changes that the endpoint makes, either all or none", Kinds: table.Lists, Item: doItem}, decodeDo),
		table.With(table.Row{Key: "response", Doc: "the answer; {} is an empty one with status 200", Required: true, Unless: "responses", Kinds: table.Maps, Table: table.Rows(ResponseFields)},
			func(d *table.Decoder, v table.Value, e *Endpoint) { e.Response.decode(d, v) }),
		table.By[Endpoint](table.Row{Key: "responses", Doc: "several answers, of which each request gets one", Kinds: table.Lists, Form: "a list of answers, each a map", Item: &table.Row{Kinds: table.Maps, Table: table.Rows(outcomeFields)}}, decodeOutcomes),
		table.Of[Endpoint](table.Row{Key: "select", Doc: "how one of responses is chosen: weighted (the default), sequence or sequence-hold", Kinds: table.Texts, Enum: selects}),
		table.Of[Endpoint](table.Row{Key: "per", Doc: "an operand: each of its values has its own turn in a sequence", Kinds: table.Texts, Filled: true}),
	},
	policy.ResponseKeys[Endpoint](faultItem),
	policy.LimitKeys[Endpoint]("requests"),
	webhookKeys("a request that the server sends some time after the answer", func(e *Endpoint) *[]Webhook { return &e.Webhooks }),
	[]table.Field[Endpoint]{
		table.With(table.Row{Key: "query", Doc: "documents the query parameters, name: type", Kinds: table.Maps | table.Nulls,
			Value: &table.Row{Kinds: table.Scalars, Form: "the name of a type"}},
			func(d *table.Decoder, v table.Value, e *Endpoint) { setQuery(d, v, &e.Doc) }),
		table.With(table.Row{Key: "body", Doc: "documents the request's body with an example", Kinds: table.Anything},
			func(d *table.Decoder, v table.Value, e *Endpoint) { setExample(d, v, &e.Doc) }),
		table.With(table.Row{Key: "tag", Doc: "documents the tags of the endpoint", Kinds: table.Texts | table.Lists | table.Nulls, Item: &table.Row{Kinds: table.Texts}},
			func(d *table.Decoder, v table.Value, e *Endpoint) { e.Doc.Tags = d.Strings(v) }),
		table.Of[Endpoint](table.Row{Key: "summary", Doc: "documents the endpoint in one line", Kinds: table.Scalars | table.Nulls}),
		table.Of[Endpoint](table.Row{Key: "description", Doc: "documents the endpoint at length", Kinds: table.Scalars | table.Nulls}),
		table.Of[Endpoint](table.Row{Key: "router-name", Doc: "documents the endpoint's name", Kinds: table.Scalars | table.Nulls}),
	},
)

// EffectiveMethod returns the method of the endpoint: GET if none is declared.
func (e *Endpoint) EffectiveMethod() string { return cmp.Or(e.Method, "GET") }

// AllResponses returns the responses that the endpoint may give: the only one, or those of its outcomes.
// They are not copies.
func (e *Endpoint) AllResponses() []*Response {
	if len(e.Responses) == 0 {
		return []*Response{&e.Response}
	}
	all := make([]*Response, len(e.Responses))
	for i := range e.Responses {
		all[i] = &e.Responses[i].Response
	}
	return all
}

// Lengths returns the distribution of the latencies of an endpoint over all its outcomes, including
// timeouts but not requests without a latency. It returns nil if no request has a latency, or if
// the shares are unknown: with sequence-hold they depend on the number of requests.
func (e *Endpoint) Lengths() func(part float64) time.Duration {
	return e.lengths(func(_ *Response, latency *policy.Latency) *policy.Latency { return latency })
}

// FirstLengths is like Lengths, for the time to the first item of its streams.
func (e *Endpoint) FirstLengths() func(part float64) time.Duration {
	return e.lengths(func(r *Response, latency *policy.Latency) *policy.Latency {
		switch {
		case !r.HasStream() || r.Whole || e.LLM != nil && e.LLM.Pace.PerToken > 0: // then the prompt decides
			return nil
		case r.Pace != nil && r.Pace.First != nil:
			return r.Pace.First
		}
		return latency
	})
}

// GapLengths is like Lengths, for the gap between items of its streams. It is nil if several streams or items have
// times of their own, whose shares are unknown.
func (e *Endpoint) GapLengths() func(part float64) time.Duration {
	var only *Response
	for _, r := range e.AllResponses() {
		if r.HasStream() && !r.Whole {
			if only != nil || hasAfter(r.Items) {
				return nil
			}
			only = r
		}
	}
	if only == nil || only.Pace == nil {
		return nil
	}
	return only.Pace.Gap.Lengths()
}

func hasAfter(items []StreamItem) bool {
	return slices.ContainsFunc(items, func(i StreamItem) bool { return i.After != nil || hasAfter(i.Items) })
}

func (e *Endpoint) lengths(of func(r *Response, latency *policy.Latency) *policy.Latency) func(part float64) time.Duration {
	var all policy.Mixture
	if len(e.Responses) == 0 {
		all.Add(of(&e.Response, e.Latency), 1)
		return all.Lengths()
	}
	if e.Select == SelectSequenceHold {
		return nil
	}
	for i := range e.Responses {
		o := &e.Responses[i]
		weight := 1.0
		if e.Select != SelectSequence {
			weight = o.EffectiveWeight()
		}
		all.Add(of(&o.Response, cmp.Or(o.Latency, e.Latency)), weight)
	}
	return all.Lengths()
}

// Condition describes, for messages, when the endpoint answers a request with its path: its
// condition, without secrets, and the states of scenarios. It returns "" for an endpoint that always answers.
func (e *Endpoint) Condition() string {
	var all []string
	if e.If.Value != "" {
		all = append(all, secret.Condition(e.If.Value))
	}
	for i := range e.State {
		if s := &e.State[i]; len(s.Is) > 0 {
			all = append(all, "state "+s.Name.Value+" is "+strings.Join(s.Is, " or "))
		}
	}
	return strings.Join(all, " and ")
}

// Claim sets the method and path of an endpoint that was made in Go in its problems. It modifies ps
// and returns it.
func (e *Endpoint) Claim(ps syntax.Problems) syntax.Problems {
	name := wording.Label(e.EffectiveMethod())
	if e.Path.Value != "" {
		name += " " + wording.Label(e.Path.Value)
	}
	for i := range ps {
		if ps[i].Pos.File == "" && e.Pos.Line == 0 {
			ps[i].Endpoint = name
		}
	}
	return ps
}

// Fingerprint returns a text that is the same for endpoints with equal declarations, regardless of
// their positions and documentation.
func (e *Endpoint) Fingerprint() string {
	alike := *e
	alike.Method, alike.Doc, alike.Operation = e.EffectiveMethod(), Doc{}, nil
	return Digest(alike)
}
