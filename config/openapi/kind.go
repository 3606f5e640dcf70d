package openapi

import (
	"reflect"

	"mockserver/config/syntax"
)

// Kind is a kind of object in a document.
type Kind struct{ of *layout }

// KindOf returns the kind of object that a value of one of the library's types is decoded from.
func KindOf[T any]() Kind { return Kind{layouts{}.of(reflect.TypeFor[T]()).inner()} }

// Is reports whether objects of the kind are decoded into T.
func (k Kind) Is(t reflect.Type) bool { return k.of.typ == t }

// Each calls do for each object that is a member of n, or an item or a value of one.
func (k Kind) Each(n *syntax.Node, do func(*syntax.Node, Kind)) {
	for value, l := range k.of.parts(n) {
		switch below := (Kind{l.inner()}); below.of.want {
		case wantObject, wantMapLike:
			do(value, below)
		case wantList, wantMap:
			below.Each(value, do)
		}
	}
}
