package generate

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/internal/list"
)

// BoundMembers describes which members of a generated body have the values of path parameters, so that a
// request gets the object that it names.
type BoundMembers struct {
	within  string // the member whose value has these members; "" for the body itself
	members []boundMember
}

type boundMember struct {
	name      string
	parameter int              // index in the path
	generated any              // a string or a json.Number
	accepted  []*regexp.Regexp // the expressions that a string must match, when not every string is accepted
}

// PathParameter is a parameter of a path.
type PathParameter struct {
	Name   string
	Schema *openapi3.Schema // nil for any text
	// Object is the name of the objects that the parameter identifies, when it is the last segment
	// of the path: "pets" for /pets/{petId}. It is "" otherwise.
	Object string
}

// Bind finds the members of a generated JSON body that have the values of path parameters. It
// returns nil when there are none. A member is left unchanged when its schema does not accept all
// values that the schema of the parameter accepts.
func (c *Content) Bind(body []byte, parameters []PathParameter) *BoundMembers {
	if c.schema == nil || !jsonvalue.IsJSON(jsonvalue.BaseType(c.Media)) || c.schema.Value.Example != nil || len(c.schema.Value.Examples) > 0 {
		return nil
	}
	parsed, err := jsonvalue.Parse(body)
	root, ok := parsed.(*jsonvalue.Object)
	if err != nil || !ok {
		return nil
	}
	check := validator{m: c.m, lenient: true}
	a, g := &BoundMembers{}, check.describing(root, c.schema)
	if !a.bind(c.m, root, g, parameters) {
		var inner *jsonvalue.Object
		for _, m := range root.Members {
			object, ok := m.Value.(*jsonvalue.Object)
			if ok && inner != nil {
				return nil
			}
			if ok {
				a.within, inner = m.Name, object
			}
		}
		if inner == nil {
			return nil
		}
		a.bind(c.m, inner, check.describing(inner, c.m.propertyOf(g.schemas, a.within).schemas...), parameters)
	}
	if len(a.members) == 0 {
		return nil
	}
	return a
}

// bind adds the members of an object that have the name of a parameter, or that are the ID of the
// object that it identifies, and accept its values. It returns false when none has such a name.
func (a *BoundMembers) bind(m *Maker, o *jsonvalue.Object, g *merged, parameters []PathParameter) (isNamed bool) {
	find := func(name string) int {
		return slices.IndexFunc(o.Members, func(m jsonvalue.Member) bool { return plainName(m.Name) == name })
	}
	bound := map[int]bool{}
	for at, p := range parameters {
		name := plainName(p.Name)
		i := find(name)
		if i < 0 && p.Object != "" && strings.HasSuffix(name, "id") {
			if name != "id" {
				i = find("id")
			} else {
				i = find(strings.TrimSuffix(plainName(p.Object), "s") + "id")
			}
		}
		if i < 0 || bound[i] {
			continue
		}
		bound[i] = true
		member := o.Members[i]
		if accepted, ok := m.accepted(member.Value, p.Schema, m.propertyOf(g.schemas, member.Name).schemas); ok {
			a.members = append(a.members, boundMember{member.Name, at, member.Value, accepted})
		}
	}
	return len(bound) > 0
}

// accepted reports whether a member with certain schemas may have the values of a parameter, and
// returns the expressions that they must match when the member does not accept every string.
func (m *Maker) accepted(generated any, parameter *openapi3.Schema, schemas []*openapi3.SchemaRef) (what []*regexp.Regexp, ok bool) {
	check := validator{m: m, lenient: true}
	allValid := func(values ...any) bool {
		return len(schemas) > 0 && !slices.ContainsFunc(values, func(v any) bool {
			return slices.ContainsFunc(schemas, func(s *openapi3.SchemaRef) bool { return !check.accepts(s, v) })
		})
	}
	switch generated.(type) {
	case json.Number:
		return nil, allValid(json.Number("1"), json.Number("7"), json.Number("1234567"))
	case string:
		if allValid("a", "7", "x-1_B") {
			return nil, true
		}
		if what = matchesOf(parameter); what == nil {
			return nil, false
		}
		for seed := range uint64(3) {
			v, wrong := m.body(&openapi3.SchemaRef{Value: parameter}, toServer, seed, true, "")
			if wrong != "" || !allValid(plainText(v)) {
				return nil, false
			}
		}
		return what, true
	}
	return nil, false
}

