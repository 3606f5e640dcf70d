package openapi

import (
	"reflect"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
)

// layout is how a node is to look that becomes a value of one of the library's types.
// It is worked out of the type itself, so that it knows the keys that the library knows.
type layout struct {
	want want
	typ  reflect.Type
	// of an object: what its keys hold
	fields map[string]fieldOf
	elem   *layout // of a list, a map, a pointer, and of the values of a map-like object
	// section is where in components objects of this kind are kept that are referred to:
	// "schemas"; "" for those that are not, and pathSection for path items.
	section string
}

// pathSection is the section of path items: references to them are replaced by what
// they stand for.
const pathSection = "paths"

// fieldOf is a key of an object, and the field that it is decoded into.
type fieldOf struct {
	index  []int
	layout *layout
}

// want is what a node has to be.
type want uint8

const (
	wantAny          want = iota // any value, as encoding/json would decode it
	wantText                     // a text
	wantBool                     // true or false
	wantWhole                    // an integer from 0
	wantNumber                   // a number
	wantList                     // a list
	wantMap                      // a map of names
	wantObject                   // a map of fields
	wantMapLike                  // a map of names that the library keeps in a type of its own
	wantReferable                // an object, or a reference to one
	wantPointer                  // what is optional
	wantTypes                    // the type of a schema: a text or a list of texts
	wantSchemaOrBool             // additionalProperties
	wantBound                    // exclusiveMinimum: a number or a boolean
	wantMapping                  // what a discriminator's value stands for: a reference, or a name
)

// layouts are those of the types met so far.
type layouts map[reflect.Type]*layout

// The types that are not decoded by what they consist of.
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
	l.want, l.fields = wantObject, map[string]fieldOf{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && !f.Anonymous && name != "" && name != "-" {
			l.fields[name] = fieldOf{index: f.Index, layout: ls.of(f.Type)}
		}
	}
	if ref, ok := t.FieldByName("Ref"); ok && strings.HasPrefix(ref.Tag.Get("json"), "$ref") {
		l.section = strings.ToLower(t.Name()) + "s" // of Swagger 2.0
		if t.Name() == "PathItem" {
			l.section = pathSection
		}
		delete(l.fields, "$ref")
	}
}

// keys are the keys of an object.
func (l *layout) keys() []string { return jsonvalue.SortedNames(l.fields) }
