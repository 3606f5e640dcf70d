package mockoon

import (
	"net/url"
	"slices"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
	"mockserver/config/syntax"
)

// ask adds a request for an endpoint with a condition. For a silent endpoint it adds only the answer,
// which other requests may get, and it does nothing if the rules accept only requests that have a
// query, headers or a body.
func (e *endpoint) ask(n *syntax.Node, name string, want draft.Response, condition string, rules []*syntax.Node) {
	if len(rules) > 0 && !slices.ContainsFunc(rules, bare) {
		return
	}
	var ask *draft.Ask
	if !e.silent {
		ask = language.Example(e.own, condition)
	}
	if ask != nil {
		ask.Pos, ask.Name = n.Pos(), name
	}
	want.Any = want.Any || e.method == "HEAD"
	e.asks.Add(e.Draft, e.method, e.own, ask, &want)
}

// bare reports whether a rule may accept a request without a query, headers and a body.
func bare(rule *syntax.Node) bool {
	target, operator := text(get(rule, "target")), text(get(rule, "operator"))
	return isTrue(get(rule, "invert")) || operator != "equals" || text(get(rule, "value")) == "" || target == "params" || target == "templating" || target == "method"
}

// askList adds the requests for the list of a resource and for its first row. It adds none if the
// list is too long for one page, or if the path has regular expressions.
func (r *reader) askList(n *syntax.Node, name string, path language.Path, rows *syntax.Node, key string) {
	ask := language.Example(path, "")
	row := append(path[:len(path):len(path)], language.Segment{Kind: language.Param, Text: "row-id"})
	if ask == nil || len(rows.Items) > language.WholeList {
		r.asks.Add(r.Draft, "GET", path, nil, nil)
		r.asks.Add(r.Draft, "GET", row, nil, nil)
		return
	}
	want := draft.Response{Status: 200, Body: []byte(language.JSON(rows)), JSON: true}
	r.asks.Add(r.Draft, "GET", path, &draft.Ask{Pos: n.Pos(), Name: name, Target: ask.Target}, &want)
	if len(rows.Items) == 0 {
		return
	}
	first := rows.Items[0]
	want = draft.Response{Status: 200, Body: []byte(language.JSON(first)), JSON: true}
	r.asks.Add(r.Draft, "GET", row, &draft.Ask{Pos: first.Pos(), Name: name, Target: ask.Target + "/" + url.PathEscape(text(get(first, key)))}, &want)
}
