// Package schema describes Go types, as they are encoded as JSON, with JSON Schemas:
//
//	all := schema.Set{}
//	one := all.Of(reflect.TypeFor[shownRun]())   // a reference to a schema in all
package schema

import (
	"reflect"
	"strings"
)

// Field is a member of the JSON encoding of a struct.
type Field struct {
	Name, What string
	Type       reflect.Type
	Optional   bool // omitted if empty
}

// Fields returns the JSON members of a struct, including those of embedded structs.
func Fields(t reflect.Type) []Field {
	var fields []Field
	for _, f := range reflect.VisibleFields(t) {
		if name, options, tagged := strings.Cut(f.Tag.Get("json"), ","); f.IsExported() && name != "" && name != "-" {
			fields = append(fields, Field{name, f.Tag.Get("doc"), f.Type, tagged && (strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero"))})
		}
	}
	return fields
}
