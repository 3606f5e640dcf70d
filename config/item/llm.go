package item

import (
	"fmt"
	"slices"

	"mockserver/config/model"
	"mockserver/config/policy"
	"mockserver/config/syntax"
	"mockserver/config/table"
)

// LLM is what an endpoint of a language model has in addition to its response.
type LLM struct {
	*model.LLM
	Form *model.Form // of its requests
	*model.Provider
	// Failure answers with the server's own errors. It uses the value failure, with type, code, param, message, status and details.
	Failure *Endpoint
}

var llmFields = slices.Concat(model.Fields, policy.ResponseKeys[model.LLM](faultItem), policy.LimitKeys[model.LLM]("requests"))

// llmDecoder makes the endpoints of a model from the file of its provider.
type llmDecoder struct {
	*model.LLM
	*model.Provider
	policy.Group        // with the provider's own fault
	base         string // one of Bases
	failure      *Endpoint
	d            table.Decoder
}

func decodeLLM(d *table.Decoder, v table.Value) (m *model.LLM, all []Endpoint) {
	m = model.Decode(d, v, llmFields)
	c := table.Check(m.Pos, m.Key, v.Node, d.Reported)
	checkFault(c, m.Fault, AsData, []string{"fault"})
	declared := m.Group
	for _, name := range model.Providers {
		if provider := model.Open(name); provider != nil && (m.Provider == name || m.Provider == model.AllProviders) {
			l := llmDecoder{LLM: m, Provider: provider, Group: declared}
			all = append(all, l.endpoints(c)...)
			m.Group = l.Group
			d.AddAll(l.d.Problems)
		}
	}
	m.Check(c)
	d.AddAll(c.Problems)
	return m, all
}

// endpoints returns the endpoints of the model: for each path, those that refuse requests come first.
func (l *llmDecoder) endpoints(c *table.Checker) (all []Endpoint) {
	if l.Fault != nil && l.Fault.Item == nil {
		var s itemForm
		table.Fill(&l.d, l.File.Get("error"), "error", faultItemFields, &s)
		own := *l.Fault
		own.Item, l.Fault = &s.StreamItem, &own
	}
	for i, o := range l.Outcomes {
		if _, known := l.Statuses.Of(o.Status); !known && o.Status != 0 {
			c.Warn(l.Name+" does not answer with this status", fmt.Sprintf("outcomes[%d]", i), "status")
		}
	}
	failure := l.endpoint(syntax.NewMap().SetText("path", "/").Set("response", syntax.NewMap().Set("body", l.File.Get("failure"))), "")
	l.failure = &failure
	for _, l.base = range l.Bases {
		all = append(all, l.below()...)
	}
	return all
}

// below returns the endpoints below a base.
func (l *llmDecoder) below() (all []Endpoint) {
	refused := map[string]bool{}
	for _, n := range l.File.Get("endpoints").Items {
		form, declared := n.Get("form").AsText(), n.Get("endpoint")
		if l.base != l.Bases[0] && l.LLM.Provider == model.AllProviders && declared.Get("method") == nil {
			continue // another provider has it
		}
		if !refused[form] {
			refused[form] = true
			all = append(all, l.refusals(form, declared)...)
		}
		e := l.endpoint(declared, form)
		if e.Response.Whole = n.Get("whole") != nil; e.Response.HasStream() {
			l.paced(&e)
		}
		all = append(all, e)
	}
	return all
}

// refusals returns the endpoints that refuse requests with a form for the path of another one.
func (l *llmDecoder) refusals(form string, of *syntax.Node) (all []Endpoint) {
	for _, r := range l.Refusals {
		if r.Forms != nil && !slices.Contains(r.Forms, form) {
			continue
		}
		s, _ := l.Statuses.Of(r.Status)
		if r.Message != "" {
			s.Message, s.Code, s.Param = r.Message, r.Code, r.Param
		}
		n := syntax.NewMap().SetText("method", of.Get("method").AsText()).SetText("path", of.Get("path").AsText()).SetText("if", r.If)
		all = append(all, l.endpoint(n.Set("response", l.failing(s)), form))
	}
	return all
}

