// Package fetcher loads response bodies that are not in the configuration: from a JSON file, a URL,
// or a sheet of a workbook.
//
//	external-body:
//	  provider: json                      # json: a file or a URL · xlsx: a workbook
//	  path: data/{{path-params.id}}.json  # may hold placeholders
//
//	external-body: {provider: xlsx, path: people.xlsx, sheet-name: People}
//
//	external-body: {provider: json, path: "https://api.example.com/users/{{path-params.id}}",
//	                timeout: 2s, ttl: 30s, stale-if-error: true, insecure: false}
//
// # Files
//
// A relative path is looked up next to the configuration file, then in the working directory. A
// path without placeholders is fixed: its file must exist when the configuration is loaded. A
// rendered path cannot leave the directory of its fixed prefix (data in the case of
// "data/user-{{x}}.json"), or the directory of the configuration if the prefix names none; the
// response is then "not found", as for a missing file. Only regular files are read, up to 256 MiB.
// A JSON file is a template and is stored compiled; a change on disk takes effect within a second.
// A file that is being written is served in its previous state until it no longer changes, and
// requests do not wait while it is read again.
//
// # Workbooks
//
// The first row of the sheet contains the keys, trimmed. A column without a key is omitted, and a
// repeated key becomes key_2, key_3, with a warning. Each later row with a value under any key
// becomes one object, with its keys in the order of the columns. Number cells become JSON numbers
// as stored, booleans become booleans, an empty cell becomes null, and a formula has the value it
// had when the workbook was saved. A number displayed as a date becomes ISO 8601 text: 2024-01-15,
// 2024-01-15T10:30:00 or 10:30:00, depending on whether its format shows a day, a time or both.
// Everything else is text, including errors such as #N/A.
//
// # Remote bodies
//
// The content of a URL is passed on, with content encodings removed. Concurrent requests for the
// same URL share one fetch. ttl keeps a copy for a while; stale-if-error keeps the last good copy
// and serves it whenever a fetch fails. A placeholder can change neither the directory of a URL nor
// a host name that is written out: a segment that is . or .. after rendering is answered with "not
// found".
package fetcher

import (
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"mockserver/config"
	"mockserver/config/syntax"
	"mockserver/matcher"
	"mockserver/renderer"
)

const (
	// maxFetches is how many URLs are fetched at a time: each takes a descriptor, and up to 64 MiB.
	maxFetches = 512
	// maxReloads is how many files are read again at a time.
	maxReloads = 8
)

// Options are the settings of a Loader. The zero value is ready for use.
type Options struct {
	// Now is the clock that ages copies; nil means time.Now. Time-outs do not follow it.
	Now func() time.Time
	// MaxRemote limits a remote body, in bytes after decoding; 0 means 64 MiB.
	MaxRemote int64
	// MaxFile limits a local file as read, a workbook as unpacked, and a sheet as JSON text, in
	// bytes; 0 means 256 MiB.
	MaxFile int64
	// MaxCache limits the stored bodies, in bytes; 0 means 256 MiB. A single larger body is stored
	// alone.
	MaxCache int64
}

// Loader loads and stores external bodies. There is one per server, shared by all snapshots, so
// that a reload keeps the cache. It is safe for concurrent use.
type Loader struct {
	now       func() time.Time
	maxRemote int64
	maxFile   int64

	cache *cache
	files *shelf // raw files and sheets, which are the same for all snapshots
	urls  *shelf

	flights singleflight.Group
	ctx     context.Context // ends running fetches when the loader is closed
	cancel  context.CancelFunc
	clients clients
	slots   chan struct{} // one taken by each fetch
	scratch sync.Pool     // of *[]byte, for keys

	readAll  func(r io.Reader, size, limit int64) ([]byte, error) // of files; replaced in tests
	seed     maphash.Seed                                         // for the hashes of files
	starting sync.Mutex                                           // held while a goroutine is started, so that none is started once Close waits
	running  sync.WaitGroup                                       // the goroutines that read files again
	reloads  chan struct{}                                        // one taken by each of them
}

