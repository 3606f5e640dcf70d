package validate

import (
	"encoding/json"
	"errors"
	"math/big"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/openapi/text"
)

// format is a format for the validator; nil for one that says nothing. Requests are held against
// those of OpenAPI, and those of JSON Schema, of some of which the validator lets more pass than
// they are.
func (c *schemas) format(name string) *jsonschema.Format {
	switch name {
	case "int32", "int64":
		return &jsonschema.Format{Name: name, Validate: func(v any) error { return checkInteger(v, name) }}
	case "byte", "email", "idn-email", "uri", "uri-reference", "iri", "iri-reference":
		return textFormat(name)
	}
	if c.use == received {
		return c.part("format "+name, map[string]any{"format": name}).Format
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
		return nil // another keyword is for that
	}
	r, ok := new(big.Rat).SetString(number.String())
	if !ok || !jsonvalue.FitsInteger(r, format) {
		return errInteger
	}
	return nil
}

// textFormat checks a format of texts; nil for none.
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

// names is what propertyNames is in the schemas that are compiled. The validator's own gives
// its errors a place that it overwrites with later ones.
type names struct {
	schema *jsonschema.Schema
	runs   *runs
}

// Validate is what the validator calls for each value of the schema.
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
