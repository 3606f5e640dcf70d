package item

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"mockserver/config/syntax"
)

var posType = reflect.TypeFor[syntax.Pos]()

// Digest returns a text that is the same for equal declarations, regardless of their positions,
// keys and directories.
func Digest(declarations ...any) string {
	p := printer{hash: sha256.New(), seen: map[uintptr]bool{}}
	for _, one := range declarations {
		p.print(reflect.ValueOf(one))
	}
	return string(p.hash.Sum(nil))
}

// printer adds values to a hash.
type printer struct {
	hash hash.Hash
	seen map[uintptr]bool // pointers already visited, so that the recursion ends at a cycle
}

// print adds the exported fields of a value, except its position, key and directory.
func (p *printer) print(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() || v.Kind() == reflect.Pointer && p.seen[v.Pointer()] {
			p.text("-")
			return
		}
		if v.Kind() == reflect.Pointer {
			p.seen[v.Pointer()] = true
		}
		p.text(v.Elem().Type().Name())
		p.print(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "Key" && f.Name != "Dir" && f.Type != posType {
				p.text(f.Name)
				p.print(v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		p.text(strconv.Itoa(v.Len()))
		for i := range v.Len() {
			p.print(v.Index(i))
		}
	case reflect.Map:
		p.text(strconv.Itoa(v.Len()))
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		for _, key := range keys {
			p.print(key)
			p.print(v.MapIndex(key))
		}
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		p.text(strconv.FormatBool(v.IsNil()))
	default:
		p.text(fmt.Sprint(v))
	}
}

// text adds the length of a text and the text, so that different sequences of texts are hashed
// differently.
func (p *printer) text(s string) {
	p.hash.Write(binary.AppendUvarint(nil, uint64(len(s)))) // a hash never returns an error
	p.hash.Write([]byte(s))
}
