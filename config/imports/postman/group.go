package postman

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
)

// write adds the endpoints of all groups.
func (r *reader) write() {
	for _, g := range r.groups {
		r.group(g)
	}
}

// The headers by which clients of Postman's mock servers ask for a certain answer.
const (
	nameHeader = "x-mock-response-name"
	codeHeader = "x-mock-response-code"
)

// group adds the answers to one method and path: those with more conditions first, and the one with
// the fewest last, as the answer to all other requests.
func (r *reader) group(g *group) {
	g.distinguish()
	order := slices.Clone(g.answers)
	slices.SortStableFunc(order, func(a, b *answer) int {
		return cmp.Or(cmp.Compare(len(b.conditions), len(a.conditions)), cmp.Compare(rank(b), rank(a)))
	})
	if len(order) > 1 { // the first one with the fewest conditions is the best of these
		fewest := slices.IndexFunc(order, func(a *answer) bool { return len(a.conditions) == len(order[len(order)-1].conditions) })
		rest := order[fewest]
		order = append(slices.Delete(order, fewest, fewest+1), rest)
	}
	for i, a := range order {
		condition := ""
		if last := i == len(order)-1; !last {
			condition = asked(a, append(order[:i:i], order[len(order)-1]))
		}
		r.answer(a, language.And(append(slices.Clone(a.need), condition)...), order[:i])
	}
}

// rank returns 1 for a successful answer, otherwise 0.
func rank(a *answer) int {
	if a.status < 300 {
		return 1
	}
	return 0
}

// asked returns the condition of an answer that is not the last one. The given answers come before
// it, or are a better choice.
func asked(a *answer, better []*answer) string {
	byCode := language.Equal("header-params."+codeHeader, strconv.Itoa(a.status))
	ways := []string{}
	if a.name != "" {
		ways = append(ways, language.Equal("header-params."+nameHeader, a.name))
		byCode = language.And("header-params."+nameHeader+" = null", byCode)
	}
	ways = append(ways, byCode)
	if len(a.conditions) > 0 && !same(a, better) {
		ways = append(ways, language.And(append([]string{"header-params." + nameHeader + " = null", "header-params." + codeHeader + " = null"}, a.conditions...)...))
	}
	return language.Or(ways...)
}

// same reports whether one of the other answers has the same conditions.
func same(a *answer, others []*answer) bool {
	return slices.ContainsFunc(others, func(b *answer) bool { return slices.Equal(a.conditions, b.conditions) })
}

// answer adds the endpoint of an answer and, if the answer is exact and the target of its request
// is known, the request by which the endpoint can be checked.
func (r *reader) answer(a *answer, condition string, earlier []*answer) {
	m := draft.NewMap("method", a.method, "path", a.path.String())
	if condition = language.Outermost(condition); condition != "" {
		m.Set("if", condition)
	}
	if len(a.folder) > 0 {
		m.Set("tag", strings.Join(a.folder, " / "))
	}
	if a.summary != "" {
		m.Set("summary", a.summary)
	}
	r.Add("endpoint", m.Set("response", a.response), a.label)
	if a.why != "" {
		r.Approximate(a.pos, a.label, "%s", a.why)
		return
	}
	r.Exact(a.pos, a.label)
	if a.target == "" {
		return
	}
	ask := draft.Ask{Pos: a.pos, Name: a.label, Method: a.method, Target: a.target, Header: a.sentHeader(), Body: []byte(a.body.sent), Want: []draft.Answer{a.want}}
	if len(earlier) > 0 && a.name != "" || condition != "" && a.name != "" {
		ask.Header = append(ask.Header, draft.Field{Name: nameHeader, Value: a.name})
	}
	r.Asks = append(r.Asks, ask)
}

// sentHeader returns the headers that a client sends with the request.
func (a *answer) sentHeader() []draft.Field {
	all := slices.DeleteFunc(slices.Clone(a.header), func(f draft.Field) bool {
		return language.OwnHeader(f.Name) || strings.EqualFold(f.Name, "Host") || !language.HeaderName(f.Name)
	})
	if a.body.sent != "" && !slices.ContainsFunc(all, func(f draft.Field) bool { return strings.EqualFold(f.Name, "Content-Type") }) {
		all = append(all, draft.Field{Name: "Content-Type", Value: a.body.kind})
	}
	return all
}

// distinguish adds conditions for the parts in which the requests of the answers differ.
func (g *group) distinguish() {
	if len(g.answers) < 2 {
		return
	}
	g.byFields("query-params", func(a *answer) []draft.Field { return a.query })
	g.byFields("path-params", func(a *answer) []draft.Field { return a.params() })
	g.byFields("header-params", func(a *answer) []draft.Field {
		return slices.DeleteFunc(slices.Clone(a.header), func(f draft.Field) bool { return f.Name != language.Name(f.Name) })
	})
	g.byBody()
}

// params returns the values of path parameters, in their order.
func (q *request) params() []draft.Field {
	var all []draft.Field
	for _, s := range q.path {
		if value := q.values[s.Text]; s.Kind == language.Param && value != "" {
			all = append(all, draft.Field{Name: s.Text, Value: value})
		}
	}
	return all
}

// byFields adds conditions for fields that some requests lack, or that have different values.
func (g *group) byFields(root string, of func(*answer) []draft.Field) {
	values := make([]map[string]string, len(g.answers))
	for i, a := range g.answers {
		values[i] = map[string]string{}
		for _, f := range of(a) {
			if _, twice := values[i][f.Name]; !twice {
				values[i][f.Name] = f.Value
			}
		}
	}
	for i, a := range g.answers {
		for _, f := range of(a) {
			operand := language.Member(root, f.Name)
			differs := slices.ContainsFunc(values, func(v map[string]string) bool {
				other, has := v[f.Name]
				return !has || other != f.Value
			})
			if differs && values[i][f.Name] == f.Value && !reference.MatchString(f.Value) {
				a.conditions = append(a.conditions, language.Equal(operand, f.Value))
			}
		}
	}
}

// byBody adds conditions for bodies that differ.
func (g *group) byBody() {
	first := g.answers[0].body
	if !slices.ContainsFunc(g.answers, func(a *answer) bool { return a.body.sent != first.sent || !slices.Equal(a.body.form, first.form) }) {
		return
	}
	for _, a := range g.answers {
		b := a.body
		switch {
		case reference.MatchString(b.sent):
		case b.json != nil:
			if condition, _, err := language.EqualJSON("json-params", b.json, language.JSONRule{}); err == nil {
				a.conditions = append(a.conditions, condition)
			}
		case b.form != nil:
			for _, f := range b.form {
				if !reference.MatchString(f.Value) {
					a.conditions = append(a.conditions, language.Equal(language.Member(b.root, f.Name), f.Value))
				}
			}
		case b.text != "":
			a.conditions = append(a.conditions, language.Equal("body", b.text))
		}
	}
}
