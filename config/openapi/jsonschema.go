package openapi

import (
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/generate"
	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/openapi/validate"
	"mockserver/config/syntax"
)

// ReadSchema reads a JSON Schema of draft 2020-12, or of an earlier one if it says so in $schema.
// root is the parsed file at location; ReadSchema changes its nodes. Options.Open reads the files
// that the schema refers to. The result is nil if there are errors.
func ReadSchema(root *syntax.Node, location string, opts Options) (schema *validate.Schema, problems syntax.Problems) {
	problems = readSchema(root, location, opts, func(r *documentReader, kin *openapi3.T) {
		warn := func(what string) { r.wrong(root, "%s", what) }
		schema = validate.NewSchema(kin, kin.Components.Schemas["schema"], r.numbers, warn)
	})
	if problems.Err() != nil {
		schema = nil
	}
	return schema, problems
}

// Inventor returns a function that makes JSON texts that a JSON Schema accepts. The schema is part of a request: it may
// not refer to files, and its types may be in capitals.
func Inventor(root *syntax.Node) (invent func(seed uint64) []byte, problems syntax.Problems) {
	opts := Options{Open: func(string) (*syntax.Node, syntax.Problems) { return nil, syntax.Problems{{What: "no files"}} }}
	(&draft{}).each(root, &url.URL{}, "", func(n *syntax.Node, _ *url.URL, _ string) {
		if of := n.Get("type"); of != nil {
			of.Text.Value = strings.ToLower(of.Text.Value)
		}
	})
	problems = readSchema(root, "", opts, func(r *documentReader, kin *openapi3.T) {
		m, orders := generate.New(kin, 0, nil), r.orders
		m.Order, m.Numbers = func(s *openapi3.Schema) []string { return orders[s] }, r.numbers
		fresh := m.Content("application/json", &openapi3.MediaType{Schema: kin.Components.Schemas["schema"]}, generate.ToClient, "").Fresh()
		invent = func(seed uint64) (text []byte) {
			if fresh == nil || guarded(func() { text = fresh(seed) }) != nil {
				return []byte("{}")
			}
			return text
		}
	})
	return invent, problems
}

// readSchema reads a JSON Schema for ReadSchema. Without errors, it calls use with a document that has it.
func readSchema(root *syntax.Node, location string, opts Options, use func(*documentReader, *openapi3.T)) syntax.Problems {
	open := opts.Open
	opts.Strict = true
	var r *documentReader
	prepare := func(n *syntax.Node) {
		(&draft{}).each(n, &url.URL{}, "", func(n *syntax.Node, _ *url.URL, _ string) { r.checkKeywords(n) })
		convertDraft(n)
	}
	opts.Open = func(name string) (*syntax.Node, syntax.Problems) {
		n, problems := open(name)
		if n != nil {
			prepare(n)
		}
		return n, problems
	}
	info := syntax.NewMap().SetText("title", "schema").SetText("version", "1")
	schemas := syntax.NewMap().Set("schema", root)
	document := syntax.NewMap().SetText("openapi", "3.1.0").Set("info", info).Set("components", syntax.NewMap().Set("schemas", schemas))
	r = newDocumentReader(opts)
	prepare(root)
	r.modern, r.bundle = true, newBundle(document, "", r.layouts, opts, r.reports)
	r.bundle.add(&source{name: root.Pos().File, location: location, root: root})
	err := guarded(func() {
		r.bundle.run(r.layouts.of(reflect.TypeFor[openapi3.T]()))
		if kin := r.decoded(document); !r.failed() {
			use(r, kin)
		}
	})
	if err != nil {
		r.wrong(root, "%s", err)
	}
	return pointed(r.problems, r.bundle.sources, r.bundle.removed)
}

// checkKeywords reports values that JSON Schema does not allow, but that OpenAPI documents may have.
func (r *documentReader) checkKeywords(n *syntax.Node) {
	if of := n.Get("multipleOf"); of != nil && of.Kind == syntax.NumberNode {
		if number, _ := strconv.ParseFloat(of.Text.Value, 64); !(number > 0) { // infinite if it is too large
			r.wrong(of, "is %s; expected a number above 0", of.Text.Value)
		}
	}
	if format := n.Get("format"); format != nil && format.Kind != syntax.TextNode {
		r.wrong(format, "is %s; expected the name of a format", format.Kind)
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf", "type"} {
		if list := n.Get(key); list != nil && list.Kind == syntax.ListNode && list.Len() == 0 {
			r.wrong(list, "is empty; expected at least one item")
		}
	}
	for _, key := range []string{"required", "type"} {
		taken := map[string]bool{}
		for _, name := range n.Get(key).List() {
			switch text := name.Text.Value; {
			case name.Kind != syntax.TextNode:
				r.wrong(name, "is %s; expected a name", name.Kind)
			case taken[text]:
				r.wrong(name, "%q occurs twice", text)
			default:
				taken[text] = true
			}
		}
	}
}

