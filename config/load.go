package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"mockserver/config/syntax"
	"mockserver/internal/files"
	"mockserver/internal/wording"
)

// Load is Load of the zero Loader.
func Load(paths ...string) *Spec { return Loader{}.Load(paths...) }

// Parse is Parse of the zero Loader.
func Parse(name string, data []byte) *Spec { return Loader{}.Parse(name, data) }

// Load reads files and joins their endpoints in order. A directory among them
// stands for the files in it that have an extension that is read and are not
// hidden, in byte order of their names; one with /... after it for those in its
// subdirectories too. What is given twice, by its name or in its
// directory, is read once. A file holds a list of endpoints, an OpenAPI document, or
// what the operations of one answer (a mocks file), whatever its name is; endpoints that
// documents make come after those of lists. It always returns a Spec: its Problems say
// what is wrong, and which files could not be read.
func (l Loader) Load(paths ...string) *Spec {
	spec := &Spec{read: map[string]bool{}, given: &given{listed: map[string]bool{}}}
	for _, path := range paths {
		switch {
		case spec.again(path):
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

// again reports whether a file or directory was read already, and warns of it.
func (s *Spec) again(path string) bool {
	absolute := absolutePath(path)
	if s.read[absolute] {
		p := fileProblem(path, "is given twice, and read once, where it is given first")
		p.Warning = true
		s.Problems = append(s.Problems, p)
		return true
	}
	s.read[absolute] = true
	return false
}

// Parse reads a configuration that is in memory, of any kind that Load reads. The
// extension of its name picks the syntax, and its directory is that of relative file
// names in it.
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

// addRead is add for a file that was read, or could not be.
func (s *Spec) addRead(path string, data []byte, err error, listed bool) {
	if err != nil {
		s.files = append(s.files, path)
		s.Problems = append(s.Problems, fileProblem(path, err.Error()))
		return
	}
	s.add(path, filepath.Dir(absolutePath(path)), data, listed)
}

// add appends the endpoints and problems of one file; listed tells that nobody
// named it, but the directory it is in.
func (s *Spec) add(name, dir string, data []byte, listed bool) {
	s.files = append(s.files, name)
	if listed {
		s.given.listed[absolutePath(name)] = true
	}
	if !syntax.Reads(name) {
		s.Problems = append(s.Problems, fileProblem(name, fmt.Sprintf("files named %q are not read; the extension is %s",
			strings.ToLower(filepath.Ext(name)), wording.OneOf(syntax.Extensions()))))
		return
	}
	docs, problems := syntax.Read(name, data)
	before := len(s.Problems)
	if listed {
		docs, problems = withoutStrays(name, docs, problems)
	}
	s.Problems = append(s.Problems, problems...)
	empty := isEmpty(docs)
	s.decodeFile(s.given.setAside(s.given.asLists(docs), name, dir), dir, len(problems))
	if len(s.Problems) == before && empty {
		s.Problems = append(s.Problems, fileProblem(name, "the file is empty; "+hintsOf(name).empty))
	}
}

// isEmpty reports whether no document holds anything, not even an empty list.
func isEmpty(docs []*syntax.Node) bool {
	for _, doc := range docs {
		if doc.Kind != syntax.NullNode {
			return false
		}
	}
	return true
}

// LeftOut says what was not read of the directories that the spec was read from, a line for
// each.
func (s *Spec) LeftOut() []string { return s.leftOut }
