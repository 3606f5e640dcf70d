package postman

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
	"mockserver/internal/semantics"
)

// The headers by which clients of Postman's mock servers ask for a certain answer.
const (
	nameHeader = "x-mock-response-name"
	codeHeader = "x-mock-response-code"
)

// group adds the answers to one method and path: those that compare more values first, and the one
// that compares the fewest last, as the answer to all other requests.
func (r *reader) group(g *group) {
	g.distinguish()
	order := slices.Clone(g.responses)
	slices.SortStableFunc(order, func(a, b *response) int {
		return cmp.Or(cmp.Compare(b.weight(), a.weight()), cmp.Compare(a.status/300, b.status/300)) // successful ones first
	})
	fewest := slices.IndexFunc(order, func(a *response) bool { return a.weight() == order[len(order)-1].weight() })
	last := order[fewest] // the best of these
	order = append(slices.Delete(order, fewest, fewest+1), last)
	for i, a := range order[:len(order)-1] {
		a.ways = waysOf(order, i)
	}
	for _, a := range order {
		all := slices.Clone(a.need)
		if ways := make([]string, len(a.ways)); len(ways) > 0 {
			for k, w := range a.ways {
				ways[k] = language.And(append(w.headers, a.texts(w.compares)...)...)
			}
			all = append(all, language.Or(ways...))
		}
		r.addResponse(a, language.And(all...), order)
	}
}

// way is a way to choose an answer: by headers, and by the rest of the request if compares is set.
type way struct {
	headers  []string
	name     string // in the header for names; "" for no header
	byCode   bool
	compares bool
}

// waysOf returns the ways to choose an answer that is not the last one. Of several answers with one
// name or status, the last is chosen by the header alone.
func waysOf(order []*response, i int) []way {
	a, last := order[i], order[len(order)-1]
	noName, noCode := "header-params."+nameHeader+" = null", "header-params."+codeHeader+" = null"
	again := func(equal func(*response) bool) bool {
		return len(a.conditions) > 0 && slices.ContainsFunc(order[i+1:], equal)
	}
	var ways []way
	if a.name != "" {
		ways = append(ways, way{headers: []string{language.Equal("header-params."+nameHeader, a.name)}, name: a.name,
			compares: again(func(b *response) bool { return b.name == a.name })})
	}
	ways = append(ways, way{headers: []string{noName, language.Equal("header-params."+codeHeader, strconv.Itoa(a.status))}, byCode: true,
		compares: again(func(b *response) bool { return b.status == a.status })})
	same := func(b *response) bool { return slices.Equal(b.texts(true), a.texts(true)) }
	if len(a.conditions) > 0 && !slices.ContainsFunc(order[:i], same) && !same(last) {
		ways = append(ways, way{headers: []string{noName, noCode}, compares: true})
	}
	return ways
}

// chooses reports whether the request of answer b, with a name in the header or none, is answered
// with a, unless an earlier answer is chosen.
func (a *response) chooses(b *response, name string) bool {
	if !slices.Equal(a.need, b.need) && len(a.need) > 0 {
		return false
	}
	differs := slices.ContainsFunc(a.conditions, func(c condition) bool { return !c.holds(b) })
	return a.ways == nil || slices.ContainsFunc(a.ways, func(w way) bool {
		return w.name == name && !w.byCode && !(w.compares && differs)
	})
}

// addResponse adds the endpoint of an answer and, if the answer is exact and the target of its request
// is known, the request by which the endpoint can be checked.
func (r *reader) addResponse(a *response, condition string, order []*response) {
	r.Add("endpoint", a.declaration(condition, a.summary, a.folder).Set("response", a.response), a.label)
	chosen := func(name string) *response {
		i := slices.IndexFunc(order, func(b *response) bool { return b.chooses(a, name) })
		return order[max(i, 0)]
	}
	byName := false
	if b := chosen(""); b != a && a.why == "" {
		byName = a.name != "" && chosen(a.name) == a
		switch {
		case !byName:
			a.why = "its request and name are those of " + b.label + ", which is sent instead"
		case a.target != b.target || !slices.Equal(a.header, b.header) || a.body.sent != b.body.sent || !slices.Equal(a.query, b.query):
			a.why = "its request gets " + b.label + ", unless it has the header " + nameHeader
		}
	}
	if a.why != "" {
		r.Report(a.pos, a.label, a.why)
		return
	}
	if r.Report(a.pos, a.label); a.target == "" {
		return
	}
	ask := draft.Ask{Pos: a.pos, Name: a.label, Method: a.method, Target: a.target, Header: a.sentHeader(), Body: []byte(a.body.sent), Want: []draft.Response{a.want}}
	if byName {
		ask.Header = append(ask.Header, draft.Field{Name: nameHeader, Value: a.name})
	}
	r.Asks = append(r.Asks, ask)
}

