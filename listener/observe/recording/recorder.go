// Package recording writes the exchanges with upstreams to files, outside the request path:
//
//	r, err := recording.Open(recording.Options{…})
//	e := r.Begin(request, connection)   // nil if the request is not recorded
//	e.Response(status, fields)
//	e.More(part)                        // of the body, as it arrives
//	r.End(e)
//	err = r.Close()
//
// The goroutine of a request only copies the data and puts it into a queue; another goroutine does
// the rest. When the queue is full, an exchange is dropped and counted; no request waits.
package recording

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"mockserver/config/item"
	"mockserver/internal/files"
	"mockserver/internal/histogram"
	"mockserver/internal/recording"
	"mockserver/matcher"
)

const (
	// queued is how many exchanges may wait to be written, and queuedBytes is how much memory they
	// may take.
	queued      = 8192
	queuedBytes = 32 << 20
	// flushTime is the maximum time for which text waits to be compressed; see flushSize.
	flushTime = 500 * time.Millisecond
	// gathered is how long exchanges are collected in the queue before they are written together,
	// which takes less CPU time than writing them one by one.
	gathered = 5 * time.Millisecond
)

// Options specify what is recorded, and where.
type Options struct {
	ID       string
	Upstream string // name of the upstream and of the files
	URL      string
	Dir      string
	Declared item.Record
	If       func(*matcher.Request) bool // nil records every request
	Log      *slog.Logger

	before *Recorder                               // the recorder that this one is to replace; nil if none
	lost   *atomic.Uint64                          // also counts dropped exchanges; nil if nothing else does
	write  func(f *os.File, b []byte) (int, error) // in tests, replaces the write to the file
}

// Recorder records the exchanges with one upstream.
type Recorder struct {
	opts  Options
	begun time.Time
	lock  *os.File // nil while the recorder to replace has it
	key   []byte   // key of the HMAC
	index *index   // index of the answers that are served; nil if none

	queue   chan *Entry
	waiting atomic.Int64 // size of the entries in the queue, in bytes
	ending  sync.RWMutex // held for reading while an entry is put into the queue
	ended   bool         // guarded by ending
	next    *Recorder    // gets exchanges that end later; nil if none; guarded by ending
	done    chan struct{}

	number   atomic.Uint64 // number of exchanges that have begun, for sampling
	recorded atomic.Uint64
	dropped  *atomic.Uint64
	served   atomic.Uint64
	written  atomic.Int64 // bytes
	paths    atomic.Pointer[[]string]
	bare     atomic.Uint64 // exchanges whose bodies were left out because of the limit
	failure  atomic.Pointer[string]
	first    histogram.Histogram
	statuses [600]atomic.Uint64

	out writer
}

// Open begins a recording. The error says why the directory cannot be used.
func Open(o Options) (*Recorder, error) {
	o.Declared.Sample = cmp.Or(o.Declared.Sample, 1)
	o.Declared.Bodies = cmp.Or(o.Declared.Bodies, item.DefaultBodies)
	o.Declared.Limit = cmp.Or(o.Declared.Limit, item.DefaultRecordLimit)
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("record to %s: %w", o.Dir, err)
	}
	r := &Recorder{opts: o, begun: time.Now(), key: make([]byte, sha256.Size), queue: make(chan *Entry, queued), done: make(chan struct{}), dropped: new(atomic.Uint64)}
	r.opts.before = nil     // what it has replaced may be freed
	_, _ = rand.Read(r.key) // never fails
	r.out = writer{dir: o.Dir, name: o.Upstream, url: o.URL, write: o.write}
	if err := r.begin(o.before); err != nil {
		r.unlock()
		return nil, fmt.Errorf("record to %s: %w", o.Dir, err)
	}
	r.showPaths()
	go r.run()
	return r, nil
}

// try returns the error of Open if the directory cannot be written or locked. It writes nothing.
func try(o Options) (*Recorder, error) {
	err := files.TryLock(o.lockFile())
	if errors.Is(err, files.ErrLocked) && o.before != nil && sameDirectory(o.before.opts.Dir, o.Dir) || err == nil {
		return nil, nil
	}
	return nil, fmt.Errorf("record to %s: %w", o.Dir, err)
}

func (o *Options) lockFile() string { return filepath.Join(o.Dir, "."+o.Upstream+".lock") }

// begin locks the directory, unless the recorder to replace has locked it, reads the recorded
// answers if they are served, and begins the first file.
func (r *Recorder) begin(before *Recorder) (err error) {
	same := before != nil && sameDirectory(before.opts.Dir, r.opts.Dir)
	if !same {
		if r.lock, err = files.Lock(r.opts.lockFile()); err != nil {
			return err
		}
	}
	switch {
	case r.opts.Declared.Mode != item.RecordMissing:
	case same && before.index != nil:
		r.index = before.index
	default:
		if r.index, err = r.readIndex(); err != nil {
			return err
		}
	}
	return r.out.open()
}