// NewLoader returns an empty loader. It must be closed after the server has stopped.
func NewLoader(opts Options) *Loader {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	c := newCache(orDefault(opts.MaxCache, 256<<20))
	l := &Loader{
		now:       opts.Now,
		maxRemote: orDefault(opts.MaxRemote, 64<<20),
		maxFile:   orDefault(opts.MaxFile, 256<<20),
		cache:     c,
		files:     newShelf(c),
		urls:      newShelf(c),
		slots:     make(chan struct{}, maxFetches),
		readAll:   readAll,
		seed:      maphash.MakeSeed(),
		reloads:   make(chan struct{}, maxReloads),
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

func orDefault(n, def int64) int64 {
	if n > 0 {
		return n
	}
	return def
}

// Close ends running fetches, idle connections, and the reading of changed files. It waits for the
// latter until ctx ends, because reading from a mount that hangs cannot be ended. Afterwards remote
// bodies are not available; bodies in the cache still are.
func (l *Loader) Close(ctx context.Context) {
	l.starting.Lock()
	l.cancel()
	l.starting.Unlock()
	idle := make(chan struct{})
	go func() {
		l.running.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-ctx.Done():
	}
	l.clients.close()
}

// Body is the body to send: Template if it is not nil, otherwise Bytes, which nobody may modify and
// which never change.
type Body struct {
	Template    *renderer.Template
	Bytes       []byte
	ContentType string // of a remote body; "" otherwise, and if the remote server sent none
	// Waited is how long the request waited for a remote server, even if that failed.
	Waited time.Duration
}

// Source is one external body of one snapshot. It is immutable and safe for
// concurrent use.
type Source struct {
	loader *Loader
	ext    *config.ExternalBody
	form   renderer.Form
	raw    bool
	scope  *renderer.Scope

	remote bool // the path is a URL
	path   *renderer.Template
	sheet  *renderer.Template // nil for json
	fixed  bool               // neither path nor sheet has placeholders

	fixedPath  string       // the path as declared; "" if it has placeholders
	fixedSheet string       // the sheet as declared; "" if it has placeholders
	url        string       // of a fixed URL, without the fragment
	client     *http.Client // of a URL

	file   string   // of a fixed path: the file found at load
	dirs   []string // of a rendered path: the directories in which it is looked up
	prefix int      // of a rendered path: the length of its directory in bytes

	shelf  *shelf                // where its bodies are stored
	space  string                // prefix of its keys, so that only equal sources share keys
	pinned atomic.Pointer[entry] // of a fixed file, so that a hit needs no lookup
}

// Source prepares an external body while a snapshot is built, and finds all errors then. A fixed
// file is read immediately. dir is where relative paths are looked up first ("" is the working
// directory). form and scope are those of the answer's templates. raw turns off templates in the
// content, but not in the path. The source is nil if the problems include errors.
func (l *Loader) Source(ext *config.ExternalBody, dir string, form renderer.Form, raw bool, scope *renderer.Scope) (*Source, syntax.Problems) {
	s := &Source{loader: l, ext: ext, form: form, raw: raw, scope: scope}
	problems := s.prepare(dir)
	if problems.Err() == nil && s.fixed && !s.remote {
		problems = append(problems, s.preload()...)
	}
	if problems.Err() != nil {
		return nil, problems
	}
	return s, problems
}

// prepare compiles the declaration and determines where the body is looked up.
func (s *Source) prepare(dir string) syntax.Problems {
	ext := s.ext
	if ext.Provider != "json" && ext.Provider != "xlsx" {
		return problem(ext.Pos, ext.Key, fmt.Sprintf("unknown provider %q; expected json or xlsx", ext.Provider))
	}
	if ext.Path.Value == "" {
		return problem(ext.Pos, ext.Key, "path is missing: a file, or for json a URL")
	}
	problems := s.compilePath()
	switch {
	case problems.Err() != nil:
		return problems
	case s.workbook() && s.remote:
		return s.pathProblem("a workbook is read from a file, not from a URL")
	}
	path := s.path
	if s.fixedPath, s.fixed = path.Static(); s.fixed && s.fixedPath == "" {
		return s.pathProblem("path is empty: a file, or for json a URL")
	}
	switch {
	case s.remote:
		s.shelf = s.loader.urls
		problems = append(problems, s.connect(dir)...)
		return append(problems, s.checkURL()...)
	case s.workbook():
		problems = append(problems, s.compileSheet()...)
	}
	problems = append(problems, s.locate(dir)...)
	s.chooseShelf()
	return problems
}

// compilePath compiles the path and determines whether it is a URL; an environment variable at its
// beginning has been replaced by then.
func (s *Source) compilePath() syntax.Problems {
	path, problems := renderer.Compile(s.ext.Path, renderer.Plain, s.scope)
	if path == nil {
		return problems
	}
	if s.remote = isURL(path.Prefix()); s.remote {
		path, problems = renderer.Compile(s.ext.Path, renderer.URL, s.scope)
	}
	s.path = path
	if !s.remote {
		problems = append(problems, s.forURLs()...)
	}
	return problems
}

// forURLs returns the errors of a file that has settings for URLs, each with the key of the
// setting, in the order of the declaration.
func (s *Source) forURLs() syntax.Problems {
	var problems syntax.Problems
	ext := s.ext
	for _, k := range ext.URLKeys() {
		if k.Given {
			problems = append(problems, problem(ext.Pos, ext.Key+"."+k.Key,
				k.Key+" is for URLs; this path is a file, since it does not begin with http:// or https://")...)
		}
	}
	return problems
}

// compileSheet compiles the name of the sheet.
func (s *Source) compileSheet() syntax.Problems {
	if s.ext.Sheet.Value == "" {
		return problem(s.ext.Pos, s.ext.Key, "sheet-name is missing: the name of the sheet to convert")
	}
	sheet, problems := renderer.Compile(s.ext.Sheet, renderer.Plain, s.scope)
	if sheet != nil {
		var static bool
		s.sheet = sheet
		s.fixedSheet, static = sheet.Static()
		s.fixed = s.fixed && static
	}
	return problems
}

// chooseShelf gives templates a shelf of their own, because they are compiled for a single
// snapshot, and are released with it.
func (s *Source) chooseShelf() {
	s.space = fmt.Sprint(s.ext.Provider, s.form, s.file, "\x00", strings.Join(s.dirs, "\x00"), "\x00")
	if s.raw || s.workbook() {
		s.shelf = s.loader.files
		return
	}
	s.shelf = newShelf(s.loader.cache)
	runtime.AddCleanup(s, (*shelf).clear, s.shelf)
}

func (s *Source) workbook() bool { return s.ext.Provider == "xlsx" }

// isURL reports whether a path is a URL; otherwise it is a file.
func isURL(path string) bool {
	scheme, _, found := strings.Cut(path, "://")
	return found && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

func problem(pos syntax.Pos, key, what string) syntax.Problems {
	return syntax.Problems{{Pos: pos, Key: key, What: what}}
}

// pathProblem returns an error in the value of path.
func (s *Source) pathProblem(what string) syntax.Problems {
	return problem(s.ext.Path.Pos, s.ext.Path.Key, what)
}

// Declared returns the path as declared: placeholders are not rendered, and a URL may contain
// credentials.
func (s *Source) Declared() string { return s.ext.Path.Value }

// IsRemote reports whether the body is fetched from a URL.
func (s *Source) IsRemote() bool { return s.remote }

// Body returns the body for r. The error is an *Error. A stored body needs no allocation.
func (s *Source) Body(r *matcher.Request) (Body, error) {
	var k *kept
	var waited time.Duration
	if s.remote {
		k, waited = s.fetched(r)
	} else {
		k = s.stored(r)
	}
	if k.err != nil {
		return Body{Waited: waited}, k.err
	}
	body := k.body
	body.Waited = waited
	return body, nil
}
