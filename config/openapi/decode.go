package openapi

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/syntax"
	"mockserver/internal/wording"
)

// decoding turns nodes into values of the library's types. The result is the same as when the
// library decodes JSON, but decoding takes one pass, records the place of each object and reports
// all errors.
type decoding struct {
	*reports
	layouts layouts
	modern  bool // OpenAPI 3.1 or later
	suggest func(word string, among []string) string
	broken  map[*syntax.Node]bool // the $ref values of dangling references
	emptied map[syntax.Pos]bool   // the positions of objects whose dangling references were removed
	twins   map[*openapi3.Operation]*twin
	refs    []referable // the values that refer to a component
	schemas []*openapi3.Schema
	orders  map[*openapi3.Schema][]string
	numbers jsonvalue.Numbers
}

// referable is a value of one of the library's …Ref types that refers to a component.
type referable struct {
	value   reflect.Value
	section string
	node    *syntax.Node // the node of the reference
}

// place is the origin of an object together with its location, so that one allocation suffices for
// both.
type place struct {
	origin   openapi3.Origin
	location openapi3.Location
}

// refuse reports that a node has the wrong kind for its place.
func (d *decoding) refuse(n *syntax.Node, accepted string) {
	d.fault(n, badValue, "is %s; expected %s", n.Kind, accepted)
}

// decode decodes a node into v.
func (d *decoding) decode(n *syntax.Node, l *layout, v reflect.Value) {
	if n.Kind == syntax.NullNode && l.want != wantReferable && l.want != wantAny && l.typ != typeOfSchema {
		return // treated as absent
	}
	switch l.want {
	case wantAny:
		value := jsonvalue.OfNode(n) // it keeps the order of names and all digits
		if n.Kind == syntax.NullNode {
			value = jsonvalue.Null{} // nil means that the value is absent
		}
		v.Set(reflect.ValueOf(value))
	case wantPointer:
		p := reflect.New(l.elem.typ)
		d.decode(n, l.elem, p.Elem())
		v.Set(p)
	case wantList:
		d.list(n, l, v)
	case wantMap, wantMapLike:
		d.names(n, l, v)
	case wantObject:
		d.object(n, l, v)
	case wantReferable:
		d.referable(n, l, v)
	case wantSchemaOrBool:
		d.schemaOrBool(n, l, v)
	case wantTypes:
		d.types(n, v)
	default:
		d.scalar(n, l, v)
	}
}

// scalarForms are the values that places for scalars accept.
var scalarForms = map[want]string{
	wantText: "a text", wantMapping: "a text", wantBool: "true or false", wantWhole: "an integer from 0",
	wantNumber: "a number", wantBound: "a number, or before OpenAPI 3.1 true or false,",
}

func (d *decoding) scalar(n *syntax.Node, l *layout, v reflect.Value) {
	x, isNumber := 0.0, false
	if n.Kind == syntax.NumberNode {
		var err error
		x, err = strconv.ParseFloat(n.Number, 64)
		isNumber = err == nil
	}
	switch {
	case l.want == wantText && n.Kind < syntax.ListNode:
		v.SetString(n.Scalar())
	case l.want == wantMapping && n.Kind == syntax.TextNode:
		v.Addr().Interface().(*openapi3.MappingRef).Ref = n.Text.Value
	case l.want == wantBool && n.Kind == syntax.BoolNode:
		v.SetBool(n.Truth())
	case l.want == wantWhole && isNumber && x >= 0 && x == math.Trunc(x) && x < 1<<63:
		v.SetUint(uint64(x))
	case l.want == wantNumber && isNumber:
		v.SetFloat(x)
		d.numbers.Note(v.Addr().Interface().(*float64), n.Number)
	case l.want == wantBound && isNumber:
		value := x
		v.Addr().Interface().(*openapi3.ExclusiveBound).Value = &value
		d.numbers.Note(&value, n.Number)
	case l.want == wantBound && n.Kind == syntax.BoolNode:
		v.Addr().Interface().(*openapi3.ExclusiveBound).Bool = openapi3.Ptr(n.Truth())
	default:
		d.refuse(n, scalarForms[l.want])
	}
}

func (d *decoding) types(n *syntax.Node, v reflect.Value) {
	into := v.Addr().Interface().(*openapi3.Types)
	switch n.Kind {
	case syntax.TextNode:
		*into = openapi3.Types{n.Text.Value}
	case syntax.ListNode:
		*into = make(openapi3.Types, 0, len(n.Items))
		for _, item := range n.Items {
			if item.Kind != syntax.TextNode {
				d.refuse(item, "the name of a type")
				continue
			}
			*into = append(*into, item.Text.Value)
		}
	default:
		d.refuse(n, "the name of a type, such as string or object")
	}
}

