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
	var raws []string
	for _, p := range r.from.query {
		if p.name == r.name {
			raws = append(raws, p.raw)
		}
	}
	switch {
	case len(raws) == 0:
		return nil, false
	case !r.json && r.explode && f.has(arrayType) && (len(raws) > 1 || !f.has(primitiveType)):
		if r.empty = len(raws) == 1 && raws[0] == ""; r.empty {
			raws = nil
		}
		return r.list(raws), true
	case len(raws) > 1:
		r.fault = "is given " + strconv.Itoa(len(raws)) + " times; expected once"
		return nil, true
	}
	_, separator := r.delimiters()
	return r.delimited(raws[0], separator), true
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
