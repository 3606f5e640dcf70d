package syntax

import (
	"fmt"
	"path/filepath"
	"strings"

	"mockserver/internal/list"
)

// format is a supported syntax.
type format struct {
	extension string
	read      func(*source) ([]*Node, Problems)
}

var formats = []format{{".yml", readYAML}, {".yaml", readYAML}, {".json", readJSON}, {".edn", readEDN}}

// Extensions returns the file extensions that Read supports.
func Extensions() []string { return list.Map(formats, func(f format) string { return f.extension }) }

// Reads reports whether a file has one of Extensions, regardless of case.
func Reads(name string) bool { return reader(name) != nil }

func reader(name string) func(*source) ([]*Node, Problems) {
	extension := filepath.Ext(name)
	for _, f := range formats {
		if strings.EqualFold(f.extension, extension) {
			return f.read
		}
	}
	return nil
}

// Read reads the documents of a file in the syntax of its extension, otherwise as JSON or YAML.
// Nodes and problems refer to the file as name. If a problem is an error, the nodes are those that
// could be read.
func Read(name string, data []byte) ([]*Node, Problems) {
	src := newSource(name, data)
	if read := reader(name); read != nil {
		return read(src)
	}
	return readJSON(src) // which tries YAML
}

// ReadOne is like Read, for a file with one document. Another number of documents is an error.
func ReadOne(name string, data []byte) (*Node, error) {
	docs, problems := Read(name, data)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if len(docs) != 1 {
		return nil, Problems{{Pos: Pos{File: name}, What: fmt.Sprintf("has %d documents; expected one", len(docs))}}
	}
	return docs[0], nil
}
