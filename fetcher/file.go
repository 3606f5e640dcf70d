package fetcher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"mockserver/config"
	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/internal/files"
	"mockserver/matcher"
	"mockserver/renderer"
)

const (
	// besideOrWorking says where a relative path is looked up.
	besideOrWorking = " next to the configuration file, nor in the working directory"
	// byteOrderMark is what some editors put at the beginning of a file; it is not allowed in JSON.
	byteOrderMark = "\xef\xbb\xbf"
)

// locate finds the file of a fixed path, or the directories of a rendered one.
func (s *Source) locate(dir string) syntax.Problems {
	dir = cmp.Or(dir, ".")
	if s.fixedPath != "" {
		return s.locateFixed(dir)
	}
	base, _ := filepath.Split(filepath.FromSlash(s.path.Prefix()))
	s.prefix = len(base)
	switch {
	case base == "":
		s.dirs = []string{dir}
	case filepath.IsAbs(base):
		s.dirs = []string{base}
	default:
		s.dirs = []string{filepath.Join(dir, base), filepath.Clean(base)}
	}
	return s.missingDir(base)
}

// missingDir warns about a rendered path whose directory does not exist: it may be created later,
// but a typo is more likely.
func (s *Source) missingDir(base string) syntax.Problems {
	for _, dir := range s.dirs {
		if info, err := os.Stat(dir); err == nil && info.IsDir() || err != nil && !absent(err) {
			return nil
		}
	}
	where := besideOrWorking
	if len(s.dirs) == 1 {
		where = ""
	}
	problems := s.pathProblem(fmt.Sprintf("directory %q does not exist%s; until it does, each request is answered 404", base, where))
	problems[0].Warning = true
	return problems
}

// locateFixed finds the file of a fixed path: the first candidate that exists.
func (s *Source) locateFixed(dir string) syntax.Problems {
	where := ""
	names := candidates(s.fixedPath, dir)
	if len(names) > 1 {
		where = besideOrWorking
	}
	for _, file := range names {
		// A file that exists and cannot be read is reported when it is read.
		if _, err := os.Stat(file); !absent(err) {
			s.file = file
			return nil
		}
	}
	return s.pathProblem(fmt.Sprintf("file %q does not exist%s", s.fixedPath, where))
}

// candidates returns the files that a fixed path may name. The first that exists is used.
func candidates(path, dir string) []string {
	name := filepath.FromSlash(path)
	if filepath.IsAbs(name) || dir == "" {
		return []string{name}
	}
	return []string{filepath.Join(dir, name), name}
}

