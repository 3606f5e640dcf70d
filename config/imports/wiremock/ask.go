package wiremock

import (
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
	"mockserver/config/syntax"
)

// ask adds the request that a mapping describes, with its first method. It adds no request if none
// can be derived from the matchers, if the mapping passes requests on or sends a fault, or if its
// scenario may be in another state.
func (r *reader) ask(m *made, e *syntax.Node) {
	response := e.Get("response")
	want := language.Wanted(response)
	known := &want
	if e.Get("fault") != nil || response.Get("proxy") != nil {
		known = nil
	}
	for i, method := range m.methods {
		var ask *draft.Ask
		if i == 0 && known != nil && r.asksScenario(m.Node) {
			if ask = language.Example(m.path, e.Get("if").AsText()); ask != nil {
				ask.Pos, ask.Name = m.Node.Pos(), m.name
			}
			if ask != nil && strings.Contains(text(get(m.Node, "response", "body")), "request.body") {
				ask = nil // WireMock's helpers send their own error messages
			}
		}
		one := want
		if one.Any = want.Any || method == "HEAD"; known != nil {
			known = &one
		}
		r.asks.Add(r.Draft, method, m.path, ask, known)
	}
}

// asksScenario reports whether the scenario is in the state of a mapping when the mapping is
// requested: it is the first state, and no other mapping of the scenario was requested before.
func (r *reader) asksScenario(n *syntax.Node) bool {
	name := text(get(n, "scenarioName"))
	if name == "" {
		return true
	}
	if state := text(get(n, "requiredScenarioState")); state != "" && state != "Started" || r.asked[name] {
		return false
	}
	r.asked[name] = true
	return true
}
