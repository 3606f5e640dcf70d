package data

import (
	"slices"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/internal/json"
	"mockserver/internal/list"
	"mockserver/matcher"
	"mockserver/renderer"
)

// Lets are the values that an endpoint makes once for each request, each under a name.
type Lets []let

type let struct {
	at   int // the position of the name among the endpoint's names
	made *renderer.Operand
}

// CompileLets compiles the values of an endpoint, and adds their names to the scope.
func CompileLets(e *item.Endpoint, scope *renderer.Scope) (all Lets, problems syntax.Problems) {
	scope.Rows = slices.Clip(scope.Rows)
	for i := range e.Let {
		s := &e.Let[i]
		scope.Later = namesOf(e.Let[i:])
		made, wrong := renderer.CompileMade(s.Value.Text, s.Value.JSON, scope)
		problems = append(problems, wrong...)
		problems = append(problems, claim(s.Name, scope.Rows, s.Value.Text.Pos, s.Value.Text.Key)...)
		all = append(all, let{len(scope.Rows), made})
		scope.Rows = append(scope.Rows, s.Name) // not before: a value cannot use itself
	}
	scope.Later = nil
	return all, problems
}

// LaterNames returns the names that have values only once the endpoint is chosen.
func LaterNames(e *item.Endpoint) []string {
	names := namesOf(e.Let)
	for _, all := range doOf(e) {
		for i := range all {
			if all[i].As != "" {
				names = append(names, all[i].As)
			}
		}
	}
	return names
}

func namesOf(all []item.Setting) []string {
	return list.Map(all, func(s item.Setting) string { return s.Name })
}

// Make makes the values for a request, and appends their texts to a buffer, which it returns. The values
// are valid as long as the buffer is.
func (l Lets) Make(texts []byte, r *matcher.Request) []byte {
	for i := range l {
		for len(r.Rows) <= l[i].at {
			r.Rows = append(r.Rows, json.Value{})
		}
		start := len(texts)
		texts = l[i].made.AppendJSON(texts, r)
		r.Rows[l[i].at] = json.Parse(texts[start:len(texts):len(texts)])
	}
	return texts
}
