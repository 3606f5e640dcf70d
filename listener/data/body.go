package data

import (
	"strings"

	"github.com/valyala/fasthttp"

	"mockserver/internal/json"
	"mockserver/internal/semantics"
	"mockserver/listener/reply"
	"mockserver/matcher"
)

// body returns the objects in the request's body: one object or, if a list is allowed, several.
func (o *Operation) body(w *work, r *matcher.Request, list bool) ([]json.Value, *Failed) {
	kind, _ := r.Header("Content-Type")
	v := r.JSON()
	if semantics.MediaType(string(kind)) == "application/x-www-form-urlencoded" && v.Kind != json.Object && v.Kind != json.Array {
		return formObject(r.Body())
	}
	compact := func(v json.Value) json.Value {
		start := len(w.room)
		w.room = appendCompact(w.room, v.Raw)
		return json.Value{Kind: v.Kind, Raw: w.room[start:len(w.room):len(w.room)]}
	}
	if v.Kind == json.Object {
		return []json.Value{compact(v)}, nil
	}
	expected := "a JSON object"
	if list {
		expected += ", or a list of them"
	}
	if v.Kind != json.Array || !list {
		return nil, refuse(reply.BadJSON, "the body is not %s", expected)
	}
	var all []json.Value
	for elements := v.Elements(); ; {
		one, ok := elements.Next()
		if !ok {
			return all, nil
		}
		if len(all) == maxCreated {
			return nil, refuse(reply.TooManyRows, "the body has more than %d objects", maxCreated)
		}
		if one.Kind != json.Object {
			return nil, refuse(reply.BadJSON, "item %d of the body is not an object", len(all))
		}
		all = append(all, compact(one))
	}
}

// maxCreated is the maximum number of rows that one request may create, and maxFormFields is the
// maximum number of fields in a form.
const (
	maxCreated    = 10_000
	maxFormFields = 1000
)

// formObject returns a form as an object: a[b]=1 becomes the member b of the member a.
func formObject(body []byte) ([]json.Value, *Failed) {
	var args fasthttp.Args
	args.ParseBytes(body)
	if args.Len() > maxFormFields {
		return nil, refuse(reply.BadJSON, "the form has more than %d fields", maxFormFields)
	}
	object := []byte("{}")
	for name, value := range args.All() {
		way := strings.FieldsFunc(string(name), func(c rune) bool { return c == '[' || c == ']' })
		if len(way) > 0 && len(way) <= maxFormDepth {
			object = appendWith(nil, json.Value{Kind: json.Object, Raw: object}, way, appendText(value))
		}
	}
	return []json.Value{{Kind: json.Object, Raw: object}}, nil
}

// maxFormDepth is the maximum nesting depth of the members of a form. Fields that are nested deeper
// are ignored.
const maxFormDepth = 32
