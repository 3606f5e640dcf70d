package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mockserver/config/item"
	"mockserver/config/openapi"
	"mockserver/config/syntax"
	"mockserver/internal/files"
	"mockserver/internal/wording"
)

// Load calls Load of the zero Loader.
func Load(paths ...string) *Spec { return Loader{}.Load(paths...) }

// Parse calls Parse of the zero Loader.
func Parse(name string, data []byte) *Spec { return Loader{}.Parse(name, data) }

// Loader reads configurations. Load and Parse use the zero Loader.
type Loader struct {
	// AllowRemoteRefs lets OpenAPI documents refer to others by http and https URLs, which are then
	// fetched.
	AllowRemoteRefs bool
	// BasePath replaces the path of the servers in OpenAPI documents, as the prefix of all paths:
	// "/v2", or "/" for none. "" uses the path of each document.
	BasePath string
	// Seed is the seed for bodies that are generated from schemas. The same seed gives the same
	// bodies.
	Seed uint64
	// StrictDocuments turns faults in OpenAPI documents that do not prevent serving into errors.
	StrictDocuments bool
	// Validate compiles the checks of requests, for openapi.Operation.Check.
	Validate bool
	// SampleRequests generates a request for each operation of an OpenAPI document, for
	// openapi.Operation.Sample.
	SampleRequests bool
	// Single accepts a map with the single key endpoint or websocket as a list of one item, so that
	// Parse reads a single endpoint.
	Single bool
	// Import makes a configuration from a file or directory of another tool, and returns the name
	// of the file that contains the configuration; "" if the path does not belong to another tool.
	// Load puts the path in front of an error that is not of type Problems. Import may be nil.
	Import func(path string) (string, error)
	// Upstream is the URL of an upstream named default, which gets all requests that no endpoint
	// answers; "" for none.
	Upstream string
}

// Load reads files and joins their declarations in order. A directory represents those of its files
// that are not hidden and have a known extension, in byte order of their names; a directory
// followed by /... includes its subdirectories. A file that is given twice, by its name or by its
// directory, is read once. A file contains a list of endpoints, an OpenAPI document, or other
// responses for the operations of such a document (a mocks file), whatever its name is. Endpoints
// from documents come after those from lists. Load always returns a Spec; its Problems say what is
// wrong, and which files could not be read.
func (l Loader) Load(paths ...string) *Spec {
	spec := &Spec{read: map[string]bool{}, given: &given{listed: map[string]bool{}}}
	for _, path := range paths {
		switch {
		case spec.again(path):
		case spec.imported(l, path):
		case files.IsListed(path):
			spec.addDirectory(path)
		default:
			data, err := files.Read(path)
			spec.addRead(path, data, err, false)
		}
	}
	spec.finish(l)
	return spec
}

// imported reports whether a path belongs to another tool, and adds the configuration made from it,
// or the errors of the import.
func (s *Spec) imported(l Loader, path string) bool {
	if l.Import == nil {
		return false
	}
	made, err := l.Import(path)
	var problems syntax.Problems
	switch {
	case errors.As(err, &problems):
		s.Problems = append(s.Problems, problems...)
	case err != nil:
		s.Problems = append(s.Problems, fileProblem(path, err.Error()))
	case made == "":
		return false
	default:
		data, err := files.Read(made)
		s.addRead(made, data, err, false)
		return true
	}
	s.files = append(s.files, path)
	return true
}

// again reports whether a file or directory was already given, and adds a warning if so. Otherwise
// it records the path.
func (s *Spec) again(path string) bool {
	absolute := files.Absolute(path)
	if s.read[absolute] {
		p := fileProblem(path, "is given twice; it is read once, at its first position")
		p.Warning = true
		s.Problems = append(s.Problems, p)
		return true
	}
	s.read[absolute] = true
	return false
}

// Parse reads a configuration from memory, of any kind that Load reads. The extension of name
// selects the syntax, and its directory is where relative file names are looked up.
func (l Loader) Parse(name string, data []byte) *Spec {
	spec := &Spec{given: &given{single: l.Single}}
	dir := filepath.Dir(name)
	if dir == "." {
		dir = ""
	}
	if len(data) > files.MaxSize {
		spec.Problems = append(spec.Problems, fileProblem(name, files.ErrTooLarge.Error()))
		return spec
	}
	spec.add(name, dir, data, false)
	spec.finish(l)
	return spec
}

// addRead calls add for a file that could be read, and adds a problem for one that could not.
func (s *Spec) addRead(path string, data []byte, err error, listed bool) {
	if err != nil {
		s.files = append(s.files, path)
		s.Problems = append(s.Problems, fileProblem(path, err.Error()))
		return
	}
	s.add(path, filepath.Dir(files.Absolute(path)), data, listed)
}

// add appends the declarations and problems of one file. listed means that only the file's
// directory was given, not the file itself.
func (s *Spec) add(name, dir string, data []byte, listed bool) {
	s.files = append(s.files, name)
	if listed {
		s.given.listed[files.Absolute(name)] = true
	}
	if !syntax.Reads(name) {
		s.Problems = append(s.Problems, fileProblem(name, fmt.Sprintf("files named %q are not read; expected a name that ends in %s",
			strings.ToLower(filepath.Ext(name)), wording.OneOf(syntax.Extensions()))))
		return
	}
	docs, problems := syntax.Read(name, data)
	before := len(s.Problems)
	if listed {
		docs, problems = withoutStrays(name, docs, problems)
	}
	s.Problems = append(s.Problems, problems...)
	// An empty list is content, too.
	hasContent := slices.ContainsFunc(docs, func(doc *syntax.Node) bool { return doc.Kind != syntax.NullNode })
	s.decodeFile(s.given.setAside(s.given.asLists(docs), name, dir), dir, len(problems))
	if len(s.Problems) == before && !hasContent {
		s.Problems = append(s.Problems, fileProblem(name, "the file is empty; "+item.HintsOf(name).Empty))
	}
}

// fault returns what is wrong with a field of the loader; "" if nothing is.
func (l Loader) fault() string {
	if l.BasePath == "" {
		return ""
	}
	if fault := BasePathFault(l.BasePath); fault != "" {
		return fmt.Sprintf("Loader.BasePath is %q: %s; expected a path such as /v2, or / for none", wording.Clip(l.BasePath), fault)
	}
	return ""
}

// BasePathFault returns why a text cannot be Loader.BasePath; "" if it can.
func BasePathFault(text string) string { return openapi.BasePathFault(text) }

func fileProblem(name, what string) syntax.Problem {
	return syntax.Problem{Pos: syntax.Pos{File: name}, What: what}
}
