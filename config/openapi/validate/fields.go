package validate

import (
	"fmt"
	"maps"
	"mime"
	"mime/multipart"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/internal/list"
)

// Schema is a JSON Schema that values and the fields of forms are checked against. A nil Schema
// accepts everything. It is immutable.
type Schema struct{ form *form }

// NewSchema compiles a schema of a document whose references are resolved. exact contains the
// numbers of which the document itself has only approximate values. wrong receives what values
// cannot be checked against.
func NewSchema(doc *openapi3.T, source *openapi3.SchemaRef, exact jsonvalue.Numbers, wrong func(what string)) *Schema {
	c := newSchemas(doc, exact, kept)
	c.warn = wrong
	s := &Schema{forms{map[*schema]*form{}, c}.of(c.ref(source))}
	c.finish()
	return s
}

// Check checks a JSON text; the pointers of violations are those of places in it. It returns nil when
// nothing is wrong.
func (s *Schema) Check(text []byte) *Verdict {
	if s == nil {
		return nil
	}
	var found findings
	if v, err := decodeJSON(text); err != nil {
		found.add(unprocessable, inBody, "", err.Error())
	} else {
		found.schema(unprocessable, inBody, "", s.form, v)
	}
	return found.verdict()
}

// maxFields limits how many fields a form may have.
const maxFields = 1000

// AppendForm appends a form as a JSON object whose values have the types that the schema asks for;
// without a schema, all of them are strings. A repeated field and NAME[] are a list, NAME[key] is a
// member of an object, and NAME[0] is an item of a list. Of a file in a multipart body, the value is
// the name. The content type is that of an application/x-www-form-urlencoded or multipart/form-data
// body.
func (s *Schema) AppendForm(dst []byte, contentType string, body []byte) ([]byte, error) {
	if s == nil {
		s = &Schema{}
	}
	var pairs []pair
	if name, parameters, _ := mime.ParseMediaType(contentType); name == "multipart/form-data" {
		err := eachPart(parameters["boundary"], body, func(part *multipart.Part, content []byte) {
			text := part.FileName()
			if text == "" {
				text = string(content)
			}
			pairs = append(pairs, pair{name: part.FormName(), value: text})
		})
		if err != nil {
			return nil, fmt.Errorf("the body is not multipart/form-data: %w", err)
		}
	} else {
		pairs = pairsOf(string(body))
	}
	if len(pairs) > maxFields {
		return nil, fmt.Errorf("the form has more than %d fields", maxFields)
	}
	root := &node{}
	for _, p := range pairs {
		keys := keysOf(p.name)
		switch {
		case p.name == "":
			continue
		case len(keys) > maxBrackets+1:
			return nil, fmt.Errorf("the form has a field whose brackets are nested more than %d deep", maxBrackets)
		case !root.put(keys, p.value):
			return nil, fmt.Errorf("the form has %.100q as a value and with brackets after it; expected one of them", p.name)
		}
	}
	return jsonvalue.Append(dst, root.object(s.form)), nil
}

// keysOf returns the names in NAME[key][key]. Any other text is one name.
func keysOf(text string) []string {
	name, rest, _ := strings.Cut(text, "[")
	inside, closed := strings.CutSuffix(rest, "]")
	if name == "" || !closed {
		return []string{text}
	}
	return append([]string{name}, strings.Split(inside, "][")...)
}

// maxBrackets limits how deeply the brackets of a form or a deepObject may be nested.
const maxBrackets = 32

// node is a value in a form or a deepObject: strings, or the nodes in its brackets.
type node struct {
	texts  []string
	listed bool // a string was given as NAME[]
	parts  map[string]*node
	names  []string // the keys of parts, in order
}

// put adds a string at a path. It reports false for a node that would have strings and parts.
func (n *node) put(keys []string, text string) bool {
	for i, key := range keys {
		if key == "" && i == len(keys)-1 {
			n.listed = true
			break
		}
		if key == "" {
			key = n.open(keys[i+1:])
		}
		if len(n.texts) > 0 {
			return false
		}
		if n.parts == nil {
			n.parts = map[string]*node{}
		}
		if n.parts[key] == nil {
			n.parts[key] = &node{}
			n.names = append(n.names, key)
		}
		n = n.parts[key]
	}
	n.texts = append(n.texts, text)
	return len(n.parts) == 0
}

// open returns the key of the part that NAME[][key] belongs to: the last one, or a new one if the
// last one already has a string at the path.
func (n *node) open(keys []string) string {
	next := strconv.Itoa(len(n.names))
	if len(n.names) == 0 {
		return next
	}
	last := n.names[len(n.names)-1]
	at := n.parts[last]
	for _, key := range keys {
		if key == "" || at.parts[key] == nil {
			return last
		}
		at = at.parts[key]
	}
	return next
}

// value converts a node to a value of a form: an item of package jsonvalue.
func (n *node) value(f *form) any {
	array := f.has(arrayType)
	switch {
	case len(n.parts) == 0 && (n.listed || len(n.texts) != 1 || array && !f.has(primitiveType)):
		return list.Map(n.texts, func(text string) any { return f.item().value(text) })
	case len(n.parts) == 0:
		return f.value(n.texts[0])
	case (array || !f.has(objectType)) && !slices.ContainsFunc(n.names, func(name string) bool { return !isIndex(name) }):
		return n.list(f)
	}
	return n.object(f)
}

func (n *node) object(f *form) *jsonvalue.Object {
	object := &jsonvalue.Object{}
	for _, name := range n.names {
		object.Set(name, n.parts[name].value(f.property(name)))
	}
	return object
}

// list converts a node whose keys are indexes. The items are ordered by index; gaps are ignored.
func (n *node) list(f *form) any {
	list := make([]any, 0, len(n.parts))
	keys := slices.SortedFunc(maps.Keys(n.parts), comparePointers)
	for _, key := range keys {
		list = append(list, n.parts[key].value(f.item()))
	}
	return list
}
