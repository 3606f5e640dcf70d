package fetcher

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"mockserver/config"
	"mockserver/matcher"
	"mockserver/renderer"
)

const (
	// checkInterval is how long a file is served without looking at it again.
	checkInterval = 250 * time.Millisecond
	// settleTime is the coarsest step of file times in use: within it, a file may
	// change twice and show the same time.
	settleTime = 2 * time.Second
	// byteOrderMark is what some editors begin a file with, and JSON may not.
	byteOrderMark = "\xef\xbb\xbf"
	// scratchSize holds most keys; a buffer that grew over maxScratch is not kept.
	scratchSize = 256
	maxScratch  = 64 << 10
)

var errNotRegular = errors.New("it is not a regular file")

// locate chooses the file of a fixed path, or the directories of a rendered one.
func (s *Source) locate(dir string) config.Problems {
	if dir == "" {
		dir = "."
	}
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
	return nil
}

// locateFixed chooses the file of a fixed path: the first that is there.
func (s *Source) locateFixed(dir string) config.Problems {
	name := filepath.FromSlash(s.fixedPath)
	candidates := []string{filepath.Join(dir, name), name}
	where := " beside the configuration file, nor in the working directory"
	if filepath.IsAbs(name) {
		candidates, where = []string{name}, ""
	}
	for _, file := range candidates {
		// A file that is there and cannot be read is told when it is read.
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			s.file = file
			return nil
		}
	}
	return s.pathProblem(fmt.Sprintf("file %q does not exist%s", s.fixedPath, where))
}

// preload reads a fixed file, so that its mistakes are those of the load.
func (s *Source) preload() config.Problems {
	k := s.stored(nil)
	var problems config.Problems
	for _, p := range k.problems {
		p.Key = s.ext.Path.Key // another endpoint's, where the body was kept already
		if p.Pos.Line == 0 {
			p.Pos = s.ext.Path.Pos
		}
		problems = append(problems, p)
	}
	switch {
	case k.err == nil || problems.Err() != nil:
	case errors.Is(k.err, errNoSheet):
		problems = append(problems, s.problem(s.ext.Sheet.Pos, s.ext.Sheet.Key, k.err.Message)...)
	default:
		problems = append(problems, s.pathProblem(k.err.Message)...)
	}
	return problems
}

// stored returns the body of a file, from the cache where it can.
func (s *Source) stored(r *matcher.Request) *kept {
	now := s.loader.now()
	if e := s.pinned.Load(); e != nil && !e.gone.Load() {
		k, fresh := e.fresh(now)
		if !fresh {
			k = s.load(e, k, now, s.fixedPath, s.fixedSheet)
		}
		return k
	}
	buf := s.loader.borrow()
	defer s.loader.giveBack(buf)
	key, path, sheet := s.key(*buf, r)
	*buf = key
	e := s.shelf.entry(key)
	if s.fixed {
		s.pinned.Store(e)
	}
	k, fresh := e.fresh(now)
	if !fresh {
		k = s.load(e, k, now, string(path), string(sheet))
	}
	return k
}

// key appends what a body is kept under to dst; path and sheet are parts of it.
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

// borrow returns an empty buffer that is given back when the request is done.
func (l *Loader) borrow() *[]byte {
	if buf, ok := l.scratch.Get().(*[]byte); ok {
		return buf
	}
	buf := make([]byte, 0, scratchSize)
	return &buf
}

func (l *Loader) giveBack(buf *[]byte) {
	if cap(*buf) <= maxScratch {
		*buf = (*buf)[:0]
		l.scratch.Put(buf)
	}
}

// fresh returns what an entry holds, and whether that may be served without
// looking at the file. Of many requests that come when a look is due, one gets
// the turn; the others are served what there is.
func (e *entry) fresh(now time.Time) (*kept, bool) {
	k := e.kept.Load()
	if k == nil {
		return nil, false
	}
	e.touch()
	due := e.next.Load()
	at := now.UnixNano()
	return k, at < due || !e.next.CompareAndSwap(due, at+int64(checkInterval))
}

// load reads a file into an entry whose content the caller saw to be missing or
// due. Whoever else wants a missing one waits for it here.
func (s *Source) load(e *entry, seen *kept, now time.Time, path, sheet string) *kept {
	e.loading.Lock()
	defer e.loading.Unlock()
	if k := e.kept.Load(); k != seen {
		return k
	}
	k := s.read(seen, now, path, sheet)
	e.next.Store(now.UnixNano() + int64(checkInterval))
	e.keep(k)
	if k.err != nil && k.err.Kind == NotFound {
		e.drop() // names that clients make up take no room
	}
	return k
}

