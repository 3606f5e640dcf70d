package generate

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
)

// Asked tells which members of a generated body have the values of path parameters, so that the
// object that a request names is the object that it gets.
type Asked struct {
	within  string // the member whose value has these members; "" for the body itself
	members []askedMember
}

type askedMember struct {
	name      string
	parameter int         // index in the path
	number    json.Number // the generated value, when it is a number; "" for a string
}

// PathParameter is a parameter of a path.
type PathParameter struct {
	Name   string
	Schema *openapi3.Schema // nil for any text
	// Object is the name of the objects that the parameter identifies, when it is the last segment
	// of the path: "pets" for /pets/{petId}. It is "" otherwise.
	Object string
}

// Asked finds the members of a generated JSON body that have the values of path parameters. It
// returns nil when there are none. Members are left alone when the schema of the body does not
// accept what the schema of the parameter accepts.
func (c *Content) Asked(body []byte, parameters []PathParameter) *Asked {
	if c.schema == nil || !jsonvalue.IsJSON(jsonvalue.BaseType(c.Media)) || c.schema.Value.Example != nil || len(c.schema.Value.Examples) > 0 {
		return nil
	}
	parsed, err := jsonvalue.Parse(body)
	root, ok := parsed.(*jsonvalue.Object)
	if err != nil || !ok {
		return nil
	}
	a := &Asked{}
	object := root
	if !namesAny(root, parameters) {
		if a.within = onlyObject(root); a.within == "" {
			return nil
		}
		within, _ := root.Get(a.within)
		object = within.(*jsonvalue.Object)
	}
	check := validator{m: c.m, request: c.way == toServer, lenient: true}
	valid := func() bool { return check.accepts(c.schema, root) }
	if !namesAny(object, parameters) || !valid() {
		return nil
	}
	for i := range object.Members {
		m := &object.Members[i]
		at := parameterFor(object, m.Name, parameters)
		number, isNumber := m.Value.(json.Number)
		if _, isText := m.Value.(string); at < 0 || !isText && !isNumber {
			continue
		}
		before, accepted := m.Value, true
		for seed := range uint64(askedTries) {
			if m.Value, accepted = c.m.askedValue(parameters[at].Schema, seed, isNumber); !accepted || !valid() {
				accepted = false
				break
			}
		}
		if m.Value = before; accepted {
			a.members = append(a.members, askedMember{m.Name, at, number})
		}
	}
	if len(a.members) == 0 {
		return nil
	}
	return a
}

// askedTries is how many values of a parameter are tried as a member of a body.
const askedTries = 3

// askedValue returns a value that a request may name, in the form of a number or of a string.
func (m *Maker) askedValue(s *openapi3.Schema, seed uint64, number bool) (any, bool) {
	if s == nil {
		s = anyText.Value
	}
	v, wrong := m.body(&openapi3.SchemaRef{Value: s}, toServer, seed, true, "")
	if wrong != "" {
		return nil, false
	}
	switch v := v.(type) {
	case json.Number:
		if number {
			return v, true
		}
		return string(v), true
	case string:
		if number { // a text that is not a number is never put in
			return json.Number(strconv.FormatUint(1+1234567*seed, 10)), true
		}
		return v, true
	}
	return nil, false
}

// namesAny reports whether an object has a member for a parameter.
func namesAny(o *jsonvalue.Object, parameters []PathParameter) bool {
	for _, m := range o.Members {
		if parameterFor(o, m.Name, parameters) >= 0 {
			return true
		}
	}
	return false
}

// onlyObject returns the name of the only member that is an object, or "".
func onlyObject(o *jsonvalue.Object) string {
	name := ""
	for _, m := range o.Members {
		if _, ok := m.Value.(*jsonvalue.Object); ok {
			if name != "" {
				return ""
			}
			name = m.Name
		}
	}
	return name
}

// parameterFor returns the index of the parameter that has the name of a member, or that identifies
// the object whose ID the member is. It returns -1 when there is none.
func parameterFor(o *jsonvalue.Object, member string, parameters []PathParameter) int {
	plain := plainName(member)
	for i, p := range parameters {
		name := plainName(p.Name)
		if name == plain {
			return i
		}
		if p.Object == "" || has(o, name) {
			continue
		}
		ofObject := strings.TrimSuffix(plainName(p.Object), "s") + "id"
		if plain == "id" && strings.HasSuffix(name, "id") || name == "id" && plain == ofObject {
			return i
		}
	}
	return -1
}

// has reports whether an object has a member of a plain name.
func has(o *jsonvalue.Object, plain string) bool {
	for _, m := range o.Members {
		if plainName(m.Name) == plain {
			return true
		}
	}
	return false
}

// Fill writes values of path parameters into a body of the response. A value that the place does
// not allow is left out. value returns a path parameter, decoded.
func (a *Asked) Fill(body []byte, value func(parameter int) []byte) []byte {
	return a.replace(body, func(m *askedMember, before any) any {
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
func (a *Asked) Template(body []byte, variable func(parameter int) string) string {
	return string(a.replace(body, func(m *askedMember, _ any) any {
		if m.number == "" {
			return json.Number(`"{{` + variable(m.parameter) + `}}"`) // written as it is
		}
		return json.Number("{{" + variable(m.parameter) + "|add:0|default:" + string(m.number) + "}}")
	}))
}

// replace replaces the members in a body.
func (a *Asked) replace(body []byte, by func(m *askedMember, before any) any) []byte {
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
