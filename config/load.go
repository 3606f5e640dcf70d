package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
)

// maxFileSize bounds one file of a configuration.
const maxFileSize = 64 << 20

// reader turns the text of a file into its documents.
type reader func(*source) ([]*node, Problems)

// extensions are the syntaxes that are read.
var extensions = []struct {
	name string
	read reader
}{{".yml", readYAML}, {".yaml", readYAML}, {".json", readJSON}}

// Load reads files and joins their endpoints in order. It always returns a Spec:
// its Problems say what is wrong, and which files could not be read.
func Load(paths ...string) *Spec {
	spec := &Spec{}
	for _, path := range paths {
		absolute, err := filepath.Abs(path)
		if err != nil {
			absolute = path
		}
		data, err := readFile(path)
		if err != nil {
			spec.Problems = append(spec.Problems, fileProblem(path, err.Error()))
			continue
		}
		spec.add(path, filepath.Dir(absolute), data)
	}
	return spec
}

// Parse reads a configuration that is in memory. The extension of its name picks
// the syntax, and its directory is that of relative file names in it.
func Parse(name string, data []byte) *Spec {
	spec := &Spec{}
	dir := filepath.Dir(name)
	if dir == "." {
		dir = ""
	}
	if int64(len(data)) > maxFileSize {
		spec.Problems = append(spec.Problems, fileProblem(name, tooLarge))
		return spec
	}
	spec.add(name, dir, data)
	return spec
}

// add appends the endpoints and problems of one file.
func (s *Spec) add(name, dir string, data []byte) {
	read, what := readerOf(name)
	if what != "" {
		s.Problems = append(s.Problems, fileProblem(name, what))
		return
	}
	src, err := newSource(name, data)
	if err != nil {
		s.Problems = append(s.Problems, fileProblem(name, err.Error()))
		return
	}
	docs, problems := read(src)
	before := len(s.Problems)
	s.Problems = append(s.Problems, problems...)
	s.decodeFile(docs, dir)
	if len(s.Problems) == before && isEmpty(docs) {
		s.Problems = append(s.Problems, fileProblem(name, "the file is empty; a list of endpoints is accepted, [] for none"))
	}
}

// isEmpty tells whether no document holds anything, not even an empty list.
func isEmpty(docs []*node) bool {
	for _, doc := range docs {
		if doc.kind != nullNode {
			return false
		}
	}
	return true
}

func fileProblem(name, what string) Problem {
	return Problem{Pos: Pos{File: name}, What: what}
}

// readerOf picks the reader of a file, or says why there is none.
func readerOf(name string) (reader, string) {
	extension := strings.ToLower(filepath.Ext(name))
	var names []string
	for _, e := range extensions {
		if e.name == extension {
			return e.read, ""
		}
		names = append(names, e.name)
	}
	return nil, fmt.Sprintf("files named %q are not read; the extension is %s", extension, oneOf(names))
}

const tooLarge = "the file is larger than 64 MiB, which is the most that is read"

// readFile returns what a regular file holds.
func readFile(path string) ([]byte, error) {
	f, info, err := OpenRegular(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("there is no such file")
	case errors.Is(err, ErrNotRegular) && info.IsDir():
		return nil, errors.New("is a directory; this version reads files, name one of those in it")
	case errors.Is(err, ErrNotRegular):
		return nil, errors.New("is no regular file, but a pipe, a socket or a device; a file is accepted")
	case err != nil:
		return nil, fmt.Errorf("cannot be read: %w", bare(err))
	}
	defer f.Close()
	if info.Size() > maxFileSize {
		return nil, errors.New(tooLarge)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot be read: %w", bare(err))
	case len(data) > maxFileSize:
		return nil, errors.New(tooLarge)
	}
	return data, nil
}

// bare takes the operation and the path from an error: the problem that reports
// it names the file already.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
