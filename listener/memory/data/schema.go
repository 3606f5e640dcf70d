package data

import (
	"fmt"
	"path/filepath"
	"strings"

	"mockserver/config"
	"mockserver/config/item"
	"mockserver/config/openapi"
	"mockserver/config/openapi/validate"
	"mockserver/config/syntax"
	"mockserver/internal/files"
	"mockserver/internal/wording"
	"mockserver/listener/reply"
)

// compileSchema compiles the JSON Schema of a resource; it returns nil if there is none. Relative
// file names are looked up in the directory of the configuration, then in the working directory.
func compileSchema(r *item.Resource, dir string) (*validate.Schema, syntax.Problems) {
	at, name := r.Schema, filepath.Join(dir, "schema.json")
	var root *syntax.Node
	var problems syntax.Problems
	switch file := r.SchemaFile.Value; {
	case file != "":
		at, name = r.SchemaFile, files.Beside(dir, file)
		root, problems = config.OpenDocument(name)
	case at.Value != "":
		root, problems = config.ReadDocument(name, []byte(at.Value))
	}
	var schema *validate.Schema
	if root != nil && problems.Err() == nil {
		schema, problems = openapi.ReadSchema(root, name, openapi.Options{Open: config.OpenDocument, Suggest: wording.DidYouMean})
	}
	for i := range problems {
		switch p := &problems[i]; {
		case p.Pos.Line == 0: // the whole file
			p.Pos, p.Key, p.What = at.Pos, at.Key, fmt.Sprintf("file %q: %s", r.SchemaFile.Value, p.What)
		case r.SchemaFile.Value == "" && p.Pos.File == name:
			p.Pos, p.Key, p.What = at.Pos, at.Key, p.Key+": "+p.What
			if !p.Warning {
				p.What = "is not a valid JSON Schema: " + p.What
			}
		}
	}
	return schema, problems
}

// maxViolations is the maximum number of violations that a response lists.
const maxViolations = 100

// violations returns a row's violations of the schema, or nil if there are none. at is the row's
// place in the request.
func violations(s *validate.Schema, at string, row []byte) *Failed {
	verdict := s.Check(row)
	if verdict == nil {
		return nil
	}
	var all []string
	for _, v := range verdict.Violations[:min(len(verdict.Violations), maxViolations)] {
		all = append(all, wording.Clip(at+v.Pointer)+": "+v.Message)
	}
	if n := len(verdict.Violations) - len(all) + verdict.More; n > 0 {
		all = append(all, fmt.Sprintf("and %d more", n))
	}
	return refuse(reply.InvalidBody, "%s", strings.Join(all, "; "))
}
