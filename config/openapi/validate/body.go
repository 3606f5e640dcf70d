package validate

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"slices"
	"strings"

	"mockserver/config/openapi/jsonvalue"
)

// body describes the request bodies that an operation accepts.
type body struct {
	required bool
	media    []media // the most specific first; if empty, any body is accepted
	accepts  string  // their names, for messages
}

// media is one media type of a body.
type media struct {
	name       string // "application/json", "text/*" or "*/*"; lower case, without parameters
	form       *form  // nil when its value is not described
	properties map[string]*parameter
}

const bodyPointer = "/" + inBody

// check checks a body against the declaration of its media type.
func (b *body) check(r *Request, found *findings) {
	if len(r.Body) == 0 {
		if b.required {
			found.add(badRequest, inBody, bodyPointer, "is required")
		}
		return
	}
	if len(b.media) == 0 {
		return
	}
	sent := strings.Join(r.Header("Content-Type"), ",")
	name, parameters, err := mime.ParseMediaType(sent)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) || name == "" {
		what := "is not a media type"
		if sent == "" {
			what = "is missing"
		}
		found.add(unsupported, inHeader, "/header/content-type", what+"; expected "+b.accepts)
		return
	}
	i := slices.IndexFunc(b.media, func(m media) bool { return m.covers(name) })
	if i < 0 {
		found.add(unsupported, inHeader, "/header/content-type", "is not accepted for a body; expected "+b.accepts)
		return
	}
	if m := &b.media[i]; m.form != nil {
		m.hold(name, parameters, r.Body, found)
	}
}

func (m *media) covers(name string) bool {
	main, isRange := strings.CutSuffix(m.name, "*")
	return m.name == name || m.name == "*/*" || isRange && strings.HasPrefix(name, main)
}

// hold parses a body according to its media type and checks it against the schema. A body of a
// media type that hold cannot parse is not checked.
func (m *media) hold(name string, parameters map[string]string, text []byte, found *findings) {
	var v any
	var err error
	switch {
	case jsonvalue.IsJSON(name):
		if v, err = decodeJSON(text); err != nil {
			found.add(badRequest, inBody, bodyPointer, err.Error())
			return
		}
	case name == "application/x-www-form-urlencoded":
		v = m.readForm(string(text), found)
	case name == "multipart/form-data":
		object := map[string]any{}
		v, err = object, eachPart(parameters["boundary"], text, func(part *multipart.Part, content []byte) { m.put(object, part, content, found) })
		if err != nil {
			found.add(badRequest, inBody, bodyPointer, "is not multipart/form-data: "+err.Error())
			return
		}
	case strings.HasPrefix(name, "text/") && name != "text/xml" && m.form.has(primitiveType):
		v = m.form.value(string(text))
	default:
		return
	}
	found.schema(unprocessable, inBody, bodyPointer, m.form, v)
}

// readForm parses a form: each property of the schema by its encoding, all others as text.
func (m *media) readForm(text string, found *findings) any {
	object := map[string]any{}
	in := &input{Request: &Request{}, query: pairsOf(text)}
	known := map[string]bool{}
	for name, p := range m.properties {
		r := reading{parameter: p, from: in, decode: url.QueryUnescape}
		v, given := r.formValue(known)
		if r.fault != "" {
			found.add(badRequest, inBody, p.pointer, r.fault)
		}
		if given && r.fault == "" {
			object[name] = v
		}
	}
	texts := map[string][]string{}
	for _, p := range in.query {
		if p.broken {
			found.add(badRequest, inBody, below(bodyPointer, p.name), "has a % that is not followed by two hexadecimal digits")
		}
		if m.properties[p.name] == nil && !known[p.name] {
			texts[p.name] = append(texts[p.name], p.value)
		}
	}
	for name, values := range texts {
		object[name] = plain((&node{texts: values}).value(m.form.property(name)))
	}
	return object
}