// uuid is an expression that matches the values of the format uuid.
const uuid = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"

// matchesOf returns the expressions that the values of a parameter match: nil when these are not
// known exactly.
func matchesOf(s *openapi3.Schema) []*regexp.Regexp {
	if s == nil || len(s.AllOf)+len(s.OneOf)+len(s.AnyOf) > 0 || s.Not != nil {
		return nil
	}
	var sources []string
	switch {
	case s.Format == "uuid":
		sources = append(sources, uuid)
	case s.Format != "":
		return nil
	}
	if len(s.Enum) > 0 {
		texts := list.Map(s.Enum, func(one any) string { return regexp.QuoteMeta(plainText(jsonvalue.Of(one))) })
		sources = append(sources, "^(?:"+strings.Join(texts, "|")+")$")
	}
	if s.Pattern != "" {
		sources = append(sources, s.Pattern)
	}
	switch {
	case s.MaxLength != nil:
		sources = append(sources, fmt.Sprintf("^(?s:.{%d,%d})$", s.MinLength, *s.MaxLength))
	case s.MinLength > 0:
		sources = append(sources, fmt.Sprintf("^(?s:.{%d,})$", s.MinLength))
	}
	var all []*regexp.Regexp
	for _, source := range sources {
		e, err := regexp.Compile(source)
		if err != nil || strings.Contains(source, "{{") || strings.Contains(source, "}}") || strings.Contains(source, "%") {
			return nil // an ECMAScript pattern, or one that ends a tag of a template
		}
		all = append(all, e)
	}
	return all
}

// Fill writes values of path parameters into a body of the response. A member that does not accept
// the value keeps its generated one. value returns a path parameter, decoded.
func (a *BoundMembers) Fill(body []byte, value func(parameter int) []byte) []byte {
	return a.replace(body, func(m *boundMember, before any) any {
		text := string(value(m.parameter))
		switch before.(type) {
		case string:
			if !slices.ContainsFunc(m.accepted, func(e *regexp.Regexp) bool { return !e.MatchString(text) }) {
				return text
			}
		case json.Number:
			if n, err := strconv.ParseInt(text, 10, 64); err == nil {
				return jsonvalue.IntNumber(n)
			}
		}
		return before
	})
}

// Template returns a body with placeholders for the values. variable returns the expression for a
// parameter.
func (a *BoundMembers) Template(body []byte, variable func(parameter int) string) string {
	return string(a.replace(body, func(m *boundMember, _ any) any {
		generated := string(jsonvalue.Append(nil, m.generated))
		if _, isNumber := m.generated.(json.Number); isNumber {
			return json.Number("{{" + variable(m.parameter) + "|add:0|default:" + generated + "}}") // written as is
		}
		text := `"{{` + variable(m.parameter) + `}}"`
		if len(m.accepted) > 0 {
			var tests []string
			for _, e := range m.accepted {
				tests = append(tests, variable(m.parameter)+` matches "`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(e.String())+`"`)
			}
			text = "{% if " + strings.Join(tests, " and ") + " %}" + text + "{% else %}" + generated + "{% endif %}"
		}
		return json.Number(text)
	}))
}

// replace replaces the values of the members in a body with the results of by.
func (a *BoundMembers) replace(body []byte, by func(m *boundMember, before any) any) []byte {
	parsed, err := jsonvalue.Parse(body)
	root, ok := parsed.(*jsonvalue.Object)
	if err != nil || !ok {
		return body
	}
	object := root
	if a.within != "" {
		within, _ := root.Get(a.within)
		if object, ok = within.(*jsonvalue.Object); !ok {
			return body
		}
	}
	for i := range a.members {
		m := &a.members[i]
		if before, ok := object.Get(m.name); ok {
			object.Set(m.name, by(m, before))
		}
	}
	return jsonvalue.Append(nil, root)
}
