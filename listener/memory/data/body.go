package data

import (
	"mockserver/internal/json"
	"mockserver/internal/semantics"
	"mockserver/listener/reply"
	"mockserver/matcher"
)

// body returns the objects in the request's body: one object or, if a list is allowed, several.
func (o *Operation) body(w *work, r *matcher.Request, list bool) ([]json.Value, *Failed) {
	kind, _ := r.Header("Content-Type")
	v := r.JSON()
	if media := semantics.MediaType(string(kind)); media == multipartForm || media == urlencoded && v.Kind != json.Object && v.Kind != json.Array {
		form, err := o.schema.AppendForm(nil, string(kind), r.Body())
		if err != nil {
			return nil, refuse(reply.BadJSON, "%s", err)
		}
		return []json.Value{{Kind: json.Object, Raw: form}}, nil
	}
	compact := func(v json.Value) json.Value {
		return json.Value{Kind: v.Kind, Raw: w.hold(json.AppendCompact(w.room, v.Raw))}
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

// maxCreated is the maximum number of rows that one request may create.
const maxCreated = 10_000

// The media types of forms.
const (
	urlencoded    = "application/x-www-form-urlencoded"
	multipartForm = "multipart/form-data"
)
