// Package fetcher loads response bodies that are not in the configuration: from a JSON file, a URL,
// or a sheet of a workbook. docs/external-bodies.md describes what is looked up where, and what a
// cell becomes.
//
// A JSON file is a template and is stored compiled; a change on disk takes effect within a second.
// A file that is being written is served in its previous state until it no longer changes, and
// requests do not wait while it is read again. Concurrent requests for the same URL share one
// fetch.
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

// Loader loads and stores external bodies. All snapshots of a server share one Loader, so that a
// reload keeps the cache. A Loader is safe for concurrent use.
type Loader struct {
	now       func() time.Time // of the age of copies; replaced in tests
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

// The limits of a Loader, in bytes: of a remote body unless it is given, of a local file as read, a workbook as unpacked
// and a sheet as JSON text, and of the stored bodies. A single larger body is stored alone.
const (
	defaultRemote = 64 << 20
	maxFile       = 256 << 20
	maxCache      = 256 << 20
)

// NewLoader returns an empty loader. It must be closed after the server has stopped. maxRemote limits a remote body, in
// bytes after decoding; 0 means 64 MiB.
func NewLoader(maxRemote int64) *Loader {
	c := newCache(maxCache)
	l := &Loader{
		now:       time.Now,
		maxRemote: cmp.Or(maxRemote, defaultRemote),
		maxFile:   maxFile,
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
	l.scratch.New = func() any { return new(make([]byte, 0, scratchSize)) }
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
func (l *Loader) borrow() *[]byte { return l.scratch.Get().(*[]byte) }

func (l *Loader) giveBack(buf *[]byte) {
	if cap(*buf) <= maxScratch {
		*buf = (*buf)[:0]
		l.scratch.Put(buf)
	}
}
