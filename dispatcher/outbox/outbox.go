// Package outbox stores pending deliveries on disk, in a log. The log consists of the files of a
// directory; records are appended to the last file.
//
//	box, pending, err := outbox.Open(dir, logger)
//	err = box.Store(&entry) // returns when the entry is safe on disk
//	box.Done(entry.ID)      // it is no longer pending
//
// Writes are grouped: each call to Store waits for the next sync, and one sync serves all calls
// that were made during the previous one. When a new file is begun, the first files are removed if
// none of their entries are pending.
//
// The package imports only internal packages of the module.
package outbox

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// Outbox is an open store. Its methods may be called from any goroutine.
type Outbox struct {
	Lost int64 // minimum number of records that could not be read when it was opened; set once

	dir  string
	lock *os.File
	sync func(*os.File) error // (*os.File).Sync, except in tests
	// rotateAt is the size at which the next file is begun, in bytes. allowed is how much space the
	// log may take, in bytes, in addition to four times the size of the pending entries.
	rotateAt, allowed int64

	mu     sync.Mutex // guards the fields below
	buffer []byte     // data to be written next, to the last file
	urgent *group     // callers that wait for buffer to be synced; nil if there are none
	err    error      // why nothing more can be stored
	closed bool
	id     uint64 // ID of the next entry
	files  []*logFile
	where  map[uint64]uint32 // pending entries, each with the number of its file
	// finished contains the names of files that are no longer part of the log and must be removed.
	finished []string

	bell  chan struct{} // signals that there is something to write, or that the outbox is closed
	ended chan struct{}

	unlisted chan struct{} // signals that there are files to remove; closed at the end
	removed  chan struct{} // closed when the remover has stopped

	out   *os.File // the file being written; used only by the committer
	spare []byte   // memory for the next buffer; used only by the committer
}

// group represents the callers of Store that wait for one sync.
type group struct {
	synced chan struct{}
	err    error // valid after synced is closed
}

// logFile is one file of the log.
type logFile struct {
	number  uint32
	marker  marker
	size    int64
	stored  int // number of entries in the file
	pending int // number of stored entries that are pending
}

// Sizes of the log, in bytes.
const (
	rotateAt     = 64 << 20
	spaceAllowed = 256 << 20
)

// Errors returned by Store and Open.
var (
	ErrClosed = errors.New("the webhook store is closed")
	ErrLocked = errors.New("the webhook store is in use by another process")
)

// newLogFile returns a file that does not exist yet.
func newLogFile(number uint32) *logFile {
	f := &logFile{number: number, marker: make(marker, markerSize)}
	rand.Read(f.marker) // never fails
	return f
}

// name returns the name of the file, which consists of its number and its marker:
// "0000002a-8d1f0a9c35b7e264.log".
func (f *logFile) name() string {
	return fmt.Sprintf("%08x-%x.log", f.number, []byte(f.marker))
}

func (o *Outbox) path(f *logFile) string { return filepath.Join(o.dir, f.name()) }

func (o *Outbox) last() *logFile { return o.files[len(o.files)-1] }

func (o *Outbox) file(number uint32) *logFile { return o.files[number-o.files[0].number] }

// Store writes an entry to the log, sets its ID, and returns when it is safe on disk.
func (o *Outbox) Store(e *Entry) error {
	o.mu.Lock()
	if o.err != nil || o.closed {
		defer o.mu.Unlock()
		return cmp.Or(o.err, ErrClosed)
	}
	e.ID = o.id
	o.id++
	o.add(e)
	if o.urgent == nil {
		o.urgent = &group{synced: make(chan struct{})}
	}
	g := o.urgent
	o.mu.Unlock()
	o.wake()
	<-g.synced
	return g.err
}

func (o *Outbox) add(e *Entry) {
	f := o.last()
	o.buffer = appendEntry(o.buffer, f.marker, e)
	f.stored++
	f.pending++
	o.where[e.ID] = f.number
}

// Done records that an entry is no longer pending. It does not wait for the disk, so after a crash
// the entry may be pending again.
func (o *Outbox) Done(id uint64) {
	o.mu.Lock()
	number, ok := o.where[id]
	if ok {
		delete(o.where, id)
		o.file(number).pending--
		o.buffer = appendDone(o.buffer, o.last().marker, id)
	}
	o.mu.Unlock()
	if ok {
		o.wake()
	}
}

func (o *Outbox) wake() {
	select {
	case o.bell <- struct{}{}:
	default: // it has already been signaled
	}
}

// commit is the goroutine of the committer, which writes the log.
func (o *Outbox) commit() {
	defer func() {
		close(o.unlisted)
		<-o.removed
		close(o.ended)
	}()
	for range o.bell {
		ended, rotated := o.write(false)
		if rotated && !ended {
			var err error
			ended, err = o.tidy()
			o.fail(err)
		}
		if ended {
			return
		}
	}
}

// write writes the buffer, and begins the next file if the current one is full. It syncs the
// current file if a caller waits for that, if sync is set, and if the file is full or the outbox is
// closed. It reports whether the outbox was closed, and whether the next file was begun.
func (o *Outbox) write(sync bool) (ended, rotated bool) {
	o.mu.Lock()
	buffer, waiting, closed, err := o.buffer, o.urgent, o.closed, o.err
	o.buffer, o.urgent = o.spare[:0], nil
	f := o.last()
	f.size += int64(len(buffer))
	full := f.size >= o.rotateAt
	if full && err == nil {
		// Entries stored from now on belong to the next file.
		o.files = append(o.files, newLogFile(f.number+1))
	}
	o.mu.Unlock()
	if err == nil {
		err = o.flush(buffer, sync || waiting != nil || full || closed)
	}
	o.fail(err)
	if waiting != nil {
		waiting.err = err
		close(waiting.synced)
	}
	if err == nil && full {
		err = o.rotate()
		o.fail(err)
		rotated = err == nil
	}
	o.spare = buffer[:0]
	if int64(cap(o.spare)) > o.rotateAt {
		o.spare = nil
	}
	return closed, rotated
}

// fail records the first error; after that nothing is stored. Nothing may be appended to a log that
// was not written completely.
func (o *Outbox) fail(err error) {
	if err == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = fmt.Errorf("the webhook store %s cannot be written: %w", o.dir, err)
	}
}

func (o *Outbox) flush(buffer []byte, sync bool) error {
	if len(buffer) > 0 {
		if _, err := o.out.Write(buffer); err != nil {
			return err
		}
	}
	if sync {
		return o.sync(o.out)
	}
	return nil
}

// rotate begins the next file.
func (o *Outbox) rotate() error {
	if err := o.out.Close(); err != nil {
		return err
	}
	o.mu.Lock()
	next := o.last()
	o.mu.Unlock()
	var err error
	o.out, err = o.create(next)
	return err
}

// create creates a file, and ensures that its name is on disk.
func (o *Outbox) create(file *logFile) (*os.File, error) {
	f, err := os.OpenFile(o.path(file), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return f, syncDir(o.dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Close writes the remaining data and unlocks the directory.
func (o *Outbox) Close() error {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.wake()
	<-o.ended
	o.mu.Lock()
	err := o.err
	o.err = cmp.Or(err, ErrClosed)
	o.mu.Unlock()
	return errors.Join(err, o.out.Close(), o.lock.Close())
}