// read reads a file unless it is the one already seen.
func (s *Source) read(seen *kept, now time.Time, path, sheet string) *kept {
	f, info, err := s.open(path)
	if err != nil {
		return &kept{err: s.fileError(path, err)}
	}
	defer f.Close()
	if seen != nil && seen.current(info) {
		return seen
	}
	content, err := readAll(f, info.Size(), s.loader.maxFile)
	if err != nil {
		return &kept{err: s.broken(path, causeOf(err), err)}
	}
	k := s.convert(content, path, sheet)
	k.info = info
	k.settled = now.Sub(info.ModTime()).Abs() > settleTime
	return k
}

// current tells whether the file looks as it did when k was read.
func (k *kept) current(info fs.FileInfo) bool {
	return k.info != nil && k.settled && os.SameFile(k.info, info) &&
		k.info.Size() == info.Size() && k.info.ModTime().Equal(info.ModTime())
}

// convert makes a body of a file's content.
func (s *Source) convert(content []byte, path, sheet string) *kept {
	switch {
	case s.workbook():
		return s.convertSheet(content, path, sheet)
	case s.raw:
		k := &kept{body: Body{Bytes: content}, size: int64(len(content))}
		k.problems = s.checkJSON(path, string(content))
		return k
	}
	text := config.FileText(path, strings.TrimPrefix(string(content), byteOrderMark))
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

// checkJSON warns of a text that is served as JSON and is none. Nothing at all is
// served as it is: an empty answer is a thing people mock.
func (s *Source) checkJSON(path, content string) config.Problems {
	if s.form != renderer.JSON || content == "" {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(content)) // one value, or one a line
	var err error
	for err == nil {
		var value json.RawMessage
		err = d.Decode(&value)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	offset := len(content)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		offset = max(int(syntax.Offset)-1, 0)
	}
	pos := config.FileText(path, content).At(offset)
	return config.Problems{{Pos: pos, Key: s.ext.Path.Key, What: "not valid JSON: " + err.Error(), Warning: true}}
}

// fileError says why a file cannot be had: a rendered path that names none is
// the client's mistake, a file that cannot be opened is not.
func (s *Source) fileError(path string, err error) *Error {
	kind := Unavailable
	if s.file == "" && !troubled(err) {
		kind = NotFound
	}
	return &Error{Kind: kind, Message: fmt.Sprintf("file %q: %s", path, causeOf(err)), Err: err}
}

// broken says why a file that is there cannot be served.
func (s *Source) broken(path, cause string, err error) *Error {
	return &Error{Kind: Unavailable, Message: fmt.Sprintf("file %q: %s", path, cause), Err: err}
}

// troubled tells whether err speaks of this machine rather than of the path.
func troubled(err error) bool {
	for _, e := range []error{fs.ErrPermission, syscall.EMFILE, syscall.ENFILE, syscall.EIO, syscall.ENOMEM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// open opens the file of a path: where it was found at load, or for a rendered
// one the first in its directories, which it cannot leave.
func (s *Source) open(path string) (*os.File, fs.FileInfo, error) {
	if s.file != "" {
		return openRegular(os.Stat, os.OpenFile, s.file)
	}
	name := filepath.FromSlash(path[min(s.prefix, len(path)):])
	var err error
	for _, dir := range s.dirs {
		var f *os.File
		var info fs.FileInfo
		if f, info, err = openIn(dir, name); !errors.Is(err, fs.ErrNotExist) {
			return f, info, err
		}
	}
	return nil, nil, err
}

// openIn opens a file of a directory. The directory is opened anew each time:
// it may be a link that is swapped, as in a mounted ConfigMap.
func openIn(dir, name string) (*os.File, fs.FileInfo, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	return openRegular(root.Stat, root.OpenFile, name)
}

// openRegular opens a regular file. It looks before it opens, since opening a
// device can have effects, and again afterwards, since the file may have been swapped.
func openRegular(
	stat func(string) (fs.FileInfo, error),
	open func(string, int, fs.FileMode) (*os.File, error),
	name string,
) (*os.File, fs.FileInfo, error) {
	info, err := stat(name)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errNotRegular
	}
	f, err := open(name, openFlags, 0)
	if err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// readAll reads what is expected to be size bytes, and limit at most.
func readAll(r io.Reader, size, limit int64) ([]byte, error) {
	if size > limit {
		return nil, tooLarge(limit)
	}
	buf := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	n, err := buf.ReadFrom(io.LimitReader(r, limit+1))
	if err == nil && n > limit {
		err = tooLarge(limit)
	}
	return buf.Bytes(), err
}

func tooLarge(limit int64) error {
	return fmt.Errorf("%w: more than %s", ErrTooLarge, sizeText(limit))
}

// sizeText is a size as people write it.
func sizeText(n int64) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