// formValue reads a property of a form. Whatever style is declared, it accepts the ways in which
// clients write nested values: NAME[key]=value, JSON, or like a parameter. formValue adds the names
// of NAME[key] pairs to known.
func (r *reading) formValue(known map[string]bool) (v any, given bool) {
	if r.form.has(arrayType | objectType) {
		for _, p := range r.from.query {
			if p.name != r.name && strings.HasPrefix(p.name, r.name+"[") {
				known[p.name], given = true, true
			}
		}
		if given {
			return r.deepObject()
		}
	}
	i := slices.IndexFunc(r.from.query, func(p pair) bool { return p.name == r.name })
	if i < 0 {
		return nil, false
	}
	if r.form.has(arrayType|objectType) && !r.form.has(stringType) {
		if v, err := decodeJSON([]byte(r.from.query[i].value)); err == nil && typesAmong([]any{v})&(arrayType|objectType) != 0 {
			return v, true
		}
	}
	if r.form.has(objectType) && !r.form.has(primitiveType|arrayType) {
		_, separator := r.delimiters()
		return r.delimited(r.from.query[i].raw, separator), true
	}
	return r.queryValue()
}

// maxParts limits how many parts of a multipart body are read.
const maxParts = 10_000

var errParts = errors.New("it has more than 10000 parts")

// eachPart calls f for each part of a multipart/form-data body, and its content.
func eachPart(boundary string, text []byte, f func(part *multipart.Part, content []byte)) error {
	if boundary == "" {
		return errors.New("the Content-Type has no boundary")
	}
	parts := multipart.NewReader(bytes.NewReader(text), boundary)
	for n := 0; ; n++ {
		part, err := parts.NextRawPart()
		switch {
		case err == io.EOF: // a wrapped io.EOF comes from a part
			return nil
		case err == nil && n == maxParts:
			return errParts
		}
		var content []byte
		if err == nil {
			content, err = io.ReadAll(part)
		}
		if err != nil {
			return errors.New(strings.TrimPrefix(err.Error(), "multipart: "))
		}
		f(part, content)
	}
}

// put adds the value of a part of a multipart/form-data body: JSON, a string or the content of a
// file. Several parts with the same name become the items of a list if the
// schema declares a list or does not describe the property.
func (m *media) put(object map[string]any, part *multipart.Part, content []byte, found *findings) {
	name := part.FormName()
	f := m.form.property(name)
	list := f.has(arrayType) && !f.has(primitiveType)
	if list {
		f = f.item()
	}
	pointer := below(bodyPointer, name)
	kind, _, _ := mime.ParseMediaType(part.Header.Get("Content-Type"))
	if p := m.properties[name]; p != nil && p.media != "" && kind != "" && !isAmong(p.media, kind) {
		found.add(unsupported, inBody, pointer, "has the media type "+kind+"; expected "+p.media)
	}
	v, err := partValue(f, kind, content, part.FileName() != "")
	if err != nil {
		found.add(badRequest, inBody, pointer, err.Error())
		return
	}
	before, again := object[name]
	items, isList := before.([]any)
	switch {
	case again && isList && (list || f == nil):
		object[name] = append(items, v)
	case again && f == nil:
		object[name] = []any{before, v}
	case again:
		found.add(badRequest, inBody, pointer, "is given more than once")
	case list:
		object[name] = []any{v}
	default:
		object[name] = v
	}
}

func partValue(f *form, kind string, content []byte, isFile bool) (any, error) {
	switch {
	case jsonvalue.IsJSON(kind), kind == "" && !isFile && f.has(arrayType|objectType) && !f.has(primitiveType):
		return decodeJSON(content)
	case isFile:
		return string(content), nil
	}
	return f.value(string(content)), nil
}

// isAmong reports whether a media type is in a list or matches a range in it.
func isAmong(list, name string) bool {
	return slices.ContainsFunc(strings.Split(list, ","), func(entry string) bool { return (&media{name: jsonvalue.BaseType(entry)}).covers(name) })
}
