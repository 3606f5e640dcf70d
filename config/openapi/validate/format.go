package validate

import (
	"encoding/json"
	"errors"
	"math/big"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/openapi/text"
)

// format returns a format for the validator; nil for a name without effect. Requests are checked
// against the formats of OpenAPI and of JSON Schema.
func (c *schemas) format(name string) *jsonschema.Format {
	switch name {
	case "int32", "int64":
		return &jsonschema.Format{Name: name, Validate: func(v any) error { return checkInteger(v, name) }}
	case "url", "guid", "ip", "cidr":
		if c.use == received {
			return nil
		}
	}
	if c.use == received && name != strings.ToLower(name) {
		return nil
	}
	return textFormat(name)
}

var (
	errInteger = errors.New("is not an integer of that size")
	errFormat  = errors.New("is not of that format")
)

func checkInteger(v any, format string) error {
	number, ok := v.(json.Number)
	if !ok {
		return nil // checked by another keyword
	}
	r, ok := new(big.Rat).SetString(number.String())
	if !ok || !jsonvalue.FitsInteger(r, format) {
		return errInteger
	}
	return nil
}

// textFormat returns the check for a string format; nil when there is none.
func textFormat(name string) *jsonschema.Format {
	valid := text.Format(name)
	if valid == nil {
		return nil
	}
	return &jsonschema.Format{Name: name, Validate: func(v any) error {
		if s, ok := v.(string); ok && !valid(s) {
			return errFormat
		}
		return nil
	}}
}

// names implements propertyNames in compiled schemas. The errors of the validator's own
// implementation have a location that later errors overwrite.
type names struct {
	schema *jsonschema.Schema
	runs   *runs
}

// Validate implements the keyword for the validator.
func (n names) Validate(c *jsonschema.ValidatorContext, v any) {
	object, _ := v.(map[string]any)
	outer := n.runs.of(c)
	for name := range object {
		r := n.runs.begin(name)
		r.lenient = outer != nil && outer.lenient
		if !r.validate(n.schema, name).fits() {
			c.AddError(&kind.PropertyNames{Property: name})
		}
	}
}