func sameDirectory(a, b string) bool {
	one, err := os.Stat(a)
	other, wrong := os.Stat(b)
	return err == nil && wrong == nil && os.SameFile(one, other)
}

func (r *Recorder) unlock() {
	if r.lock != nil {
		_ = r.lock.Close() // closing the file releases the lock
	}
}

// Begin copies a request that is about to be passed on. It returns nil if the request is not
// recorded.
func (r *Recorder) Begin(q *matcher.Request, connection uint64) *Entry {
	if r.opts.If != nil && !r.opts.If(q) {
		return nil
	}
	n := r.number.Add(1)
	if r.waiting.Load() > queuedBytes || len(r.queue) == cap(r.queue) {
		r.drop()
		return nil
	}
	e := entries.Get().(*Entry)
	e.begin(q, connection)
	e.kept = r.opts.Declared.Bodies
	switch {
	case (n-1)%uint64(r.opts.Declared.Sample) != 0:
		e.omitted = recording.OmittedSample
	case r.written.Load() >= int64(r.opts.Declared.Limit):
		e.omitted = recording.OmittedLimit
		if r.bare.Add(1) == 1 {
			r.opts.Log.Warn("recording: the limit is reached, bodies are left out from now on", "upstream", r.opts.Upstream, "bytes", r.written.Load())
		}
	}
	e.requestBody(q.Body())
	return e
}

// End hands an exchange over to be written, by the recorder that has replaced this one, if any. If
// the recording has ended without being replaced, the exchange is dropped. The entry must not be
// used afterwards.
func (r *Recorder) End(e *Entry) {
	r.ending.RLock()
	if !r.ended {
		defer r.ending.RUnlock()
		r.put(e)
		return
	}
	next := r.next
	r.ending.RUnlock()
	if next != nil {
		next.End(e)
		return
	}
	e.free()
	r.drop()
}

// keep makes an answer one that is served from now on, if recorded answers are.
func (r *Recorder) keep(e *Entry) {
	if r.index == nil || e.err != "" {
		return
	}
	var line recording.Line
	e.fill(&line)
	if e.key == [sha256.Size]byte{} { // it began before there was an index
		e.key = keyOfLine(&line)
	}
	r.index.add(e.key, responseOf(&line), int64(r.opts.Declared.Limit))
}

// put puts an exchange into the queue. The caller must hold r.ending.
func (r *Recorder) put(e *Entry) {
	r.keep(e)
	if e.status >= 0 && e.status < len(r.statuses) {
		r.statuses[e.status].Add(1)
	}
	if e.first > 0 {
		r.first.Add(e.first)
	}
	size := e.size()
	r.waiting.Add(size)
	select {
	case r.queue <- e:
	default:
		r.waiting.Add(-size)
		e.free()
		r.drop()
	}
}

// drop counts an exchange that is not written, and logs the first such exchange.
func (r *Recorder) drop() {
	if r.lose(1) {
		r.opts.Log.Warn("recording: exchanges are dropped", "upstream", r.opts.Upstream, "queue", len(r.queue))
	}
}

// lose counts n exchanges that are not written, and reports whether they are the first ones.
func (r *Recorder) lose(n uint64) (first bool) {
	if r.opts.lost != nil {
		r.opts.lost.Add(n)
	}
	return r.dropped.Add(n) == n
}

// run writes what is in the queue until it is closed.
func (r *Recorder) run() {
	defer close(r.done)
	timer := time.NewTicker(flushTime)
	defer timer.Stop()
	var line recording.Line
	for {
		select {
		case e, more := <-r.queue:
			if !more {
				r.flush()
				r.out.close()
				return
			}
			r.take(e, &line)
			if len(r.queue) == 0 {
				time.Sleep(gathered)
			}
		case <-timer.C:
			r.flush()
		}
	}
}

// take adds an exchange to the text that will be written next.
func (r *Recorder) take(e *Entry, line *recording.Line) {
	r.waiting.Add(-e.size())
	e.fill(line)
	r.redact(line, e.framing)
	r.out.text = line.Append(r.out.text)
	in, out := line.Request.Headers[:0], line.Response.Headers[:0]
	*line = recording.Line{} // it shares the buffer of the entry
	line.Request.Headers, line.Response.Headers = in, out
	e.free()
	if r.out.lines++; len(r.out.text) >= flushSize {
		r.flush()
	}
}

