package item

import (
	"reflect"
	"slices"
	"strconv"

	"mockserver/config/policy"
	"mockserver/config/syntax"
	"mockserver/config/table"
)

// Declarations are processed by reflection: copied, given positions, and hashed. A new field of a
// declaration is included automatically.

// copier makes deep copies of declarations and gives them other positions.
type copier struct {
	pos  syntax.Pos
	text func(t syntax.Text, key string) syntax.Text // returns a text with its position
	keys bool                                        // Key becomes the key path instead of ""
}

var posType = reflect.TypeFor[syntax.Pos]()

var textType = reflect.TypeFor[syntax.Text]()

var headerType = reflect.TypeFor[Header]()

// ownPackages are the packages whose types are copied. Pointers to other types are kept, so that
// their values are shared.
var ownPackages = []string{headerType.PkgPath(), reflect.TypeFor[policy.Latency]().PkgPath()}

// copied returns a copy of a declaration at a key path. It shares with the original only maps and
// values outside ownPackages, such as operations of OpenAPI documents.
func copied[T any](c copier, from *T, key string) T {
	var into T
	c.copy(reflect.ValueOf(&into).Elem(), reflect.ValueOf(from).Elem(), key)
	return into
}

func (c copier) copy(into, from reflect.Value, key string) {
	switch from.Kind() {
	case reflect.Pointer:
		if from.IsNil() || !slices.Contains(ownPackages, from.Type().Elem().PkgPath()) {
			into.Set(from)
			return
		}
		into.Set(reflect.New(from.Type().Elem()))
		c.copy(into.Elem(), from.Elem(), key)
	case reflect.Slice:
		if from.IsNil() {
			return
		}
		into.Set(reflect.MakeSlice(from.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			at := key + "[" + strconv.Itoa(i) + "]"
			if from.Type().Elem() == headerType {
				at = table.Under(key, from.Index(i).Field(0).String())
			}
			c.copy(into.Index(i), from.Index(i), at)
		}
	case reflect.Struct:
		c.fields(into, from, key)
	default:
		into.Set(from)
	}
}

func (c copier) fields(into, from reflect.Value, key string) {
	switch from.Type() {
	case posType:
		into.Set(reflect.ValueOf(c.pos))
		return
	case textType:
		t, _ := from.Interface().(syntax.Text)
		into.Set(reflect.ValueOf(c.text(t, key)))
		return
	}
	for i := range from.NumField() {
		f := from.Type().Field(i)
		at := key
		switch name := table.KeyOf(f); {
		case f.Name == "Key" && c.keys:
			into.Field(i).SetString(key)
			continue
		case f.Name == "Key":
			continue
		case name != "":
			at += "." + name
		}
		c.copy(into.Field(i), from.Field(i), at)
	}
}

// Unplaced copies declarations without their positions in files.
func Unplaced[T any](all []T) []T {
	c := copier{text: func(t syntax.Text, _ string) syntax.Text { return t.Unplaced() }}
	copies := make([]T, len(all))
	for i := range all {
		copies[i] = copied(c, &all[i], "")
	}
	return copies
}
