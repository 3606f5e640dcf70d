package config

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"mockserver/config/syntax"
	"mockserver/config/table"
)

// Declarations are processed by reflection: copied, given positions, and hashed. A new field of a
// declaration takes part in all of that automatically.

// copier makes deep copies of declarations at another position.
type copier struct {
	pos  syntax.Pos
	text func(t syntax.Text, key string) syntax.Text // returns a text with its position
	keys bool                                        // Key becomes the key path instead of ""
}

var (
	posType    = reflect.TypeFor[syntax.Pos]()
	textType   = reflect.TypeFor[syntax.Text]()
	headerType = reflect.TypeFor[Header]()
)

// copied returns a copy of a declaration at a key path. It shares nothing with the original except
// operations of OpenAPI documents.
func copied[T any](c copier, from *T, key string) T {
	var into T
	c.copy(reflect.ValueOf(&into).Elem(), reflect.ValueOf(from).Elem(), key)
	return into
}

func (c copier) copy(into, from reflect.Value, key string) {
	switch from.Kind() {
	case reflect.Pointer:
		if from.IsNil() || from.Type().Elem().PkgPath() != headerType.PkgPath() {
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

// Fingerprint returns a hash of what the specification declares. Specifications with the same
// fingerprint answer alike, wherever their declarations are in files. The content of external files
// is not included, because it may change while they are served.
func (s *Spec) Fingerprint() string {
	p := printer{hash: sha256.New(), seen: map[uintptr]bool{}}
	p.print(reflect.ValueOf(s.Endpoints))
	p.print(reflect.ValueOf(s.WebSockets))
	p.print(reflect.ValueOf(s.Data))
	p.print(reflect.ValueOf(s.Scenarios))
	p.print(reflect.ValueOf(s.Upstreams))
	return hex.EncodeToString(p.hash.Sum(nil))
}

// Fingerprint returns a text that is equal for endpoints with equal declarations, regardless of
// their position and documentation.
func (e *Endpoint) Fingerprint() string {
	alike := *e
	alike.Method, alike.Doc, alike.Operation = e.EffectiveMethod(), Doc{}, nil
	p := printer{hash: sha256.New(), seen: map[uintptr]bool{}}
	p.print(reflect.ValueOf(alike))
	return string(p.hash.Sum(nil))
}

// printer adds values to a hash.
type printer struct {
	hash hash.Hash
	seen map[uintptr]bool // visited pointers, so that cycles end
}

// print adds the exported fields of a value, except its position.
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
		p.text(v.Elem().Type().String())
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

// text adds a text, so that no two sequences of texts are equal.
func (p *printer) text(s string) {
	p.hash.Write(binary.AppendUvarint(nil, uint64(len(s)))) // a hash never returns an error
	p.hash.Write([]byte(s))
}
