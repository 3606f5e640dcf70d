package data

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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
	at, name, text := r.Schema, filepath.Join(dir, "schema.json"), []byte(r.Schema.Value)
	if file := r.SchemaFile.Value; file != "" {
		var err error
		at, name = r.SchemaFile, files.Beside(dir, file)
		if text, err = os.ReadFile(name); err != nil {
			return nil, syntax.Problems{{Pos: at.Pos, Key: at.Key, What: fmt.Sprintf("file %q cannot be read: %v", file, errors.Unwrap(err))}}
		}
	}
	if len(text) == 0 && at.Value == "" {
		return nil, nil
	}
	var schema *validate.Schema
	root, problems := readSchema(name, text)
	if root != nil && problems.Err() == nil {
		schema, problems = openapi.ReadSchema(root, name, openapi.Options{Open: openSchema, Suggest: wording.DidYouMean})
	}
	for i := range problems {
		p := &problems[i]
		if p.Pos.File == name && r.SchemaFile.Value == "" || p.Pos.Line == 0 {
			if p.Key != "" {
				p.What = p.Key + ": " + p.What
			}
			p.Pos, p.Key, p.What = at.Pos, at.Key, "is not a valid JSON Schema: "+p.What
		}
	}
	return schema, problems
}

// openSchema reads a file that a schema refers to.
func openSchema(name string) (*syntax.Node, syntax.Problems) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, syntax.Problems{{Pos: syntax.Pos{File: name}, What: "cannot be read: " + errors.Unwrap(err).Error()}}
	}
	return readSchema(name, text)
}

func readSchema(name string, text []byte) (*syntax.Node, syntax.Problems) {
	docs, problems := syntax.Read(name, text)
	switch {
	case len(docs) > 0:
		return docs[0].Document(), problems
	case problems == nil:
		problems = syntax.Problems{{Pos: syntax.Pos{File: name}, What: "the file is empty"}}
	}
	return nil, problems
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