// failing returns the response for an error.
func (l *llmDecoder) failing(s model.Status) *syntax.Node {
	body := l.File.Get("failure").Clone()
	status, details := syntax.NewNumber(fmt.Sprint(s.Status)), syntax.NewList()
	n := syntax.NewMap().Set("status", status).Set("body", body)
	if s.Status == 429 && l.Retry == "" {
		n.Make("headers").SetText("Retry-After", "1")
	} else if s.Status == 429 {
		details.Items = append(details.Items, syntax.NewMap().SetText("@type", l.Retry).SetText("retryDelay", "1s"))
	}
	replace(body, "{{failure.status}}", status)
	replace(body, "{{failure.details}}", details)
	for name, value := range map[string]string{"type": s.Type, "code": s.Code, "param": s.Param, "message": s.Message} {
		text := syntax.NewText(value)
		if value == "" {
			text.Kind = syntax.NullNode
		}
		replace(body, "{{failure."+name+"}}", text)
	}
	return n
}

// replace replaces a text in a node.
func replace(n *syntax.Node, text string, value *syntax.Node) {
	for _, e := range n.Entries {
		replace(e.Value, text, value)
	}
	if n.AsText() == text {
		*n = *value
	}
}

// endpoint decodes an endpoint, and adds what all endpoints of the provider have.
func (l *llmDecoder) endpoint(n *syntax.Node, form string) Endpoint {
	n = n.Clone() // it may be in several places
	if f := l.Forms[form]; f != nil {
		l.require(n, f.If)
	}
	if l.LLM.Provider == model.AllProviders && l.Among != "" && n.Get("method").AsText() == "" {
		l.require(n, "header-params."+l.Among)
	}
	let, headers := n.Make("let"), n.Get("response").Make("headers")
	let.Entries = slices.Concat(l.File.Get("let").Entries, let.Entries)
	headers.Entries = slices.Concat(l.File.Get("headers").Entries, headers.Entries)
	e := Endpoint{Pos: l.Pos, Key: l.Key}
	table.Fill(&l.d, n, l.Key, EndpointFields, &e)
	e.Path.Value = l.Path + l.base + e.Path.Value
	Finish(&l.d, &e, l.Key, n)
	e.Host, e.LLM = l.Host, &LLM{l.LLM, l.Forms[form], l.Provider, l.failure}
	return e
}

// require adds to what is to hold for the requests of an endpoint.
func (l *llmDecoder) require(n *syntax.Node, condition string) {
	if declared := n.Get("if").AsText(); declared != "" && condition != "" {
		n.SetText("if", "("+declared+") and "+condition)
	} else if condition != "" {
		n.SetText("if", condition)
	}
}

// paced gives an endpoint that answers what the model declares for it.
func (l *llmDecoder) paced(e *Endpoint) {
	if t := l.Answer.Thinking; t != nil && t.Pace != nil {
		slow(e.Response.Items, t.Pace.Gap)
	}
	e.Group, e.Response.Pace = l.Group, &Pace{First: l.Pace.First, Gap: l.Pace.Gap, Shared: l.Pace.Shared}
	if l.Pace.Opening == model.OpeningAtOnce && !e.Response.Whole {
		e.Response.Pace.Head = HeadAtOnce
	}
	for i, o := range l.Outcomes {
		response := e.Response
		if s, _ := l.Statuses.Of(o.Status); o.Status != 0 {
			response = l.endpoint(syntax.NewMap().SetText("path", "/").Set("response", l.failing(s)), "").Response
		}
		e.Responses = append(e.Responses, Outcome{Key: fmt.Sprintf("%s.outcomes[%d]", l.Key, i), Weight: o.Weight, Weighted: o.Weighted, Response: response})
	}
}

// slow gives the items for thinking, in a list of items, a gap of their own.
func slow(items []StreamItem, gap *policy.Latency) {
	for i := range items {
		if items[i].For.Value == "piece in llm.thinking" {
			items[i].After = gap
		}
		slow(items[i].Items, gap)
	}
}
