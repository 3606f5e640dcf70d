package draft

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mockserver/config/syntax"
	"mockserver/internal/files"
)

const (
	// MaxSize is the maximum size of a source, unpacked, in bytes.
	MaxSize = 1 << 30
	// MaxItems is the maximum number of items in one source: requests, mappings, routes. Exchanges
	// of a recording or a HAR do not count.
	MaxItems = 100_000

	// headSize is how many bytes of a source are examined to recognize it.
	headSize = 1 << 20
)

// Options are the user's settings for an import.
type Options struct {
	Paths     []string          // patterns such as /users/:id, instead of what is inferred
	Last      bool              // latencies are measured to the last byte instead of the first
	Subtract  time.Duration     // network time that is subtracted from latencies
	Exact     bool              // a stream is sent as it was recorded
	Variables map[string]string // values of variables by name, which take precedence over all others
	EnvFile   string            // a file with values of variables; "" for none
	Templated bool              // every response of WireMock is a template
}

// Source is a file or a directory that is imported.
type Source struct {
	Name  string // as the user named it
	Dir   bool   // it is a directory
	Head  []byte // its beginning, up to 1 MiB, unpacked and without a byte order mark; nil for a directory
	shape *Shape // nil until it is asked for
}

// OpenSource opens a file or a directory. The error does not contain the name of the source, which
// the caller adds.
func OpenSource(path string) (*Source, error) {
	s := &Source{Name: path, Dir: files.IsListed(path)}
	if s.Dir {
		return s, nil
	}
	r, err := s.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if s.Head, err = io.ReadAll(io.LimitReader(r, headSize)); err != nil && len(s.Head) == 0 {
		return nil, files.Bare(err)
	}
	if b := append(s.Head[:len(s.Head):len(s.Head)], 1, 1); b[0] == 0xFE && b[1] == 0xFF || b[0] == 0xFF && b[1] == 0xFE || b[0] == 0 || b[1] == 0 {
		return nil, errors.New("is not UTF-8 but UTF-16 or binary; expected a text in UTF-8")
	}
	return s, nil
}

// Pos returns a position in the source.
func (s *Source) Pos(line, column int) syntax.Pos {
	return syntax.Pos{File: s.Name, Line: line, Column: column}
}

// Open opens the file for reading, after its byte order mark; .gz and .zst are unpacked. Reading
// more than MaxSize bytes is an error.
func (s *Source) Open() (io.ReadCloser, error) {
	f, err := files.OpenUnpacked(s.Name, MaxSize)
	if err != nil {
		return nil, err
	}
	r := bufio.NewReader(f)
	if start, _ := r.Peek(len(mark)); string(start) == mark {
		r.Discard(len(mark))
	}
	return struct {
		io.Reader
		io.Closer
	}{r, f}, nil
}

// mark is the byte order mark that some programs put before a text.
const mark = "\uFEFF"

// Data returns the whole file, unpacked.
func (s *Source) Data() ([]byte, error) {
	r, err := s.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// Nodes returns the document of a file in JSON or YAML, with positions. Any other number of
// documents than one is an error.
func (s *Source) Nodes() (*syntax.Node, error) {
	data, err := s.Data()
	if err != nil {
		return nil, syntax.Problems{{Pos: syntax.Pos{File: s.Name}, What: err.Error()}}
	}
	return syntax.ReadOne(s.Name, data)
}

// Body returns the content of a file with a body, byte for byte, that a source names: that of the first
// of several directories that has one. why says why there is none, or is "".
func Body(name string, dirs ...string) (data []byte, why string) {
	local := filepath.FromSlash(strings.TrimLeft(name, "/"))
	switch {
	case strings.Contains(name, "{{"):
		return nil, "the file " + name + " is chosen by the request"
	case !filepath.IsLocal(local):
		return nil, "the file " + name + " is outside the directory of files"
	}
	for _, dir := range dirs {
		data, err := files.Read(filepath.Join(dir, local))
		if err == nil {
			return data, ""
		}
		why = "the file " + name + ": " + err.Error()
	}
	return nil, why
}

// Bodies returns the files in a directory whose names begin and end with given texts. why says why there are none, or
// is "".
func Bodies(dir, begin, end string) (all []File, why string) {
	size, root := 0, os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || !strings.HasPrefix(name, begin) || !strings.HasSuffix(name, end) {
			return err
		}
		data, err := fs.ReadFile(root, name)
		if size += len(data); len(all) == MaxItems || size > MaxSize {
			return fmt.Errorf("there are more than %d such files, or they have more than %d bytes", MaxItems, MaxSize)
		}
		all = append(all, File{Name: name, Data: data})
		return err
	})
	if err != nil {
		return nil, err.Error()
	} else if len(all) == 0 {
		return nil, "there is no such file"
	}
	return all, ""
}

// ProblemAt returns an error at a value of the source.
func (s *Source) ProblemAt(n *syntax.Node, what string, args ...any) error {
	return s.Problem(n.Pos().Line, n.Pos().Column, what, args...)
}

// Problem returns an error at a position in the source.
func (s *Source) Problem(line, column int, what string, args ...any) error {
	if len(args) > 0 {
		what = fmt.Sprintf(what, args...)
	}
	return syntax.Problems{{Pos: s.Pos(line, column), What: what}}
}
