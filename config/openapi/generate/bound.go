package generate

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
)

// BoundMembers describes which members of a generated body have the values of path parameters, so that a
// request gets the object that it names.
type BoundMembers struct {
	within  string // the member whose value has these members; "" for the body itself
	members []boundMember
}

type boundMember struct {
	name      string
	parameter int // index in the path
	generated any // a string or a json.Number
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
		if m.accepts(member.Value, p.Schema, m.propertyOf(g.schemas, member.Name).schemas) {
			a.members = append(a.members, boundMember{member.Name, at, member.Value})
		}
	}
	return len(bound) > 0
}

// accepts reports whether a member with certain schemas may have the values of a parameter, judged by some of them.
func (m *Maker) accepts(generated any, parameter *openapi3.Schema, schemas []*openapi3.SchemaRef) bool {
	check := validator{m: m, lenient: true}
	allValid := func(values ...any) bool {
		return len(schemas) > 0 && !slices.ContainsFunc(values, func(v any) bool {
			return slices.ContainsFunc(schemas, func(s *openapi3.SchemaRef) bool { return !check.accepts(s, v) })
		})
	}
	switch generated.(type) {
	case json.Number:
		return allValid(json.Number("1"), json.Number("7"), json.Number("1234567"))
	case string:
		if allValid("a", "7", "x-1_B") {
			return true
		}
		if parameter == nil {
			return false
		}
		for seed := range uint64(3) {
			v, wrong := m.body(&openapi3.SchemaRef{Value: parameter}, toServer, seed, true, "")
			if wrong != "" || !allValid(plainText(v)) {
				return false
			}
		}
		return true
	}
	return false
}

// Fill writes values of path parameters into a body of the response. A number keeps its generated value
// if the parameter is none. value returns a path parameter, decoded.
func (a *BoundMembers) Fill(body []byte, value func(parameter int) []byte) []byte {
	return a.replace(body, func(m *boundMember, before any) any {
		text := string(value(m.parameter))
		switch before.(type) {
		case string:
			return text
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
		if number, isNumber := m.generated.(json.Number); isNumber {
			return json.Number("{{" + variable(m.parameter) + "|add:0|default:" + string(number) + "}}") // written as is
		}
		return json.Number(`"{{` + variable(m.parameter) + `}}"`)
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
