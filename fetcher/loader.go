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
	"cmp"
	"context"
	"hash/maphash"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	// maxFetches is how many URLs are fetched at a time: each takes a descriptor, and up to 64 MiB.
	maxFetches = 512
	// maxReloads is how many files are read again at a time.
	maxReloads = 8
	// maxSheets is how many sheets are converted at a time, each with the memory of its workbook
	// unpacked.
	maxSheets = 4
	// scratchSize is enough for most keys. A buffer that has grown beyond maxScratch is not reused.
	scratchSize = 256
	maxScratch  = 64 << 10
)

// Options are the settings of a Loader. The zero value is ready for use.
type Options struct {
	// Now is the clock that determines the age of copies; nil means time.Now. Timeouts do not use
	// it.
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

// Loader loads and stores external bodies. All snapshots of a server share one Loader, so that a
// reload keeps the cache. A Loader is safe for concurrent use.
type Loader struct {
	now       func() time.Time
	maxRemote int64
	maxFile   int64

	cache *cache
	files *shelf // raw files and sheets, which are the same for all snapshots
	books *shelf // why sheets of workbooks cannot be served, by workbook
	urls  *shelf

	flights singleflight.Group
	ctx     context.Context // cancels running fetches when the loader is closed
	cancel  context.CancelFunc
	clients clients
	slots   chan struct{} // one taken by each fetch
	scratch sync.Pool     // of *[]byte, for keys

	readAll  func(r io.Reader, size, limit int64) ([]byte, error) // replaced in tests
	seed     maphash.Seed                                         // for the hashes of files
	starting sync.Mutex                                           // held while a goroutine is started, so that none is started once Close waits
	running  sync.WaitGroup                                       // the goroutines that read files again
	reloads  chan struct{}                                        // one taken by each of them
	sheets   chan struct{}                                        // holds a value for each sheet that is being converted
}

// NewLoader returns an empty loader. It must be closed after the server has stopped.
func NewLoader(opts Options) *Loader {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	c := newCache(cmp.Or(opts.MaxCache, 256<<20))
	l := &Loader{
		now:       opts.Now,
		maxRemote: cmp.Or(opts.MaxRemote, 64<<20),
		maxFile:   cmp.Or(opts.MaxFile, 256<<20),
		cache:     c,
		files:     newShelf(c),
		books:     newShelf(c),
		urls:      newShelf(c),
		slots:     make(chan struct{}, maxFetches),
		readAll:   new(reader).readAll,
		seed:      maphash.MakeSeed(),
		reloads:   make(chan struct{}, maxReloads),
		sheets:    make(chan struct{}, maxSheets),
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// Close cancels running fetches, closes idle connections, and stops reading changed files. It waits
// for the reads until ctx ends, because a read from a mount that hangs cannot be interrupted.
// Afterwards remote bodies are not available; bodies in the cache still are.
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

// borrow returns an empty buffer, which must be given back after the request.
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