// flush compresses and writes the text.
func (r *Recorder) flush() {
	if len(r.out.text) == 0 {
		return
	}
	lines := r.out.lines
	n, err := r.out.flush()
	r.written.Add(n)
	r.showPaths()
	if err == nil {
		r.recorded.Add(lines)
		return
	}
	text := err.Error()
	if first := r.failure.Swap(&text); first == nil {
		r.opts.Log.Error("recording: data that could not be written is dropped", "upstream", r.opts.Upstream, "file", r.out.path, "error", text)
	}
	r.lose(lines)
}

// showPaths makes the paths of the files visible to Stats.
func (r *Recorder) showPaths() {
	paths := r.out.paths
	r.paths.Store(&paths)
}

// Close writes what is in the queue and ends the recording. The error is that of the last failed
// write. Close may be called more than once.
func (r *Recorder) Close() error {
	r.end(nil)
	if f := r.failure.Load(); f != nil {
		return fmt.Errorf("record to %s: %s", r.opts.Dir, *f)
	}
	return nil
}

// end ends the recording. The recorder that replaces it, if any, gets the exchanges that end later,
// and the lock of the directory if they share it.
func (r *Recorder) end(next *Recorder) {
	r.ending.Lock()
	if !r.ended {
		r.ended, r.next = true, next
		close(r.queue)
	}
	r.ending.Unlock()
	<-r.done
	if next != nil && next.lock == nil {
		next.lock, r.lock = r.lock, nil
		return
	}
	r.unlock()
}

// discard ends a recording that has never been used, and removes its file.
func (r *Recorder) discard() {
	r.end(nil)
	_ = os.Remove(r.out.path) // it has only a head, which does no harm
}

// Stats contains the figures of a recording so far.
type Stats struct {
	ID        string             `json:"id" doc:"ID of the recording; it rises with each recording"`
	Upstream  string             `json:"upstream" doc:"upstream that is recorded"`
	Dir       string             `json:"to" doc:"directory of the files"`
	Mode      string             `json:"mode" doc:"all or missing"`
	Started   time.Time          `json:"started" doc:"when it began"` // in UTC
	Requests  uint64             `json:"requests" doc:"requests in the files"`
	Dropped   uint64             `json:"dropped" doc:"requests that are not in the files because the queue was full or a file could not be written"`
	Served    uint64             `json:"served" doc:"requests answered from what was recorded, with the mode missing"`
	Bodiless  uint64             `json:"bodiless" doc:"requests whose bodies were left out because the limit was reached"`
	Bytes     int64              `json:"bytes" doc:"size of the files, in bytes"`
	Paths     []string           `json:"-"`                                                     // paths of the files, which must not be changed
	Failure   string             `json:"error,omitempty" doc:"why a file could not be written"` // error of the last write
	Statuses  map[int]uint64     `json:"statuses" doc:"responses to clients, by status"`
	FirstByte histogram.Snapshot `json:"-"` // from sending a request to the first byte of its answer

	dropped *atomic.Uint64 // Dropped, as it grows when exchanges end after the recording
}

// Stats returns the figures of the recording so far.
func (r *Recorder) Stats() Stats {
	s := Stats{
		ID: r.opts.ID, Upstream: r.opts.Upstream, Dir: r.opts.Dir, Mode: cmp.Or(r.opts.Declared.Mode, item.RecordAll), Started: r.begun.UTC(),
		Requests: r.recorded.Load(), Dropped: r.dropped.Load(), dropped: r.dropped, Served: r.served.Load(), Bodiless: r.bare.Load(), Bytes: r.written.Load(),
		Paths: *r.paths.Load(), Statuses: map[int]uint64{},
	}
	if f := r.failure.Load(); f != nil {
		s.Failure = *f
	}
	for status := range r.statuses {
		if n := r.statuses[status].Load(); n > 0 {
			s.Statuses[status] = n
		}
	}
	r.first.Read(&s.FirstByte)
	return s
}

// readIndex reads the answers of earlier recordings in the directory.
func (r *Recorder) readIndex() (*index, error) {
	x := &index{all: map[[sha256.Size]byte]*Served{}, asking: map[[sha256.Size]byte]*asking{}}
	names, err := fileNames(r.opts.Dir, r.opts.Upstream)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		broken, err := recording.ReadFile(name, func(l *recording.Line) error {
			if l.Error == "" {
				x.add(keyOfLine(l), responseOf(l), int64(r.opts.Declared.Limit))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if broken != nil {
			r.opts.Log.Warn("recording: the rest of a file is not readable", "file", name, "error", broken.Error())
		}
	}
	return x, nil
}