func (d *decoding) schemaOrBool(n *syntax.Node, l *layout, v reflect.Value) {
	into := v.Addr().Interface().(*openapi3.BoolSchema)
	if n.Kind == syntax.BoolNode {
		into.Has = openapi3.Ptr(n.Truth())
		return
	}
	into.Schema = &openapi3.SchemaRef{}
	d.decode(n, l.elem, reflect.ValueOf(into.Schema).Elem())
}

func (d *decoding) list(n *syntax.Node, l *layout, v reflect.Value) {
	if n.Kind != syntax.ListNode {
		d.refuse(n, "a list")
		return
	}
	list := reflect.MakeSlice(l.typ, len(n.Items), len(n.Items))
	kept := 0
	for _, item := range n.Items {
		if len(item.Entries) == 0 && l.elem.section != "schemas" && d.emptied[item.Pos()] {
			continue
		}
		d.decode(item, l.elem, list.Index(kept))
		d.fill(item, list.Index(kept))
		kept++
	}
	v.Set(list.Slice(0, kept))
}

// fill sets v to an empty object when an entry of a list or a map is null, so that later code need
// not check for nil.
func (d *decoding) fill(n *syntax.Node, v reflect.Value) {
	if v.Kind() != reflect.Pointer || !v.IsNil() {
		return
	}
	v.Set(reflect.New(v.Type().Elem()))
	d.place(n, v.Elem())
	if d.layouts.of(v.Type().Elem()).want == wantReferable {
		d.refuse(n, "a map")
	}
}

// names decodes a map, or one of the library's types that wrap a map: paths, responses and callbacks.
func (d *decoding) names(n *syntax.Node, l *layout, v reflect.Value) {
	if n.Kind != syntax.MapNode {
		d.refuse(n, "a map")
		return
	}
	set := func(key string, value reflect.Value) {
		v.SetMapIndex(reflect.ValueOf(key), value)
	}
	if l.want == wantMap {
		v.Set(reflect.MakeMapWithSize(l.typ, len(n.Entries)))
	} else {
		d.place(n, v)
		method := v.Addr().MethodByName("Set")
		set = func(key string, value reflect.Value) { method.Call([]reflect.Value{reflect.ValueOf(key), value}) }
	}
	for i := range n.Entries {
		e := &n.Entries[i]
		if l.below(e.Name()) == nil {
			d.extension(e, v)
			continue
		}
		value := reflect.New(l.elem.typ).Elem()
		d.decode(e.Value, l.elem, value)
		d.fill(e.Value, value)
		set(e.Name(), value)
	}
}

func (d *decoding) extension(e *syntax.Entry, v reflect.Value) {
	extensions := v.FieldByName("Extensions").Addr().Interface().(*map[string]any)
	if *extensions == nil {
		*extensions = map[string]any{}
	}
	(*extensions)[e.Name()] = jsonvalue.OfNode(e.Value)
}

// place records the position of an object.
func (d *decoding) place(n *syntax.Node, v reflect.Value) {
	if v.Kind() != reflect.Struct {
		return
	}
	if f := v.FieldByName("Origin"); f.IsValid() && f.Type() == typeOfOrigin {
		p := &place{location: openapi3.Location{File: n.Pos().File, Line: n.Pos().Line, Column: n.Pos().Column}}
		p.origin.Key = &p.location
		f.Set(reflect.ValueOf(&p.origin))
	}
}

