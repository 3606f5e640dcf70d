package openapi

import (
	"cmp"
	"reflect"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/syntax"
)

// Kind is a kind of object in a document.
type Kind struct {
	// Section is the section of components for objects of this kind; "" for none.
	Section string
	of      *layout // of the object
	all     layouts
}

// KindOf returns the kind of object that a value of one of the library's types is decoded from.
func KindOf[T any]() Kind {
	all := layouts{}
	return all.kind(all.of(reflect.TypeFor[T]()))
}

func (ls layouts) kind(l *layout) Kind {
	k := Kind{Section: l.section, of: l, all: ls}
	for k.of.want == wantPointer || k.of.want == wantReferable || k.of.want == wantSchemaOrBool {
		k.of = k.of.elem
		k.Section = cmp.Or(k.Section, k.of.section)
	}
	if k.Section == pathSection {
		k.Section = "pathItems"
	}
	return k
}

// Is reports whether objects of the kind are decoded into T.
func (k Kind) Is(t reflect.Type) bool { return k.of.typ == t }

// Each calls do for each object that is a member of n, or an item or a value of one.
func (k Kind) Each(n *syntax.Node, do func(*syntax.Node, Kind)) {
	for key, value := range n.Members() {
		f := k.of.fields[key].layout
		switch {
		case k.of.want == wantMapLike && !strings.HasPrefix(key, "x-"):
			f = k.of.elem
		case k.of.typ == typeOfComponents && key == "pathItems":
			f = k.all.of(reflect.TypeFor[map[string]*openapi3.PathItem]())
		}
		if f != nil {
			k.all.each(value, f, do)
		}
	}
}

func (ls layouts) each(n *syntax.Node, l *layout, do func(*syntax.Node, Kind)) {
	switch k := ls.kind(l); k.of.want {
	case wantObject, wantMapLike:
		do(n, k)
	case wantList, wantMap:
		for _, value := range n.Members() {
			ls.each(value, k.of.elem, do)
		}
		for _, item := range n.List() {
			ls.each(item, k.of.elem, do)
		}
	}
}
