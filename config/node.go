package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"mockserver/config/syntax"
	"mockserver/config/table"
)

// nodeWriter writes the nodes that a file with an endpoint would have. A field is written under its
// key unless it has its zero value. Tags say what does not follow from its name:
//   - key is the key; "" writes the keys of a struct into the map around it, "-" writes nothing, and
//     the boolean after a comma is written for true
//   - given names a field that, if true, writes a zero value as well
type nodeWriter struct {
	d   *table.Decoder
	pos syntax.Pos
}

func (w *nodeWriter) scalar(kind syntax.Kind, text string) *syntax.Node {
	n := &syntax.Node{Kind: kind, Text: syntax.Text{Value: text, Pos: w.pos, Folded: true}}
	if kind == syntax.NumberNode {
		n.Number = text
	}
	return n
}

func (w *nodeWriter) text(text string) *syntax.Node { return w.scalar(syntax.TextNode, text) }

// add adds an entry to a map, unless its value is nil.
func (w *nodeWriter) add(n *syntax.Node, key string, value *syntax.Node) {
	if value != nil {
		n.Entries = append(n.Entries, syntax.Entry{Key: w.text(key), Value: value})
	}
}

// node returns the node of a value at a key path; nil for one that is not given.
func (w *nodeWriter) node(v reflect.Value, key string) *syntax.Node {
	if kind := v.Kind(); kind != reflect.Struct && v.IsZero() {
		return nil
	}
	if v.Kind() == reflect.Interface {
		return w.value(v.Interface(), key)
	}
	switch x := v.Interface().(type) {
	case time.Duration:
		if x == AtOnce {
			x = 0
		}
		return w.text(x.String())
	case []Header:
		return w.headers(x, key)
	}
	switch v.Kind() {
	case reflect.Pointer:
		return w.node(v.Elem(), key)
	case reflect.Struct:
		return w.declaration(v, key)
	case reflect.Slice:
		return w.list(v, key)
	}
	return w.simple(v)
}

// simple returns the node of a string, a number or true.
func (w *nodeWriter) simple(v reflect.Value) *syntax.Node {
	switch v.Kind() {
	case reflect.Bool:
		return w.scalar(syntax.BoolNode, strconv.FormatBool(v.Bool()))
	case reflect.Int:
		return w.scalar(syntax.NumberNode, strconv.FormatInt(v.Int(), 10))
	case reflect.Float64:
		return w.scalar(syntax.NumberNode, strconv.FormatFloat(v.Float(), 'g', -1, 64))
	}
	return w.text(v.String())
}

// declaration returns the map of a struct.
func (w *nodeWriter) declaration(v reflect.Value, key string) *syntax.Node {
	n := w.scalar(syntax.MapNode, "")
	w.fields(n, v, key)
	if l, ok := v.Interface().(Latency); ok {
		for _, p := range l.Curve {
			w.add(n, p.Key(), w.text(p.Length.String()))
		}
		if len(n.Entries) == 0 { // a map without keys is an error
			w.add(n, "min", w.text("0s"))
		}
	}
	return n
}

// fields adds the fields of a struct to a map.
func (w *nodeWriter) fields(n *syntax.Node, v reflect.Value, key string) {
	flags := map[string]bool{} // the fields that tags name
	for i := range v.NumField() {
		flags[v.Type().Field(i).Tag.Get("given")] = true
	}
	for i := range v.NumField() {
		f, value := v.Type().Field(i), v.Field(i)
		name, word, _ := strings.Cut(table.KeyOf(f), ",")
		switch {
		case name == "-" || !f.IsExported() || flags[f.Name] || isUnused(v, value):
			continue
		case name == "":
			w.fields(n, value, key)
			continue
		}
		one := w.node(value, table.Under(key, name))
		given, tagged := f.Tag.Lookup("given")
		switch {
		case one == nil && tagged && v.FieldByName(given).Bool():
			one = w.simple(value)
		case one != nil && word != "":
			one = w.scalar(syntax.BoolNode, word)
		}
		w.add(n, name, one)
	}
}

// isUnused reports whether a field is the empty Response of an endpoint that has Responses.
func isUnused(of, field reflect.Value) bool {
	e, isEndpoint := of.Interface().(Endpoint)
	return isEndpoint && e.Responses != nil && field.Type() == reflect.TypeFor[Response]() && field.IsZero()
}

// list returns the node of a slice: a list, or for query parameters a map.
func (w *nodeWriter) list(v reflect.Value, key string) *syntax.Node {
	n := w.scalar(syntax.ListNode, "")
	switch all := v.Interface().(type) {
	case []Percentile:
		return nil // they are keys of their own
	case []QueryParam:
		n.Kind = syntax.MapNode
		for _, q := range all {
			w.add(n, q.Name, w.text(q.Type))
		}
		return n
	}
	for i := range v.Len() {
		item := w.node(v.Index(i), fmt.Sprintf("%s[%d]", key, i))
		if item == nil { // a zero value keeps its place
			item = w.simple(v.Index(i))
		}
		n.Items = append(n.Items, item)
	}
	return n
}

// headers returns the map of header lines, in which a header that is repeated has a list.
func (w *nodeWriter) headers(all []Header, key string) *syntax.Node {
	n := w.scalar(syntax.MapNode, "")
	for _, h := range all {
		value := w.text(h.Value)
		if h.unpaired {
			value = w.faulty(table.Under(key, h.Name), "the name has no value after it; Headers takes names and values in turn")
		}
		switch before := n.Get(h.Name); {
		case before == nil:
			w.add(n, h.Name, value)
		case before.Kind == syntax.ListNode:
			before.Items = append(before.Items, value)
		default:
			n.Entry(h.Name).Value = &syntax.Node{Kind: syntax.ListNode, Text: before.Text, Items: []*syntax.Node{before, value}}
		}
	}
	return n
}

// value returns the node of a string, or of a value that encoding/json writes.
func (w *nodeWriter) value(x any, key string) *syntax.Node {
	switch x := x.(type) {
	case string:
		return w.text(x)
	case []byte:
		return w.text(string(x))
	}
	data, err := json.Marshal(x)
	if err != nil {
		return w.faulty(key, "the value cannot be written as JSON: "+err.Error())
	}
	docs, problems := syntax.Read(".json", data)
	if problems.Err() != nil {
		return w.faulty(key, "the value cannot be written as JSON: "+problems[0].What)
	}
	w.place(docs[0])
	return docs[0]
}

// faulty reports an error at a key path, and returns a node in the place of the value.
func (w *nodeWriter) faulty(key, what string) *syntax.Node {
	w.d.Wrong(w.pos, key, "%s", what)
	n := w.text("")
	n.Faulty = true
	return n
}

// place gives the nodes of a JSON text the position of the declaration.
func (w *nodeWriter) place(n *syntax.Node) {
	n.Text = syntax.Text{Value: n.Text.Value, Pos: w.pos, Folded: true}
	for _, one := range n.Items {
		w.place(one)
	}
	for _, e := range n.Entries {
		w.place(e.Key)
		w.place(e.Value)
	}
}
