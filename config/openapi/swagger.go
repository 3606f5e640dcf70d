package openapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/syntax"
)

// oldSections maps sections of components to the keys of Swagger 2.0.
var oldSections = map[string]string{"schemas": "definitions", "parameters": "parameters", "responses": "responses"}

// converted converts a Swagger 2.0 document to OpenAPI 3 and keeps the places of its parts. It
// returns nil on failure.
func (r *documentReader) converted(root *syntax.Node, location string) *syntax.Node {
	r.warn(root.Get("swagger"), "", "this is a document of Swagger 2.0, which is served as if it were converted to OpenAPI 3.0; convert it to use every feature")
	b := newBundle(root, location, layouts{}, r.opts, r.reports)
	b.sectionOf = func(section string) []string { return []string{oldSections[section]} }
	r.bundle = b
	b.run(b.layouts.of(reflect.TypeFor[openapi2.T]()))
	if r.failed() {
		return nil
	}
	kept := aside{taken: map[*syntax.Node]int{}}
	kept.take(root, b.layouts.of(reflect.TypeFor[openapi2.T]()))
	text := []byte(root.JSON(true, func(*syntax.Node, string) {}).Value)
	for n, i := range kept.taken {
		*n = kept.values[i]
	}
	var old openapi2.T
	if err := json.Unmarshal(text, &old); err != nil {
		what := err.Error()
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" { // without names of Go types
			what = fmt.Sprintf("%s is %s, which is not valid there", wrong.Field, wrong.Value)
		}
		r.wrong(root, "the document is not valid Swagger 2.0: %s", what)
		return nil
	}
	kin, err := openapi2conv.ToV3(&old)
	if err == nil {
		text, err = json.Marshal(kin)
	}
	var made *syntax.Node
	if err == nil {
		var problems syntax.Problems
		made, problems = r.opts.Parse(root.Pos().File, text)
		err = problems.Err()
	}
	if err != nil || made == nil {
		r.wrong(root, "the document cannot be converted to OpenAPI 3.0: %v", err)
		return nil
	}
	settle(made, root)
	kept.give(made, r.layouts.of(reflect.TypeFor[openapi3.T]()))
	b.sources[strconv.Quote(location)] = b.root // for the pointers of problems in the original document
	b.root = &source{name: b.root.name, location: location, root: made}
	b.add(b.root)
	return made
}

// aside keeps the values of a document that may be of any type, such as examples, during the
// conversion, which would lose nulls, digits and the order of names. Each value is replaced with a
// placeholder string.
type aside struct {
	values []syntax.Node
	taken  map[*syntax.Node]int // indexes into values; a node may occur in several places
}

const asideMark = "mockserver:value:"

// take replaces the values in a node with placeholders.
func (a *aside) take(n *syntax.Node, l *layout) {
	eachAny(n, l, func(n *syntax.Node) {
		if _, done := a.taken[n]; done {
			return
		}
		a.taken[n] = len(a.values)
		a.values = append(a.values, *n)
		*n = *syntax.NewText(asideMark + strconv.Itoa(a.taken[n]))
	})
}

// give replaces the placeholders in a converted node with the values.
func (a *aside) give(made *syntax.Node, l *layout) {
	eachAny(made, l, func(n *syntax.Node) {
		number, ok := strings.CutPrefix(n.AsText(), asideMark)
		if i, err := strconv.Atoi(number); ok && err == nil && i < len(a.values) {
			*n = a.values[i]
		}
	})
}

// eachAny calls do for each node at or below n that may have any value.
func eachAny(n *syntax.Node, l *layout, do func(*syntax.Node)) {
	if l.want == wantAny {
		do(n)
		return
	}
	for value, of := range l.parts(n) {
		eachAny(value, of, do)
	}
}

// settle copies the places, the order of keys and the digits of the old nodes to a converted node
// and all nodes below it. A node without a counterpart under the same key gets the place of its
// parent.
func settle(n, old *syntax.Node) {
	n.Text.Pos = old.Pos()
	if n.Kind == syntax.NumberNode && old.Kind == syntax.NumberNode {
		n.Number = old.Number
	}
	place := make(map[string]int, len(old.Entries)) // below 0, which other keys have
	for i := range old.Entries {
		place[old.Entries[i].Name()] = i - len(old.Entries)
	}
	slices.SortStableFunc(n.Entries, func(a, b syntax.Entry) int { return place[a.Name()] - place[b.Name()] })
	for i := range n.Entries {
		e := &n.Entries[i]
		from, at := old.Get(e.Name()), old.Entry(e.Name())
		if key := oldKeys[e.Name()]; key != "" {
			from = old.Get(key)
		}
		from = cmp.Or(from, old)
		e.Key.Text.Pos = from.Pos()
		if at != nil {
			e.Key.Text.Pos = at.Key.Pos()
		}
		settle(e.Value, from)
	}
	for i, item := range n.Items {
		from := old
		if i < len(old.Items) {
			from = old.Items[i]
		}
		settle(item, from)
	}
}

// oldKeys are the keys of Swagger 2.0 that have other names in OpenAPI 3.
var oldKeys = map[string]string{
	"schemas": "definitions", "securitySchemes": "securityDefinitions", "requestBody": "parameters",
}
