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
	known := e.Get("fault") == nil && e.Get("response", "proxy") == nil
	ofBody := strings.Contains(text(get(m.Node, "response", "body")), "request.body") // to WireMock's helpers, none is an error
	for i, method := range m.methods {
		var ask *draft.Ask
		var want *draft.Response
		if known {
			response := language.Wanted(e.Get("response"))
			response.Any = response.Any || method == "HEAD"
			want = &response
		}
		if i == 0 && known && r.asksScenario(m.Node) && !ofBody {
			if ask = language.Example(m.path, e.Get("if").AsText()); ask != nil {
				ask.Pos, ask.Name = m.Node.Pos(), m.name
			}
		}
		r.asks.Add(r.Draft, method, m.path, ask, want)
	}
}

// asksScenario reports whether the scenario is in the state of a mapping when the mapping is
// requested: it is the first state, and no other mapping of the scenario was requested before.
func (r *reader) asksScenario(n *syntax.Node) bool {
	name := text(get(n, "scenarioName"))
	if name == "" {
		return true
	}
	if state := text(get(n, "requiredScenarioState")); state != "" && state != "Started" || r.requested[name] {
		return false
	}
	r.requested[name] = true
	return true
}
