package mockoon

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
	"mockserver/config/syntax"
)

// endpoint is a route for one method and path, under construction.
type endpoint struct {
	*reader
	route  *syntax.Node
	name   string
	method string
	own    language.Path
	full   language.Path // with the optional parameter
	path   language.Path // as placed among the others
	needs  string
	silent bool // another endpoint reports the route
}

// add adds the responses of a route.
func (e *endpoint) add(responses []*syntax.Node) {
	mode := text(get(e.route, "responseMode"))
	if mode == "" { // before version 4
		switch {
		case isTrue(get(e.route, "randomResponse")):
			mode = "RANDOM"
		case isTrue(get(e.route, "sequentialResponse")):
			mode = "SEQUENTIAL"
		}
	}
	usual := max(0, slices.IndexFunc(responses, func(n *syntax.Node) bool { return isTrue(get(n, "default")) }))
	switch {
	case mode == "RANDOM" || mode == "SEQUENTIAL":
		if len(responses) == 1 {
			e.one(responses[0], e.needs, 0)
			return
		}
		e.several(responses, mode)
		return
	case mode == "DISABLE_RULES":
		e.one(responses[usual], e.needs, usual)
		return
	}
	for i, n := range responses {
		rules := get(n, "rules").List()
		if len(rules) == 0 {
			continue
		}
		var notes language.Notes
		condition := e.rules(&notes, n, rules)
		if notes.Gone != "" {
			e.off(n, i, notes.Gone)
			continue
		}
		e.one(n, language.And(e.needs, condition), i, notes.Differ...)
	}
	if mode != "FALLBACK" {
		e.one(responses[usual], e.needs, usual)
	}
}

// base returns an endpoint without its answer.
func (e *endpoint) base(condition string) *syntax.Node {
	m := draft.NewMap("method", e.method, "path", e.path.String()).SetText("if", language.Outermost(condition))
	if summary := text(get(e.route, "documentation")); len(summary) < 200 && !strings.Contains(summary, "\n") {
		m.SetText("summary", summary)
	}
	return m
}

func (e *endpoint) label(n *syntax.Node, i int) string {
	return e.name + " / " + cmp.Or(text(get(n, "label")), strconv.Itoa(i+1))
}

// one adds an endpoint with a single response, for the requests that meet a condition.
func (e *endpoint) one(n *syntax.Node, condition string, i int, differs ...string) {
	a := e.response(n)
	for _, why := range differs {
		a.Note(why)
	}
	if a.Gone != "" {
		e.off(n, i, a.Gone)
		return
	}
	language.WithErrors(a.webhooks, a.response)
	e.Add("endpoint", a.finish(e.base(condition).Set("response", a.response)), e.label(n, i))
	e.report(n.Pos(), e.label(n, i), a.Differ)
}

func (e *endpoint) report(pos syntax.Pos, name string, why []string) {
	if !e.silent {
		e.Report(pos, name, why...)
	}
}

// off adds a response that cannot be served, commented out, and reports it as lost. It does nothing
// for a silent endpoint.
func (e *endpoint) off(n *syntax.Node, i int, why string) {
	if e.silent {
		return
	}
	e.AddLost("endpoint", e.base(e.needs).Set("response", shown(n)), n.Pos(), e.label(n, i), why)
}

// shown returns the known parts of a response that cannot be served, as they are in the source.
func shown(n *syntax.Node) *syntax.Node {
	response, headers := syntax.NewMap(), syntax.NewMap()
	if status, err := strconv.Atoi(text(get(n, "statusCode"))); err == nil {
		response.Set("status", draft.Of(status))
	}
	for _, h := range get(n, "headers").List() {
		headers.SetText(text(get(h, "key")), text(get(h, "value")))
	}
	if headers.Len() > 0 {
		response.Set("headers", headers)
	}
	return response.SetText("body", text(get(n, "body")))
}

// several adds an endpoint whose responses are chosen at random or in turn. If one of them cannot
// be served, all are lost.
func (e *endpoint) several(responses []*syntax.Node, mode string) {
	all := syntax.NewList()
	var read []*response
	for i, n := range responses {
		a := e.response(n)
		if a.Gone != "" { // without it the other responses would be sent at the wrong time
			for j, n := range responses {
				why := "the response " + e.label(responses[i], i) + " is lost, and with it their order"
				if i == j {
					why = a.Gone
				}
				e.off(n, j, why)
			}
			return
		}
		all.Append(a.finish(a.response))
		read = append(read, a)
	}
	m := e.base(e.needs).Set("responses", all)
	if mode == "SEQUENTIAL" {
		m.Set("select", draft.Of("sequence"))
	}
	e.Add("endpoint", m, e.name)
	for i, a := range read {
		e.report(a.node.Pos(), e.label(a.node, i), a.Differ)
	}
}
