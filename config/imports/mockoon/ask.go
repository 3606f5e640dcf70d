package mockoon

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
	"mockserver/config/syntax"
)

// ask adds the request that the rules of a response describe. For a silent endpoint it adds only
// the answer, which other requests may get.
func (e *endpoint) ask(n *syntax.Node, name string, want draft.Answer, rules []*syntax.Node) {
	var ask *draft.Ask
	if !e.silent {
		ask = e.example(n, rules)
	}
	if ask != nil {
		ask.Pos, ask.Name = n.Pos(), name
	}
	want.Any = want.Any || e.method == "HEAD"
	e.asks.Add(e.Draft, e.method, e.own, ask, &want, special(rules))
}

// special reports whether the rules accept only requests that have a query, headers or a body.
func special(rules []*syntax.Node) bool {
	return len(rules) > 0 && !slices.ContainsFunc(rules, func(rule *syntax.Node) bool {
		target, operator := text(get(rule, "target")), text(get(rule, "operator"))
		return isTrue(get(rule, "invert")) || operator != "equals" || text(get(rule, "value")) == "" || target == "params" || target == "templating" || target == "method"
	})
}

// example returns a request that the rules accept: all rules if AND joins them, otherwise the
// first. It returns nil if no request can be derived.
func (e *endpoint) example(n *syntax.Node, rules []*syntax.Node) *draft.Ask {
	if len(rules) > 1 && text(get(n, "rulesOperator")) != "AND" {
		rules = rules[:1]
	}
	a, params, query, body := &draft.Ask{}, map[string]string{}, url.Values{}, map[string]any{}
	for _, rule := range rules {
		name, value, ok := exampleRule(rule)
		if !ok {
			return nil
		}
		switch text(get(rule, "target")) {
		case "params":
			params[name] = value
		case "query":
			query.Set(name, value)
		case "header":
			a.Header = append(a.Header, draft.Field{Name: name, Value: value})
		case "cookie":
			a.Header = append(a.Header, draft.Field{Name: "Cookie", Value: name + "=" + value})
		case "body":
			body[name] = value
		default:
			return nil
		}
	}
	var ok bool
	if a.Target, ok = e.target(params); !ok {
		return nil
	}
	if len(query) > 0 {
		a.Target += "?" + query.Encode()
	}
	if len(body) > 0 {
		a.Body, _ = json.Marshal(body) // texts in a map
		a.Header = append(a.Header, draft.Field{Name: "Content-Type", Value: "application/json"})
	}
	return a
}

// exampleRule returns the name that a rule checks, and a value that it accepts.
func exampleRule(rule *syntax.Node) (name, value string, ok bool) {
	name, value = text(get(rule, "modifier")), text(get(rule, "value"))
	switch operator := text(get(rule, "operator")); {
	case isTrue(get(rule, "invert")), operator != "" && operator != "equals" && operator != "regex":
		return "", "", false
	case operator == "regex" || isTrue(get(rule, "isRegex")):
		if value, ok = language.Example(value); !ok {
			return "", "", false
		}
	}
	return name, value, value != "" && plain(name) && !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r >= 0x7F })
}

// target returns a path that the endpoint matches. It returns false if a parameter has a regular
// expression of its own.
func (e *endpoint) target(params map[string]string) (string, bool) {
	if strings.Contains(text(get(e.route, "endpoint")), "(") {
		return "", false
	}
	var b strings.Builder
	for _, s := range e.own {
		b.WriteByte('/')
		switch value := params[s.Text]; {
		case s.Kind == language.Literal:
			b.WriteString(url.PathEscape(s.Text))
		case s.Kind == language.Param && value != "":
			b.WriteString(url.PathEscape(value))
		default:
			b.WriteByte('1')
		}
	}
	if b.Len() == 0 {
		return "/", true
	}
	return b.String(), true
}

// askList adds the requests for the list of a resource and for its first row. It adds none if the
// list is too long for one page, or if the path has regular expressions.
func (r *reader) askList(n *syntax.Node, name string, path language.Path, rows *syntax.Node, key string) {
	e := &endpoint{reader: r, route: n, own: path}
	target, ok := e.target(nil)
	row := append(path[:len(path):len(path)], language.Segment{Kind: language.Param, Text: "row-id"})
	if !ok || len(rows.Items) > wholeList {
		r.asks.Add(r.Draft, "GET", path, nil, nil, false)
		r.asks.Add(r.Draft, "GET", row, nil, nil, false)
		return
	}
	want := draft.Answer{Status: 200, Body: []byte(language.JSON(rows)), JSON: true}
	r.asks.Add(r.Draft, "GET", path, &draft.Ask{Pos: n.Pos(), Name: name, Target: target}, &want, false)
	if len(rows.Items) == 0 {
		return
	}
	first := rows.Items[0]
	want = draft.Answer{Status: 200, Body: []byte(language.JSON(first)), JSON: true}
	r.asks.Add(r.Draft, "GET", row, &draft.Ask{Pos: first.Pos(), Name: name, Target: target + "/" + url.PathEscape(text(get(first, key)))}, &want, false)
}
