package data

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"mockserver/config/item"
	"mockserver/config/openapi/validate"
	"mockserver/config/syntax"
	"mockserver/internal/wording"
	"mockserver/listener/reply"
)

// compileSchema compiles the JSON Schema of a resource; it returns nil if there is none. Relative
// file names are looked up in the directory of the configuration, then in the working directory.
func compileSchema(r *item.Resource, dir string) (*jsonschema.Schema, syntax.Problems) {
	text, name, at := []byte(r.Schema.Value), "schema.json", r.Schema
	if file := r.SchemaFile.Value; file != "" {
		var err error
		at = r.SchemaFile
		if name, err = filepath.Abs(located(dir, file)); err == nil {
			text, err = os.ReadFile(name)
		}
		if err != nil {
			return nil, syntax.Problems{{Pos: at.Pos, Key: at.Key, What: fmt.Sprintf("file %q cannot be read: %v", file, errors.Unwrap(err))}}
		}
	}
	if len(text) == 0 {
		return nil, nil
	}
	wrong := func(err error) syntax.Problems {
		what := strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
		return syntax.Problems{{Pos: at.Pos, Key: at.Key, What: "is not a valid JSON Schema: " + what}}
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, wrong(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(name, document); err != nil {
		return nil, wrong(err)
	}
	made, err := c.Compile(name)
	if err != nil {
		return nil, wrong(err)
	}
	return made, nil
}

// maxViolations is the maximum number of violations that a response lists.
const maxViolations = 100

// violations returns a row's violations of the schema, or nil if there are none. at is the row's
// place in the request.
func violations(s *jsonschema.Schema, at string, row []byte) *Failed {
	if s == nil {
		return nil
	}
	if err := validate.CheckBounds(row, math.MaxInt); err != nil { // numbers that the library panics at
		return refuse(reply.InvalidBody, "%s: %v", at, err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(row))
	if err == nil {
		err = s.Validate(value)
	}
	var broken *jsonschema.ValidationError
	if !errors.As(err, &broken) {
		return nil
	}
	var all []string
	for _, one := range broken.BasicOutput().Errors {
		if one.Error != nil {
			all = append(all, fmt.Sprintf("%s: %v", wording.Clip(at+one.InstanceLocation), one.Error))
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if n := len(all); n > maxViolations {
		all = append(all[:maxViolations], fmt.Sprintf("and %d more", n-maxViolations))
	}
	return refuse(reply.InvalidBody, "%s", strings.Join(all, "; "))
}
