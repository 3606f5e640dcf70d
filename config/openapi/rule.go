package openapi

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/syntax"
	"mockserver/internal/wording"
)

// needed are the keys that objects must have, and the faults of objects without them.
var needed = map[reflect.Type]map[string]fault{
	reflect.TypeFor[openapi3.T]():              {"info": missingText, "paths": otherRule},
	reflect.TypeFor[openapi3.Info]():           {"title": missingText, "version": missingText},
	reflect.TypeFor[openapi3.License]():        {"name": missingText},
	reflect.TypeFor[openapi3.ExternalDocs]():   {"url": missingText},
	reflect.TypeFor[openapi3.Server]():         {"url": badServer},
	reflect.TypeFor[openapi3.Operation]():      {"responses": missingResponse},
	reflect.TypeFor[openapi3.Parameter]():      {"name": badParameter, "in": badParameter},
	reflect.TypeFor[openapi3.RequestBody]():    {"content": otherRule},
	reflect.TypeFor[openapi3.Response]():       {"description": missingText},
	reflect.TypeFor[openapi3.Discriminator]():  {"propertyName": otherRule},
	reflect.TypeFor[openapi3.SecurityScheme](): {"type": otherRule},
}

// needs reports the keys that an object lacks. It is silent about an object whose dangling reference
// was removed.
func (d *decoding) needs(n *syntax.Node, l *layout) {
	if len(l.needed) == 0 || d.emptied[n.Pos()] {
		return
	}
	for _, key := range l.needed {
		f, value := needed[l.typ][key], n.Get(key)
		switch {
		case key == "paths" && (d.modern || !d.strict): // without operations, see Document.Empty
		case value == nil || value.Kind == syntax.NullNode:
			d.fault(n, f, "%s is missing", key)
		case value.Kind == syntax.TextNode && value.Text.Value == "" && key != "description" && f != badServer,
			key == "responses" && value.Kind == syntax.MapNode && value.Len() == 0:
			d.fault(n, f, "%s is empty", key)
		}
	}
}

// check reports the rules of OpenAPI that an object breaks.
func (d *decoding) check(n *syntax.Node, object any) {
	switch object := object.(type) {
	case *openapi3.Schema:
		d.checkSchema(n, object)
	case *openapi3.Parameter:
		switch {
		case object.In == openapi3.ParameterInPath && !object.Required:
			d.fault(n, otherRule, "the path parameter %q lacks required: true", wording.Clip(object.Name))
		case object.In != "" && !isLocation(object.In):
			d.fault(n.Get("in"), badParameter, "is %q; expected path, query, header or cookie", wording.Clip(object.In))
		}
	case *openapi3.Server:
		for rest := object.URL; ; {
			_, after, found := strings.Cut(rest, "{")
			name, tail, closed := strings.Cut(after, "}")
			if !found || !closed {
				break
			}
			if rest = tail; object.Variables[name] == nil {
				d.fault(n, badServer, "the variable %q of the URL is undeclared", wording.Clip(name))
			}
		}
	}
}

// checkSchema reports what a schema hardly means: a type that does not exist, an enum without values,
// and references that are not followed.
func (d *decoding) checkSchema(n *syntax.Node, s *openapi3.Schema) {
	for _, name := range s.Type.Slice() {
		if !isType(name) {
			d.fault(n.Get("type"), unknownType, "the type %q does not exist; expected string, number, integer, boolean, "+
				"array, object or null", wording.Clip(name))
		}
	}
	if s.Type.Is("array") && s.Items == nil && !d.modern {
		d.fault(n, otherRule, "items is missing; expected the schema of the items")
	}
	if values := n.Get("enum"); values != nil && s.Enum != nil && len(values.Items) == 0 {
		d.warn(values, manyEnums, "the enum is empty, so no value is allowed; expected at least one value")
	}
	for _, key := range []string{"$dynamicRef", "$recursiveRef"} {
		if ref := n.Get(key); ref != nil && ref.Kind == syntax.TextNode {
			name := strconv.Quote(wording.Clip(ref.Text.Value))
			d.warn(ref, manyDynamic, "the "+key+" "+name+" is not followed; any value is allowed there")
		}
	}
}

// guarded turns a panic into an error: its cause is a problem of the document.
func guarded(work func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the document cannot be understood: %v", p)
		}
	}()
	work()
	return nil
}
