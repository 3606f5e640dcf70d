package wiremock

import (
	"strconv"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
	"mockserver/config/syntax"
)

// started is the state in which each scenario begins.
const started = "Started"

// scenario declares the scenario of a mapping, unless it is declared.
func (r *reader) scenario(m *mapping) {
	name := text(get(m.Node, "scenarioName"))
	if name == "" || r.scenarios[name] != "" {
		return
	}
	base := language.Name(name)
	if c := base[0] | 0x20; c < 'a' || c > 'z' { // names of scenarios begin with a letter
		base = "s" + base
	}
	r.scenarios[name] = language.Unique(base, r.taken)
	r.Add("scenario", draft.NewMap("name", r.scenarios[name], "first", started))
}

// enter sets the state of the scenario in which a mapping answers, and the state to which the
// mapping leads.
func (r *reader) enter(e *syntax.Node, m *mapping) {
	name := r.scenarios[text(get(m.Node, "scenarioName"))]
	if name == "" {
		return
	}
	if state := get(m.Node, "requiredScenarioState"); text(state) != "" {
		e.Set("state", draft.Flow(draft.NewMap(name, text(state))))
	}
	if state := get(m.Node, "newScenarioState"); text(state) != "" {
		e.Set("next", draft.Flow(draft.NewMap(name, text(state))))
	}
}

// delay returns a distribution of delays as a latency, and what differs. fixed, in milliseconds, is
// added to all delays except lognormal ones.
func delay(n *syntax.Node, fixed float64) (latency *syntax.Node, differs string) {
	milliseconds := func(key string) float64 {
		f, err := strconv.ParseFloat(text(get(n, key)), 64)
		if err != nil || f < 0 || f > maxDelay {
			return 0
		}
		return f
	}
	low, high := 0.0, 0.0
	switch kind := text(get(n, "type")); {
	case n == nil:
	case kind == "uniform":
		low, high = milliseconds("lower"), milliseconds("upper")
	case kind == "fixed":
		low = milliseconds("milliseconds")
	case kind == "lognormal" && milliseconds("median") > 0:
		if fixed > 0 {
			differs = "the fixed delay next to a lognormal one is left out"
		}
		if get(n, "maxValue") != nil {
			differs = "the maximum of the lognormal delay is left out"
		}
		return draft.NewMap("median", duration(milliseconds("median")), "sigma", min(milliseconds("sigma"), 10)), differs
	default:
		differs = "the delay " + text(get(n, "type")) + " is left out"
	}
	return length(fixed+low, fixed+max(low, high)), differs
}

// maxDelay is the longest delay in milliseconds: 24 hours.
const maxDelay = 24 * 60 * 60 * 1000

// length returns a uniform latency; nil for none.
func length(low, high float64) *syntax.Node {
	low, high = min(low, maxDelay), min(high, maxDelay)
	switch {
	case high <= 0:
		return nil
	case low == high:
		return draft.NewMap("min", duration(low))
	}
	return draft.NewMap("min", duration(low), "max", duration(high))
}

func duration(milliseconds float64) string {
	return strconv.FormatFloat(milliseconds, 'f', -1, 64) + "ms"
}
