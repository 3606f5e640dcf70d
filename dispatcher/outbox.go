package dispatcher

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// outbox is the durable list of deliveries that are pending: a log in the files of
// a directory, the last of which is written to. A delivery is in it before the
// response that triggers it is written; that no further attempt is needed is noted
// behind it. The first file goes as soon as nothing in it is pending.
//
// Writing is grouped: who stores a delivery waits for the next sync, and one sync
// serves all who came while the one before was under way.
type outbox struct {
	dir  string
	lock *os.File
	sync func(*os.File) error // (*os.File).Sync, but for tests
	// rotateAt is the size at which a file is followed by another, and allowed how much
	// the log may take beside four times what is pending.
	rotateAt, allowed int64

	mu     sync.Mutex // guards what follows
	buffer []byte     // what is to be written next, to the last file
	urgent *group     // who waits for it to be synced; nil for nobody
	err    error      // why nothing can be stored any more
	closed bool
	lost   int64  // records, at least, that could not be read when it was opened
	id     uint64 // of the next delivery
	files  []*logFile
	where  map[uint64]uint32 // the pending deliveries, and the number of the file each is in
	// finished is the files that are out of the log and to be removed.
	finished []string

	bell  chan struct{} // there is something to write, or the end
	ended chan struct{}

	unlisted chan struct{} // there is something to remove, or the end
	removed  chan struct{} // the end of removing

	out   *os.File // the file that the committer writes to, its own
	spare []byte   // room for the next buffer, the committer's own
}

// group is those who wait for one sync.
type group struct {
	synced chan struct{}
	err    error // to be read once synced is closed
}

// logFile is one file of the log.
type logFile struct {
	number  uint32
	marker  marker
	size    int64
	stored  int // deliveries in it
	pending int // of these, those that are pending
}

// Sizes of the log, in bytes.
const (
	rotateAt     = 64 << 20
	spaceAllowed = 256 << 20
)

var (
	errStoreClosed = errors.New("the webhook store is closed")
	errStoreLocked = errors.New("the webhook store is in use by another process")
)

// newLogFile is a file that is yet to be made.
func newLogFile(number uint32) *logFile {
	f := &logFile{number: number, marker: make(marker, markerSize)}
	rand.Read(f.marker) // never fails
	return f
}

// name is that of the file: "0000002a-8d1f0a9c35b7e264.log", with its number and its
// marker, or "0000002a.log" of an older version.
func (f *logFile) name() string {
	if len(f.marker) == 0 {
		return fmt.Sprintf("%08x.log", f.number)
	}
	return fmt.Sprintf("%08x-%x.log", f.number, []byte(f.marker))
}

func (o *outbox) path(f *logFile) string { return filepath.Join(o.dir, f.name()) }

func (o *outbox) last() *logFile { return o.files[len(o.files)-1] }

// store writes a delivery to the log, gives it its number, and returns when it is
// safe on disk.
func (o *outbox) store(s *stored) error {
	o.mu.Lock()
	if o.err != nil || o.closed {
		defer o.mu.Unlock()
		return cmp.Or(o.err, errStoreClosed)
	}
	s.id = o.id
	o.id++
	o.add(s)
	if o.urgent == nil {
		o.urgent = &group{synced: make(chan struct{})}
	}
	g := o.urgent
	o.mu.Unlock()
	o.call()
	<-g.synced
	return g.err
}

// add puts a delivery into the buffer.
func (o *outbox) add(s *stored) {
	f := o.last()
	o.buffer = appendStored(o.buffer, f.marker, s)
	f.stored++
	f.pending++
	o.where[s.id] = f.number
}

// done notes that a delivery needs no further attempt. It waits for nothing: what
// is forgotten by it in a crash is sent once more.
func (o *outbox) done(id uint64) {
	o.mu.Lock()
	number, ok := o.where[id]
	if ok {
		delete(o.where, id)
		o.file(number).pending--
		o.buffer = appendDone(o.buffer, o.last().marker, id)
	}
	o.mu.Unlock()
	if ok {
		o.call()
	}
}

func (o *outbox) file(number uint32) *logFile { return o.files[number-o.files[0].number] }

func (o *outbox) call() {
	select {
	case o.bell <- struct{}{}:
	default: // it is called already
	}
}

