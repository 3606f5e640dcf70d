package listener

import (
	"fmt"
	"slices"

	"mockserver/config"
	"mockserver/config/syntax"
	"mockserver/internal/json"
	"mockserver/renderer"
)

// let is a value that an endpoint makes once for each request, under a name.
type let struct {
	at   int // the position of the name among the endpoint's names
	made *renderer.Made
}

// lets compiles the values of an endpoint, and adds their names to the scope.
func (c *compiler) lets(e *config.Endpoint, scope *renderer.Scope) (all []let, problems syntax.Problems) {
	scope.Rows = slices.Clip(scope.Rows)
	for i := range e.Let {
		s := &e.Let[i]
		scope.Later = namesOf(e.Let[i:])
		made, wrong := renderer.CompileMade(s.Value.Text, s.Value.JSON, scope)
		problems = append(problems, wrong...)
		what := ""
		switch {
		case renderer.IsVariable(s.Name):
			what = fmt.Sprintf("%q is a word of the template language; expected another name", s.Name)
		case slices.Contains(scope.Rows, s.Name):
			what = fmt.Sprintf("%q is named twice; expected another name", s.Name)
		}
		if what != "" {
			problems = append(problems, syntax.Problem{Pos: s.Value.Text.Pos, Key: s.Value.Text.Key, What: what})
		}
		all = append(all, let{len(scope.Rows), made})
		scope.Rows = append(scope.Rows, s.Name) // not before: a value cannot use itself
	}
	scope.Later = nil
	return all, problems
}

// laterNames returns the names that have values only once the endpoint is chosen.
func laterNames(e *config.Endpoint) []string {
	names := namesOf(e.Let)
	changes := [][]config.Do{e.Do}
	for i := range e.Responses {
		changes = append(changes, e.Responses[i].Do)
	}
	for _, all := range changes {
		for i := range all {
			if all[i].As != "" {
				names = append(names, all[i].As)
			}
		}
	}
	return names
}

func namesOf(all []config.Setting) []string {
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return names
}

// let makes the values of an answer.
func (a *answer) let(c *call) {
	r := &c.Request
	for i := range a.lets {
		l := &a.lets[i]
		for len(r.Rows) <= l.at {
			r.Rows = append(r.Rows, json.Value{})
		}
		start := len(c.values)
		c.values = l.made.Append(c.values, r)
		r.Rows[l.at] = json.Parse(c.values[start:len(c.values):len(c.values)])
	}
}