// sentHeader returns the headers that a client sends with the request.
func (a *response) sentHeader() []draft.Field {
	typed := func(f draft.Field) bool { return strings.EqualFold(f.Name, "Content-Type") }
	parts := strings.HasPrefix(a.body.kind, "multipart/") // a saved type lacks the boundary
	all := slices.DeleteFunc(slices.Clone(a.header), func(f draft.Field) bool {
		return language.OwnHeader(f.Name) || strings.EqualFold(f.Name, "Host") || !semantics.IsToken(f.Name) || parts && typed(f)
	})
	if a.body.sent != "" && !slices.ContainsFunc(all, typed) {
		all = append(all, draft.Field{Name: "Content-Type", Value: a.body.kind})
	}
	return all
}

// condition is what the requests for an answer have in common, unlike those for other answers.
type condition struct {
	text   string               // in the configuration language
	weight int                  // how many values it compares
	holds  func(*response) bool // for the request of an answer
}

// weight returns how many values the conditions of the answer compare.
func (a *response) weight() int {
	n := len(a.need)
	for _, c := range a.conditions {
		n += c.weight
	}
	return n
}

// texts returns the conditions in the configuration language; none unless compares is set.
func (a *response) texts(compares bool) (all []string) {
	for _, c := range a.conditions {
		if compares {
			all = append(all, c.text)
		}
	}
	return all
}

// distinguish adds conditions for the parts in which the requests of the answers differ.
func (g *group) distinguish() {
	if len(g.responses) < 2 {
		return
	}
	g.byFields("query-params", func(a *response) []draft.Field { return a.query })
	g.byFields("path-params", func(a *response) []draft.Field { return a.params() })
	g.byFields("header-params", func(a *response) []draft.Field {
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
func (g *group) byFields(root string, of func(*response) []draft.Field) {
	for _, a := range g.responses {
		fields := of(a)
		for i, f := range fields {
			holds := func(b *response) bool { value, has := first(of(b), root, f.Name); return has && value == f.Value }
			_, again := first(fields[:i], root, f.Name)
			if !again && !reference.MatchString(f.Value) && slices.ContainsFunc(g.responses, func(b *response) bool { return !holds(b) }) {
				a.conditions = append(a.conditions, condition{language.Equal(language.Member(root, f.Name), f.Value), 1, holds})
			}
		}
	}
}

// first returns the first value of a field. The names of headers have any case.
func first(fields []draft.Field, root, name string) (string, bool) {
	i := slices.IndexFunc(fields, func(f draft.Field) bool {
		return f.Name == name || root == "header-params" && strings.EqualFold(f.Name, name)
	})
	if i < 0 {
		return "", false
	}
	return fields[i].Value, true
}

// byBody adds conditions for bodies that differ.
func (g *group) byBody() {
	if !slices.ContainsFunc(g.responses, func(a *response) bool { return a.body.sent != g.responses[0].body.sent }) {
		return
	}
	for _, a := range g.responses {
		b := a.body
		for _, f := range b.form {
			if !reference.MatchString(f.Value) {
				a.conditions = append(a.conditions, condition{language.Equal(language.Member(b.root, f.Name), f.Value), 1, func(o *response) bool {
					value, has := first(o.body.form, "", f.Name)
					return has && value == f.Value && o.body.root == b.root
				}})
			}
		}
		switch {
		case b.json != nil:
			if text, _, err := language.EqualJSON(b.operand, b.json, language.JSONRule{Open: open}); err == nil && text != "" {
				a.conditions = append(a.conditions, condition{text, leaves(b.json), func(o *response) bool { return o.body.operand == b.operand && fits(b.json, o.body.json) }})
			}
		case b.text != "" && !reference.MatchString(b.text):
			a.conditions = append(a.conditions, condition{language.Equal("body", b.text), 1, func(o *response) bool { return o.body.text == b.text }})
		}
	}
}
