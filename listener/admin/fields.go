package admin

import (
	"reflect"
	"strings"
)

// jsonField is a member of the JSON encoding of a struct.
type jsonField struct {
	name, what string
	kind       reflect.Type
	optional   bool // omitted if empty
}

// jsonFields returns the JSON members of a struct, including those of embedded structs.
func jsonFields(t reflect.Type) []jsonField {
	var fields []jsonField
	for _, f := range reflect.VisibleFields(t) {
		if name, options, tagged := strings.Cut(f.Tag.Get("json"), ","); f.IsExported() && name != "" {
			fields = append(fields, jsonField{name, f.Tag.Get("doc"), f.Type, tagged && strings.Contains(options, "omitempty")})
		}
	}
	return fields
}
