package export

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi"
	"mockserver/config/syntax"
)

var typeOfSchema = reflect.TypeFor[openapi3.Schema]()

// unused returns a name that is not yet in a map.
func unused(t *syntax.Node, name string) string {
	first := name
	for n := 2; t.Get(name) != nil; n++ {
		name = fmt.Sprintf("%s_%d", first, n)
	}
	return name
}

// upgradeSchemas converts the schemas in an object of OpenAPI 3.0.
func upgradeSchemas(t *syntax.Node, of openapi.Kind) {
	if !t.IsMap() {
		return
	}
	if of.Is(typeOfSchema) {
		upgrade(t)
	}
	of.Each(t, upgradeSchemas)
}

// orNullTree makes a schema accept null, whatever the schemas that it is composed of require.
func orNullTree(t *syntax.Node) {
	parts := syntax.NewMap()
	for _, key := range []string{"allOf", "anyOf", "oneOf", "discriminator"} {
		if part := t.Get(key); part != nil {
			parts.Set(key, part)
			t.Delete(key)
		}
	}
	if parts.Len() > 0 {
		t.Set("anyOf", syntax.NewList(syntax.NewMap().SetText("type", "null"), parts))
	}
}

// upgrade converts the parts of an OpenAPI 3.0 schema that differ in 3.1.
func upgrade(t *syntax.Node) {
	if nullable := t.Get("nullable"); nullable != nil {
		t.Delete("nullable")
		if typ := t.Get("type"); nullable.Truth() && typ.AsText() != "" {
			t.Set("type", syntax.NewList(typ, syntax.NewText("null")))
			if enum := t.Get("enum"); enum != nil && !slices.ContainsFunc(enum.List(), func(v *syntax.Node) bool { return v.Kind == syntax.NullNode }) {
				t.Set("enum", syntax.NewList(enum.List()...).Append(&syntax.Node{}))
			}
		}
		if nullable.Truth() {
			orNullTree(t)
		}
	}
	for exclusive, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		set := t.Get(exclusive)
		if set == nil || set.Kind != syntax.BoolNode {
			continue
		}
		t.Delete(exclusive)
		if value := t.Get(bound); set.Truth() && value != nil {
			t.Set(exclusive, value)
			t.Delete(bound)
		}
	}
}
