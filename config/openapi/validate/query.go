package validate

import (
	"strconv"
	"strings"
)

// queryValue reads a query parameter or a property of a form.
func (r *reading) queryValue() (v any, given bool) {
	if r.style == "deepObject" {
		return r.deepObject()
	}
	f := r.form
	if !r.json && r.style == "form" && r.explode && f.has(objectType) && !f.has(primitiveType|arrayType) {
		return r.spread()
	}
	var pairs []pair
	for _, p := range r.from.query {
		if p.name == r.name {
			pairs = append(pairs, p)
		}
	}
	switch {
	case len(pairs) == 0:
		return nil, false
	case !r.json && r.explode && f.has(arrayType) && (len(pairs) > 1 || !f.has(primitiveType)):
		r.empty = len(pairs) == 1 && pairs[0].raw == ""
		return r.repeated(pairs), true
	case len(pairs) > 1:
		r.fault = "is given " + strconv.Itoa(len(pairs)) + " times; expected once"
		return nil, true
	}
	return r.delimited(pairs[0].raw, r.separator()), true
}

func (r *reading) separator() string {
	switch r.style {
	case "spaceDelimited":
		return " "
	case "pipeDelimited":
		return "|"
	}
	return ","
}

// repeated returns a list whose items are separate pairs.
func (r *reading) repeated(pairs []pair) any {
	if r.empty {
		return []any{}
	}
	items := make([]string, len(pairs))
	for i, p := range pairs {
		items[i] = p.raw
	}
	return r.list(items)
}

// spread returns an object whose properties are separate pairs of the query. If the object is open,
// pairs that do not belong to another parameter are also properties.
func (r *reading) spread() (v any, given bool) {
	object := map[string]any{}
	for _, p := range r.from.query {
		_, declared := r.form.properties[p.name]
		if !declared && (!r.form.open || r.from.named[p.name]) {
			continue
		}
		if _, twice := object[p.name]; !twice {
			object[p.name] = r.form.property(p.name).value(r.text(p.raw))
		}
	}
	return object, len(object) > 0
}

// deepObject reads pairs of the form NAME[key]=value, NAME[key][key]=value, NAME[list][]=value and
// NAME[list][0]=value.
func (r *reading) deepObject() (v any, given bool) {
	root := &node{}
	for _, p := range r.from.query {
		rest, ok := strings.CutPrefix(p.name, r.name+"[")
		if !ok {
			continue
		}
		inside, ok := strings.CutSuffix(rest, "]")
		keys := strings.Split(inside, "][")
		if !ok || len(keys) > maxBrackets {
			r.fault = "has brackets that are not closed, or are nested more than " + strconv.Itoa(maxBrackets) + " deep"
			return nil, true
		}
		given = true
		if !root.put(keys, r.text(p.raw)) {
			r.fault = "has " + p.name + " as a value and with brackets after it"
			return nil, true
		}
	}
	return plain(root.value(r.form)), given
}
