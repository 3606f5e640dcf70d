package openapi

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/internal/wording"
)

// bind resolves the references, which by now all refer to components. It reports each reference
// that it cannot resolve and, unless d.strict is set, replaces it with an empty object.
func (d *decoding) bind(doc *openapi3.T) {
	sections := map[string]reflect.Value{}
	if doc.Components != nil {
		for name, f := range d.layouts.of(typeOfComponents).fields {
			if f.index != nil {
				sections[name] = reflect.ValueOf(doc.Components).Elem().FieldByIndex(f.index)
			}
		}
	}
	for _, r := range d.refs {
		if d.broken[r.node] {
			continue // already reported
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
				d.fault(r.node, brokenReference, "the reference %s does not resolve", strconv.Quote(wording.Clip(ref)))
				break
			}
			if at = next.Elem(); at == r.value {
				d.fault(r.node, brokenReference, endlessReference)
				break
			}
			if steps > maxInlined {
				d.fault(r.node, brokenReference, "the reference starts a chain of more than %d references", maxInlined)
				break
			}
		}
		if value := r.value.FieldByName("Value"); at.FieldByName("Ref").String() == "" {
			value.Set(at.FieldByName("Value"))
		} else if !d.strict {
			value.Set(reflect.New(value.Type().Elem()))
			r.value.FieldByName("Ref").SetString("")
		}
	}
}

// loops reports schemas that contain themselves: checking a value against one of them would never
// end. Unless d.strict is set, it replaces the parts that lead back with empty schemas.
func (d *decoding) loops() {
	state := make(map[*openapi3.Schema]uint8, len(d.schemas)) // 1: in progress, 2: done
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
			if visit(part.Value, depth+1) {
				continue
			}
			whole = false
			if !d.strict {
				part.Ref, part.Value = "", &openapi3.Schema{}
			}
		}
		state[s] = 2
		if !whole {
			d.report(originProblem(s.Origin, "the schema contains itself through allOf, anyOf, oneOf, not or if, "+
				"so it would never end; a reference back to it may be in properties or items"), endless)
		}
		return true
	}
	for _, s := range d.schemas {
		visit(s, 0)
	}
}

// maxMadeOf limits how deeply schemas are composed of other schemas.
const maxMadeOf = 1000

// madeOf returns the schemas that s is composed of and that are checked against the same value.
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