func (d *decoding) object(n *syntax.Node, l *layout, v reflect.Value) {
	switch {
	case l.typ == typeOfSchema && n.Kind == syntax.BoolNode:
		*v.Addr().Interface().(*openapi3.Schema) = openapi3.Schema{Always: openapi3.Ptr(n.Truth())}
		d.place(n, v)
		return
	case n.Kind != syntax.MapNode:
		d.refuse(n, "a map")
		return
	}
	d.place(n, v)
	for i := range n.Entries {
		e := &n.Entries[i]
		switch f, ok := l.fields[e.Name()]; {
		case !ok:
			d.otherKey(e, l, v)
		case f.index != nil:
			d.decode(e.Value, f.layout, v.FieldByIndex(f.index))
		}
	}
	d.needs(n, l)
	d.check(n, v.Addr().Interface())
	switch object := v.Addr().Interface().(type) {
	case *openapi3.Schema:
		d.schemas = append(d.schemas, object)
		dropNull(&object.Default, true) // a null default does not show what a value looks like
		if properties := n.Get("properties"); properties != nil && len(properties.Entries) > 1 {
			d.orders[object] = properties.Keys()
		}
	case *openapi3.MediaType:
		dropNull(&object.Example, len(object.Examples) > 0)
	case *openapi3.Parameter:
		dropNull(&object.Example, len(object.Examples) > 0)
	case *openapi3.Header:
		dropNull(&object.Example, len(object.Examples) > 0)
	case *openapi3.Example:
		dropNull(&object.Value, object.ExternalValue != "")
		if object.Value == nil && object.ExternalValue == "" {
			d.fault(n, emptyExample, "no value or externalValue field")
		}
	}
}

// dropNull removes a null that stands for an absent value: some document generators write one next
// to a key that excludes the value. excluded reports whether the null cannot be the value itself.
func dropNull(example *any, excluded bool) {
	if excluded && *example == (jsonvalue.Null{}) {
		*example = nil
	}
}

// otherKey handles a key that is not a field of its object. It keeps extensions, and warns of other
// keys, which are not read. A schema of OpenAPI 3.1 may have any key.
func (d *decoding) otherKey(e *syntax.Entry, l *layout, v reflect.Value) {
	switch {
	case strings.HasPrefix(e.Name(), "x-"):
		d.extension(e, v)
	case e.Name() == "$ref" && l.section == pathSection:
	case l.typ == typeOfSchema && d.modern:
	default:
		hint := ""
		if d.suggest != nil {
			hint = d.suggest(e.Name(), jsonvalue.SortedNames(l.fields))
		}
		p := entryProblem(e, fmt.Sprintf("%q is not read%s; extensions begin with x-", wording.Clip(e.Name()), hint))
		p.Warning, p.Kind = true, manyKeys
		d.problems = append(d.problems, p)
	}
}

// isConstraint reports whether a key next to the $ref of a schema affects what the schema accepts.
func isConstraint(e syntax.Entry) bool {
	others := []string{"$ref", "description", "summary", "title", "$comment", "deprecated", "externalDocs"}
	return !strings.HasPrefix(e.Name(), "x-") && !slices.Contains(others, e.Name())
}

// referable decodes an object or a reference to one.
func (d *decoding) referable(n *syntax.Node, l *layout, v reflect.Value) {
	ref := n.Get("$ref")
	if ref == nil || ref.Kind != syntax.TextNode {
		if ref != nil {
			d.refuse(ref, "a text")
			return
		}
		value := reflect.New(l.elem.typ)
		if n.Kind == syntax.NullNode {
			d.refuse(n, "a map")
		}
		d.decode(n, l.elem, value.Elem())
		v.FieldByName("Value").Set(value)
		return
	}
	if l.typ == typeOfSchemaRef && d.modern && slices.ContainsFunc(n.Entries, isConstraint) {
		d.constrained(n, l, v)
		return
	}
	d.place(n, v)
	v.FieldByName("Ref").SetString(ref.Text.Value)
	for i := range n.Entries {
		if strings.HasPrefix(n.Entries[i].Name(), "x-") {
			d.extension(&n.Entries[i], v)
		}
	}
	d.refs = append(d.refs, referable{value: v, section: l.section, node: ref})
}

// constrained builds a schema from a reference with other keys next to it. Since OpenAPI 3.1 those
// keys apply too: a value must match the referenced schema and the other keys.
func (d *decoding) constrained(n *syntax.Node, l *layout, v reflect.Value) {
	referred := &syntax.Node{Kind: syntax.MapNode, Text: syntax.Text{Pos: n.Pos()}}
	siblings := &syntax.Node{Kind: syntax.MapNode, Text: syntax.Text{Pos: n.Pos()}}
	all := &syntax.Node{Kind: syntax.ListNode, Text: syntax.Text{Pos: n.Pos()}, Items: []*syntax.Node{referred}}
	for _, e := range n.Entries {
		switch e.Name() {
		case "$ref":
			referred.Entries = []syntax.Entry{e}
		case "allOf":
			all.Items = append(all.Items, e.Value.Items...)
		default:
			siblings.Entries = append(siblings.Entries, e)
		}
	}
	siblings.Entries = append(siblings.Entries, syntax.NewEntry("allOf", all))
	d.referable(siblings, l, v)
}
