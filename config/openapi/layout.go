package openapi

import (
	"iter"
	"reflect"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/syntax"
)

// layout describes the node that a value of one of the library's types is decoded from. It is
// derived from the type itself, so it knows the same keys as the library.
type layout struct {
	want want
	typ  reflect.Type
	// the keys of an object and their fields
	fields map[string]fieldOf
	needed []string // those that an object must have
	elem   *layout  // of a list, a map or a pointer, and of the values of a map-like object
	// section is the section of components for referenced objects of this type, such as "schemas".
	// It is "" for types that cannot be referenced, and pathSection for path items.
	section string
}

// pathSection is the section of path items. References to them are replaced with the path items
// themselves.
const pathSection = "paths"

// fieldOf is the field that a key of an object is decoded into.
type fieldOf struct {
	index  []int // nil if the library's type has no such field
	layout *layout
}

// want is the kind of node that is expected.
type want uint8

const (
	wantAny          want = iota // any value
	wantText                     // a string
	wantBool                     // true or false
	wantWhole                    // an integer, 0 or greater
	wantNumber                   // a number
	wantList                     // a list
	wantMap                      // a map with arbitrary names
	wantObject                   // a map with known keys
	wantMapLike                  // a map with arbitrary names for which the library has its own type
	wantReferable                // an object, or a reference to one
	wantPointer                  // an optional value
	wantTypes                    // the type of a schema: a string or a list of strings
	wantSchemaOrBool             // a schema or a boolean, such as additionalProperties
	wantBound                    // a number or a boolean, such as exclusiveMinimum
	wantMapping                  // the value in a discriminator mapping: a reference or a name
)

// layouts are the layouts of the types seen so far.
type layouts map[reflect.Type]*layout

// The types with special decoding.
var (
	typeOfTypes      = reflect.TypeFor[openapi3.Types]()
	typeOfBoolSchema = reflect.TypeFor[openapi3.BoolSchema]()
	typeOfBound      = reflect.TypeFor[openapi3.ExclusiveBound]()
	typeOfMapping    = reflect.TypeFor[openapi3.MappingRef]()
	typeOfSchemaRef  = reflect.TypeFor[openapi3.SchemaRef]()
	typeOfSchema     = reflect.TypeFor[openapi3.Schema]()
	typeOfComponents = reflect.TypeFor[openapi3.Components]()
	typeOfOrigin     = reflect.TypeFor[*openapi3.Origin]()
)

// of returns the layout of a type.
func (ls layouts) of(t reflect.Type) *layout {
	if l := ls[t]; l != nil {
		return l
	}
	l := &layout{typ: t}
	ls[t] = l
	switch t {
	case typeOfTypes:
		l.want = wantTypes
	case typeOfBoolSchema:
		l.want, l.elem = wantSchemaOrBool, ls.of(typeOfSchemaRef)
	case typeOfBound:
		l.want = wantBound
	case typeOfMapping:
		l.want, l.section = wantMapping, "schemas"
	default:
		ls.ofKind(l, t)
	}
	return l
}

func (ls layouts) ofKind(l *layout, t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer:
		l.want, l.elem = wantPointer, ls.of(t.Elem())
		l.section = l.elem.section
	case reflect.String:
		l.want = wantText
	case reflect.Bool:
		l.want = wantBool
	case reflect.Uint64:
		l.want = wantWhole
	case reflect.Float64:
		l.want = wantNumber
	case reflect.Slice:
		l.want, l.elem = wantList, ls.of(t.Elem())
	case reflect.Map:
		l.want, l.elem = wantMap, ls.of(t.Elem())
	case reflect.Struct:
		ls.ofStruct(l, t)
	}
}

func (ls layouts) ofStruct(l *layout, t reflect.Type) {
	if value, ok := t.FieldByName("Value"); ok && strings.HasSuffix(t.Name(), "Ref") {
		l.want, l.elem = wantReferable, ls.of(value.Type.Elem())
		l.section = "schemas"
		if component, ok := reflect.New(t).Interface().(openapi3.ComponentRef); ok {
			l.section = component.CollectionName()
		}
		return
	}
	if m, ok := reflect.PointerTo(t).MethodByName("Map"); ok {
		l.want, l.elem = wantMapLike, ls.of(m.Type.Out(0).Elem())
		return
	}
	l.want, l.fields, l.needed = wantObject, map[string]fieldOf{}, jsonvalue.SortedNames(needed[t])
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && !f.Anonymous && name != "" && name != "-" {
			l.fields[name] = fieldOf{index: f.Index, layout: ls.of(f.Type)}
		}
	}
	if t == typeOfComponents {
		l.fields["pathItems"] = fieldOf{layout: ls.of(reflect.TypeFor[map[string]*openapi3.PathItem]())}
	}
	if ref, ok := t.FieldByName("Ref"); ok && strings.HasPrefix(ref.Tag.Get("json"), "$ref") {
		l.section = strings.ToLower(t.Name()) + "s" // Swagger 2.0
		if t.Name() == "PathItem" {
			l.section = pathSection
		}
		delete(l.fields, "$ref")
	}
}

// inner returns the layout of the value itself, where there may also be a reference or nothing.
func (l *layout) inner() *layout {
	for l.want == wantPointer || l.want == wantReferable || l.want == wantSchemaOrBool {
		l = l.elem
	}
	return l
}

// below returns the layout of the value of a key; nil for a key without a meaning.
func (l *layout) below(key string) *layout {
	if l.want == wantMap || l.want == wantMapLike && !strings.HasPrefix(key, "x-") {
		return l.elem
	}
	return l.fields[key].layout
}

// parts yields the values in a node, with their layouts.
func (l *layout) parts(n *syntax.Node) iter.Seq2[*syntax.Node, *layout] {
	l = l.inner()
	return func(yield func(*syntax.Node, *layout) bool) {
		for _, item := range n.List() {
			if l.want == wantList && !yield(item, l.elem) {
				return
			}
		}
		for key, value := range n.Members() {
			if of := l.below(key); of != nil && !yield(value, of) {
				return
			}
		}
	}
}
