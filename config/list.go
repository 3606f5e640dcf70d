package config

import (
	_ "embed" // the schema
	"fmt"

	"mockserver/config/item"
	"mockserver/config/syntax"
)

// notAList returns the problem of a document that is not a list of endpoints. It returns none for
// an empty document, such as one between two --- lines, and for one whose fault has been reported
// already.
func notAList(doc *syntax.Node) syntax.Problems {
	hints := item.HintsOf(doc.Pos().File)
	what := fmt.Sprintf("the document is %s; %s", doc.Shown(), hints.List)
	switch {
	case doc.Kind == syntax.NullNode || doc.Faulty: // a fault has been reported already
		return nil
	case item.HasKey(doc):
		what = "the document is a map; " + hints.Single
	case lacksVersion(doc):
		what = noVersion
	}
	return syntax.Problems{{Pos: doc.Pos(), What: what}}
}

//go:embed schema.json
var schema string

// Schema returns the JSON Schema of the configuration language (draft 7, which editors fully
// support), as indented JSON text. The schema describes one document of a YAML, JSON or EDN file.
//
// Whatever Load accepts is valid according to the schema. The converse does not always hold: only
// Load checks rules across keys, templates, conditions and other files.
func Schema() []byte { return []byte(schema) }