// commit is the goroutine that writes.
func (o *outbox) commit() {
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

// write writes what there is, synced if somebody waits for it or it must be, and
// tells whether a further file was begun and whether that was the end.
func (o *outbox) write(sync bool) (ended, rotated bool) {
	o.mu.Lock()
	buffer, waiting, closed, err := o.buffer, o.urgent, o.closed, o.err
	o.buffer, o.urgent = o.spare[:0], nil
	f := o.last()
	f.size += int64(len(buffer))
	full := f.size >= o.rotateAt
	if full && err == nil {
		// Whatever comes from now on is of the next file.
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

// fail keeps the first error: from then on nothing is stored. A log that was not
// written whole must not be written behind.
func (o *outbox) fail(err error) {
	if err == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = fmt.Errorf("the webhook store %s cannot be written: %w", o.dir, err)
	}
}

func (o *outbox) flush(buffer []byte, sync bool) error {
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
func (o *outbox) rotate() error {
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

// create makes a file, and makes sure that its name is on disk.
func (o *outbox) create(file *logFile) (*os.File, error) {
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

// takeFinished takes the first files out of the log, as long as nothing in them is
// pending, and returns their names. A file in the middle stays: what it says of
// deliveries before it still counts.
func (o *outbox) takeFinished() (names []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.files) > 1 && o.files[0].pending == 0 {
		names = append(names, o.path(o.files[0]))
		o.files = slices.Clone(o.files[1:])
	}
	return names
}

// drop has the files removed that are finished. It waits for none of them.
func (o *outbox) drop() {
	names := o.takeFinished()
	o.mu.Lock()
	o.finished = append(o.finished, names...)
	o.mu.Unlock()
	select {
	case o.unlisted <- struct{}{}:
	default: // the remover is called already
	}
}

// remove is the goroutine that removes files, the first ones first: for a large one
// a disk takes as long as for a thousand deliveries.
func (o *outbox) remove() {
	defer close(o.removed)
	for range o.unlisted {
		o.mu.Lock()
		names := o.finished
		o.finished = nil
		o.mu.Unlock()
		for _, name := range names {
			o.fail(os.Remove(name))
		}
	}
}

// tidy gives room back: the first files go when nothing in them is pending, and
// what is pending of the first is written anew as long as the log takes far more
// room than what is pending needs. It tells whether the end came meanwhile.
func (o *outbox) tidy() (ended bool, err error) {
	o.drop()
	for o.wasteful() {
		first := o.files[0] // the committer alone takes files away
		if ended, err = o.rewrite(first); ended || err != nil {
			return ended, err
		}
		if ended, _ = o.write(true); ended { // before the file goes
			return true, nil
		}
		if err := o.rewritten(first); err != nil {
			return false, err
		}
		o.drop()
	}
	return false, nil
}

// rewritten tells what kept a file from being written anew.
func (o *outbox) rewritten(f *logFile) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil && f.pending > 0 {
		return fmt.Errorf("%d deliveries cannot be read back from %s", f.pending, o.path(f))
	}
	return o.err
}

// piece is how much of a file is read between two looks at who waits, in bytes. It
// grows with records that are larger.
const piece = 1 << 20

// rewrite writes what is pending of a file anew, piece by piece, so that who stores
// meanwhile waits for one of them only, and tells whether the end came meanwhile.
// What cannot be read is found pending afterwards.
func (o *outbox) rewrite(from *logFile) (ended bool, err error) {
	f, err := os.Open(o.path(from))
	if err != nil {
		return false, err
	}
	defer f.Close()
	room := make([]byte, piece)
	for offset := int64(0); !ended; {
		n, err := f.ReadAt(room, offset)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		read := o.renew(room[:n], from)
		offset += int64(read)
		switch {
		case read > 0:
			ended, _ = o.write(false)
		case n < len(room):
			return false, nil
		default:
			room = make([]byte, 2*len(room))
		}
	}
	return true, nil
}

// renew puts into the buffer what is pending of a piece of a file, and returns how
// much of the piece is whole records. It reads without the lock, which those who
// store need.
func (o *outbox) renew(log []byte, from *logFile) (read int) {
	var found []stored
	for {
		body, rest, ok := from.marker.cutRecord(log[read:])
		if !ok {
			break
		}
		read = len(log) - len(rest)
		if kind, s, err := readRecord(body); err == nil && kind == accepted {
			found = append(found, s)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range found {
		if o.where[found[i].id] == from.number {
			from.pending--
			o.add(&found[i])
		}
	}
	return read
}

// wasteful tells whether the first file is to be written anew.
func (o *outbox) wasteful() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	var total, pending int64
	for _, f := range o.files {
		total += f.size
		if f.stored > 0 {
			pending += f.size / int64(f.stored) * int64(f.pending)
		}
	}
	return len(o.files) > 1 && total > o.allowed+4*pending
}

// close writes what is left and gives the directory free.
func (o *outbox) close() error {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.call()
	<-o.ended
	o.mu.Lock()
	err := o.err
	if err == nil {
		o.err = errStoreClosed
	}
	o.mu.Unlock()
	return errors.Join(err, o.out.Close(), o.lock.Close())
}