// draft converts a JSON Schema to what the schemas of OpenAPI 3.1 know.
type draft struct {
	lists  bool              // before 2020-12, items may be a list, and there is dependencies
	alone  bool              // before 2019-09, nothing next to a $ref applies
	places map[string]string // the JSON pointers of the schemas with an $id
}

// convertDraft converts the keywords of earlier drafts, and references by $id to JSON pointers.
func convertDraft(root *syntax.Node) {
	of := root.Get("$schema").AsText()
	d := &draft{lists: of != "" && !strings.Contains(of, "2020-12"), alone: strings.Contains(of, "/draft-0"), places: map[string]string{}}
	d.each(root, &url.URL{}, "", func(n *syntax.Node, base *url.URL, at string) {
		if n.Get("$id") != nil {
			d.places[base.String()] = at
		}
	})
	d.each(root, &url.URL{}, "", d.convert)
}

// each calls do for a schema and all schemas in it, with the base of its references and its JSON
// pointer.
func (d *draft) each(n *syntax.Node, base *url.URL, at string, do func(n *syntax.Node, base *url.URL, at string)) {
	if !n.IsMap() {
		return
	}
	if id, err := base.Parse(n.Get("$id").AsText()); err == nil && id.Fragment == "" {
		base = id
	}
	for key, value := range n.Members() {
		below := at + "/" + jsonvalue.EscapePointer(key)
		switch key {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
			for name, schema := range value.Members() {
				d.each(schema, base, below+"/"+jsonvalue.EscapePointer(name), do)
			}
		default:
			if !isData(key) {
				d.each(value, base, below, do)
				for _, item := range value.List() {
					d.each(item, base, below, do)
				}
			}
		}
	}
	do(n, base, at)
}

// convert converts the keywords of a schema, but not those of the schemas in it.
func (d *draft) convert(n *syntax.Node, base *url.URL, _ string) {
	if anchor, ok := strings.CutPrefix(n.Get("$id").AsText(), "#"); ok && d.alone {
		n.SetText("$anchor", anchor)
	}
	if dynamic := n.Entry("$dynamicRef"); dynamic != nil && n.Get("$ref") == nil {
		dynamic.Key = syntax.NewText("$ref") // the same, as no other schema extends this one
	}
	if ref := n.Get("$ref"); ref != nil && ref.Kind == syntax.TextNode {
		d.refer(ref, base)
		n.Entries = slices.DeleteFunc(n.Entries, func(e syntax.Entry) bool {
			return d.alone && !slices.Contains([]string{"$ref", "$id", "$anchor", "definitions"}, e.Name())
		})
	}
	if !d.lists {
		return
	}
	if items := n.Entry("items"); items != nil && items.Value.Kind == syntax.ListNode {
		items.Key = syntax.NewText("prefixItems")
		if rest := n.Entry("additionalItems"); rest != nil {
			rest.Key = syntax.NewText("items")
		}
	}
	for name, needs := range n.Get("dependencies").Members() {
		key := "dependentSchemas"
		if needs.Kind == syntax.ListNode {
			key = "dependentRequired"
		}
		n.Make(key).Set(name, needs)
	}
}

// refer makes a reference to a schema with an $id one to its place.
func (d *draft) refer(ref *syntax.Node, base *url.URL) {
	_, fragment, _ := strings.Cut(ref.Text.Value, "#")
	to, err := base.Parse(ref.Text.Value)
	if err != nil {
		return
	}
	to.Fragment, to.RawFragment = "", ""
	switch at, known := d.places[to.String()]; {
	case !known:
	case fragment == "" || fragment[0] == '/':
		ref.Text.Value = "#" + at + fragment
	default:
		ref.Text.Value = "#" + fragment
	}
}

// decoded returns a document as the library's type, with its references resolved.
func (r *documentReader) decoded(root *syntax.Node) *openapi3.T {
	r.broken, r.emptied = r.bundle.broken, r.bundle.emptied
	kin := &openapi3.T{}
	r.decode(root, r.layouts.of(reflect.TypeFor[openapi3.T]()), reflect.ValueOf(kin).Elem())
	r.bind(kin)
	r.loops()
	return kin
}
