package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"reflect"
	"slices"

	"mockserver/config"
	"mockserver/config/syntax"
)

// fingerprint is a hash of what a specification declares: two with the same one answer
// alike, wherever in which files they stand. What the files that they name for bodies
// hold is no part of it: they may change while they are served.
func fingerprint(spec *config.Spec) string {
	p := printer{hash: sha256.New(), seen: map[uintptr]bool{}}
	for i := range spec.Endpoints {
		p.print(reflect.ValueOf(&spec.Endpoints[i]))
	}
	for i := range spec.WebSockets {
		p.print(reflect.ValueOf(&spec.WebSockets[i]))
	}
	return hex.EncodeToString(p.hash.Sum(nil))
}

// printer adds values to a hash.
type printer struct {
	hash hash.Hash
	seen map[uintptr]bool // what pointers lead to, so that circles end
}

// print adds a value: all that others can see of it, but where it stands.
func (p *printer) print(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || p.seen[v.Pointer()] {
			p.text("-")
			return
		}
		p.seen[v.Pointer()] = true
		p.print(v.Elem())
	case reflect.Interface:
		if v.IsNil() {
			p.text("-")
			return
		}
		p.text(v.Elem().Type().String())
		p.print(v.Elem())
	case reflect.Struct:
		p.fields(v)
	case reflect.Slice, reflect.Array:
		p.text(fmt.Sprint(v.Len()))
		for i := range v.Len() {
			p.print(v.Index(i))
		}
	case reflect.Map:
		p.text(fmt.Sprint(v.Len()))
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int {
			return slices.Compare([]byte(fmt.Sprint(a)), []byte(fmt.Sprint(b)))
		})
		for _, key := range keys {
			p.print(key)
			p.print(v.MapIndex(key))
		}
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		p.text(fmt.Sprint(v.IsNil()))
	default:
		p.text(fmt.Sprint(v))
	}
}

// fields adds those of a struct that others can see, with their names.
func (p *printer) fields(v reflect.Value) {
	kind := v.Type()
	for i := range kind.NumField() {
		f := kind.Field(i)
		if !f.IsExported() || f.Name == "Key" || f.Name == "Dir" || f.Type == reflect.TypeFor[syntax.Pos]() {
			continue
		}
		p.text(f.Name)
		p.print(v.Field(i))
	}
}

// text adds a text, so that no two sequences of texts are alike.
func (p *printer) text(s string) { _, _ = fmt.Fprintf(p.hash, "%d:%s", len(s), s) } // never fails
