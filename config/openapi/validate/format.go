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

// checkedFormats are those of OpenAPI that say something of a value, and those of JSON
// Schema of which the validator lets more pass than they are.
var checkedFormats = []*jsonschema.Format{
	{Name: "int32", Validate: func(v any) error { return checkInteger(v, "int32") }},
	{Name: "int64", Validate: func(v any) error { return checkInteger(v, "int64") }},
	textFormat("byte"),
	textFormat("email"),
	textFormat("idn-email"),
	textFormat("uri"),
	textFormat("uri-reference"),
	textFormat("iri"),
	textFormat("iri-reference"),
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

// textFormat checks a format of texts.
func textFormat(name string) *jsonschema.Format {
	valid := text.Format(name)
	return &jsonschema.Format{Name: name, Validate: func(v any) error {
		if s, ok := v.(string); ok && !valid(s) {
			return errFormat
		}
		return nil
	}}
}

// namesKeyword is what propertyNames is in the schemas that are compiled. The
// validator's own gives its errors a place that it overwrites with later ones.
const namesKeyword = "x-property-names"

// names is that keyword, compiled.
type names struct {
	schema *jsonschema.Schema
	runs   *runs
}

func (rs *runs) compileNames(c *jsonschema.CompilerContext, schema map[string]any) (jsonschema.SchemaExt, error) {
	if _, ok := schema[namesKeyword]; !ok {
		return nil, nil // that tells the validator that there is none
	}
	return names{c.Enqueue([]string{namesKeyword}), rs}, nil
}

// Validate is what the validator calls for each value of the schema.
func (n names) Validate(c *jsonschema.ValidatorContext, v any) {
	object, _ := v.(map[string]any)
	for name := range object {
		if !n.runs.begin(name).validate(n.schema, name).fits() {
			c.AddError(&kind.PropertyNames{Property: name})
		}
	}
}
