package openapi

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/internal/wording"
)

// bind gives every reference what it refers to: all of them are to components by now.
func (d *decoding) bind(doc *openapi3.T) {
	sections := map[string]reflect.Value{}
	if doc.Components != nil {
		for name, f := range d.layouts.of(typeOfComponents).fields {
			sections[name] = reflect.ValueOf(doc.Components).Elem().FieldByIndex(f.index)
		}
	}
	for _, r := range d.refs {
		if d.broken[r.node] {
			continue // which is said
		}
		at := r.value
		for steps := 0; ; steps++ {
			ref := at.FieldByName("Ref").String()
			if ref == "" {
				break
			}
			name := jsonvalue.UnescapePointer(ref[strings.LastIndexByte(ref, '/')+1:])
			next := reflect.Value{}
			if s := sections[r.section]; s.IsValid() {
				next = s.MapIndex(reflect.ValueOf(name))
			}
			if !next.IsValid() {
				d.wrong(r.node, "the reference %s leads nowhere", strconv.Quote(wording.Clip(ref)))
				break
			}
			if at = next.Elem(); at == r.value {
				d.wrong(r.node, "the reference leads back to itself, so that it would have no end")
				break
			}
			if steps > maxInlined {
				d.wrong(r.node, "the reference leads to a reference, and so on, more than %d times", maxInlined)
				break
			}
		}
		if at.FieldByName("Ref").String() == "" {
			r.value.FieldByName("Value").Set(at.FieldByName("Value"))
		}
	}
}

// loops reports schemas that are made of themselves: what is held against one would be
// held against it again, without end.
func (d *decoding) loops() {
	state := make(map[*openapi3.Schema]uint8, len(d.schemas)) // 1: being looked at, 2: done
	var visit func(s *openapi3.Schema, depth int) bool
	visit = func(s *openapi3.Schema, depth int) bool {
		if s == nil || state[s] == 2 {
			return true
		}
		if state[s] == 1 || depth > maxMadeOf {
			return false
		}
		state[s] = 1
		whole := true
		for _, part := range madeOf(s) {
			whole = visit(part.Value, depth+1) && whole
		}
		state[s] = 2
		if !whole {
			d.problems = append(d.problems, originProblem(s.Origin, "the schema is made of itself, by allOf, anyOf, oneOf, not or if, "+
				"so that it would have no end; a reference back to it may stand in properties or items"))
		}
		return true
	}
	for _, s := range d.schemas {
		visit(s, 0)
	}
}

// maxMadeOf bounds how deep schemas are made of schemas.
const maxMadeOf = 1000

// madeOf are the schemas that hold for the very value that s holds for.
func madeOf(s *openapi3.Schema) []*openapi3.SchemaRef {
	var parts []*openapi3.SchemaRef
	for _, list := range []openapi3.SchemaRefs{s.AllOf, s.AnyOf, s.OneOf, {s.Not, s.If, s.Then, s.Else}} {
		for _, part := range list {
			if part != nil {
				parts = append(parts, part)
			}
		}
	}
	for _, name := range jsonvalue.SortedNames(s.DependentSchemas) {
		parts = append(parts, s.DependentSchemas[name])
	}
	return parts
}

// originProblem is one where an object stands.
func originProblem(o *openapi3.Origin, what string) Problem {
	if o == nil || o.Key == nil {
		return Problem{What: what}
	}
	return Problem{File: o.Key.File, Line: o.Key.Line, Column: o.Key.Column, What: what}
}

// hint proposes the key that a wrong one seems to mean.
func (ls layouts) hint(key string, l *layout, suggest func(string, []string) string) string {
	if suggest == nil {
		return ""
	}
	return suggest(key, l.keys())
}
