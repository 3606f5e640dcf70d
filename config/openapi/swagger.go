package openapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
)

// oldSections are where Swagger 2.0 keeps what is referred to.
var oldSections = map[string]string{"schemas": "definitions", "parameters": "parameters", "responses": "responses"}

// converted makes a document of OpenAPI 3 of one of Swagger 2.0, with the places of what
// it is made of; nil when it cannot.
func (r *documentReader) converted(root *Node, location string) *Node {
	p := root.get("swagger").problem("this is a document of Swagger 2.0, which is served as if it were converted to OpenAPI 3.0; convert it for all that there is")
	p.Warning = true
	r.problems = append(r.problems, p)
	b := newBundle(root, location, layouts{}, r.opts)
	b.sectionOf = func(section string) []string { return []string{oldSections[section]} }
	r.bundle = b
	b.run(b.layouts.of(reflect.TypeFor[openapi2.T]()))
	r.problems = append(r.problems, b.problems...)
	if len(b.problems) > 0 {
		return nil
	}
	var old openapi2.T
	if err := json.Unmarshal(appendNode(nil, root), &old); err != nil {
		r.wrong(root, "the document is no Swagger 2.0: %s", plainJSONError(err))
		return nil
	}
	kin, err := openapi2conv.ToV3(&old)
	if err != nil {
		r.wrong(root, "the document cannot be converted to OpenAPI 3.0: %v", err)
		return nil
	}
	text, err := json.Marshal(kin)
	if err != nil {
		r.wrong(root, "the document cannot be converted to OpenAPI 3.0: %v", err)
		return nil
	}
	made, problems := r.opts.Parse(root.File, text)
	if made == nil || len(problems) > 0 {
		r.wrong(root, "the document cannot be converted to OpenAPI 3.0: %v", problems)
		return nil
	}
	settle(made, root)
	inOrder(made.get("paths"), root.get("paths"))
	return made
}

// plainJSONError is an error of encoding/json without the names of Go.
func plainJSONError(err error) string {
	var wrong *json.UnmarshalTypeError
	if ok := errors.As(err, &wrong); ok && wrong.Field != "" {
		return fmt.Sprintf("%s is %s, which is not accepted there", wrong.Field, wrong.Value)
	}
	return err.Error()
}

// settle gives a converted node and all below it the places of what they are made of:
// of the same key, or else of what is around them.
func settle(n, old *Node) {
	n.File, n.Line, n.Column = old.File, old.Line, old.Column
	entries := old.byKey()
	for i := range n.Entries {
		e := &n.Entries[i]
		from := (*Node)(nil)
		if same := entries[e.Key]; same != nil {
			from = same.Value
		}
		switch e.Key {
		case "schemas":
			from = old.get("definitions")
		case "securitySchemes":
			from = old.get("securityDefinitions")
		case "requestBody":
			from = old.get("parameters")
		}
		if from == nil {
			from = old
		}
		e.Line, e.Column = from.Line, from.Column
		if same := entries[e.Key]; same != nil {
			e.Line, e.Column = same.Line, same.Column
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

// inOrder puts paths, and their methods, in the order that they were declared in.
func inOrder(paths, old *Node) {
	if paths == nil || old == nil {
		return
	}
	reorder(paths, old)
	entries := old.byKey()
	for i := range paths.Entries {
		if from := entries[paths.Entries[i].Key]; from != nil {
			reorder(paths.Entries[i].Value, from.Value)
		}
	}
}

// reorder puts the keys that old has too first, as old has them.
func reorder(n, old *Node) {
	place := make(map[string]int, len(old.Entries))
	for i := range old.Entries {
		place[old.Entries[i].Key] = i
	}
	placeOf := func(e Entry) int {
		if i, ok := place[e.Key]; ok {
			return i
		}
		return len(place)
	}
	slices.SortStableFunc(n.Entries, func(a, b Entry) int { return cmp.Compare(placeOf(a), placeOf(b)) })
}
