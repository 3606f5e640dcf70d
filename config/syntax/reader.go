package syntax

import (
	"path/filepath"
	"strings"
)

// syntaxes are those that are read, by the extensions of files.
var syntaxes = []struct {
	extension string
	read      func(*source) ([]*Node, Problems)
}{{".yml", readYAML}, {".yaml", readYAML}, {".json", readJSON}, {".edn", readEDN}}

// Extensions are the extensions of the files that Read knows the syntax of.
func Extensions() []string {
	names := make([]string, len(syntaxes))
	for i, s := range syntaxes {
		names[i] = s.extension
	}
	return names
}

// Reads reports whether a file has one of Extensions, in whatever case.
func Reads(name string) bool { return reader(name) != nil }

func reader(name string) func(*source) ([]*Node, Problems) {
	extension := filepath.Ext(name)
	for _, s := range syntaxes {
		if strings.EqualFold(s.extension, extension) {
			return s.read
		}
	}
	return nil
}

// Read reads the documents of a file in the syntax that its extension names, or else as
// JSON or YAML. Nodes and problems name the file by name. Where a problem is an error,
// the nodes are those that could be read.
func Read(name string, data []byte) ([]*Node, Problems) {
	src, err := newSource(name, data)
	if err != nil {
		return nil, Problems{{Pos: Pos{File: name}, What: err.Error()}}
	}
	if read := reader(name); read != nil {
		return read(src)
	}
	return readJSON(src) // which tries YAML
}