// absent reports whether err says that a file does not exist, including the case in which a parent
// directory is a file.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// Files returns the files from which fixed external bodies of a specification may be read, whether
// or not they exist. They are the files to watch after the specification was refused, since a
// missing file may appear and a broken one may be repaired. spec may be nil. env looks up
// environment variables; nil finds none.
func Files(spec *config.Spec, env func(string) (string, bool)) []string {
	if spec == nil {
		return nil
	}
	var all []string
	for _, endpoints := range [][]item.Endpoint{spec.Endpoints, spec.Broken.Endpoints} {
		for i := range endpoints {
			for _, resp := range endpoints[i].AllResponses() {
				if ext := resp.External; ext != nil {
					all = append(all, filesOf(ext, endpoints[i].Dir, env)...)
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// filesOf returns the files that the path of an external body may name, as absolute paths. The
// first that exists is served: the one next to the configuration file, in dir ("" is the working
// directory), then the one in the working directory. A URL, a path that is rendered for each
// request, and one that does not compile have no files.
func filesOf(ext *item.ExternalBody, dir string, env func(string) (string, bool)) []string {
	path, _ := renderer.Compile(ext.Path, renderer.Plain, &renderer.Scope{Env: env})
	if path == nil {
		return nil
	}
	name, fixed := path.Static()
	if !fixed || name == "" || isURL(name) {
		return nil
	}
	var all []string
	for _, file := range candidates(name, dir) {
		absolute, err := filepath.Abs(file)
		if err == nil && !slices.Contains(all, absolute) {
			all = append(all, absolute)
		}
	}
	return all
}

// preload reads a fixed file, so that its errors are reported at load.
func (s *Source) preload() syntax.Problems {
	k := s.stored(nil)
	var problems syntax.Problems
	for _, p := range k.problems {
		p.Key = s.ext.Path.Key // p.Key is that of another endpoint if the body was already stored
		if p.Pos.Line == 0 {
			p.Pos = s.ext.Path.Pos
		}
		problems = append(problems, p)
	}
	switch {
	case k.err == nil || problems.Err() != nil:
	case errors.Is(k.err, errNoSheet):
		problems = append(problems, problem(s.ext.Sheet.Pos, s.ext.Sheet.Key, k.err.Message)...)
	default:
		problems = append(problems, s.pathProblem(k.err.Message)...)
	}
	return problems
}

// key appends the cache key of a body to dst. path and sheet are parts of it.
func (s *Source) key(dst []byte, r *matcher.Request) (key, path, sheet []byte) {
	key = append(dst, s.space...)
	from := len(key)
	if s.fixedPath != "" {
		key = append(key, s.fixedPath...)
	} else {
		key = s.path.Append(key, r)
	}
	to := len(key)
	key = append(key, 0)
	switch {
	case s.fixedSheet != "":
		key = append(key, s.fixedSheet...)
	case s.sheet != nil:
		key = s.sheet.Append(key, r)
	}
	return key, key[from:to], key[to+1:]
}

// convert converts the content of a file to a body.
func (s *Source) convert(ctx context.Context, content []byte, path, sheet string) *kept {
	switch {
	case s.workbook():
		return s.convertSheet(ctx, content, path, sheet)
	case s.raw:
		k := &kept{body: Body{Bytes: content}, size: int64(len(content))}
		k.problems = s.checkJSON(path, string(content))
		return k
	}
	text := syntax.FileText(path, strings.TrimPrefix(string(content), byteOrderMark))
	text.Key = s.ext.Path.Key
	t, problems := renderer.Compile(text, s.form, s.scope)
	k := &kept{problems: problems, size: 2 * int64(len(content))}
	if errs := problems.Errors(); len(errs) > 0 {
		k.err = &Error{Kind: Unavailable, Message: errs[0].String(), Err: problems.Err()}
		return k
	}
	if static, ok := t.Static(); ok {
		k.body.Bytes = []byte(static)
		k.problems = append(problems, s.checkJSON(path, static)...)
		return k
	}
	k.body.Template = t
	return k
}

// checkJSON warns about a text that is served as JSON but is not valid. Empty text is served
// unchanged, because empty responses are also mocked.
func (s *Source) checkJSON(path, content string) syntax.Problems {
	if s.form != renderer.JSON || content == "" {
		return nil
	}
	offset, what := item.JSONFault(content, true) // one value, or one per line
	if what == "" {
		return nil
	}
	pos := syntax.FileText(path, content).At(offset)
	return syntax.Problems{{Pos: pos, Key: s.ext.Path.Key, What: "not valid JSON: " + what, Warning: true}}
}

// open opens the file of a path: where it was found at load or, for a rendered path, the first one
// in its directories, which the path cannot leave.
func (s *Source) open(path string) (*os.File, fs.FileInfo, error) {
	if s.file != "" {
		return files.Open(s.file)
	}
	name := filepath.FromSlash(path[min(s.prefix, len(path)):])
	var err error
	for _, dir := range s.dirs {
		var f *os.File
		var info fs.FileInfo
		if f, info, err = openIn(dir, name); !absent(err) {
			return f, info, err
		}
	}
	return nil, nil, err
}

// openIn opens a file in a directory. The directory is opened each time, because it may be a link
// that is swapped, as in a mounted ConfigMap.
func openIn(dir, name string) (*os.File, fs.FileInfo, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		if info, e := os.Stat(dir); e == nil && !info.IsDir() {
			err = syscall.ENOTDIR // OpenRoot reports it as text only
		}
		return nil, nil, err
	}
	defer root.Close()
	return files.OpenIn(root, name)
}
