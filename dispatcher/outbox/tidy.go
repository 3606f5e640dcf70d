package outbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// tidy frees disk space. It removes the first files if none of their entries are pending, and
// rewrites the pending entries of the first file while the log takes far more space than the
// pending entries need. It reports whether the outbox was closed in the meantime.
func (o *Outbox) tidy() (ended bool, err error) {
	o.drop()
	for o.wasteful() {
		first := o.files[0] // only the committer removes files
		if ended, err = o.rewrite(first); ended || err != nil {
			return ended, err
		}
		if ended, _ = o.write(true); ended { // before the file is removed
			return true, nil
		}
		if err := o.rewritten(first); err != nil {
			return false, err
		}
		o.drop()
	}
	return false, nil
}

// wasteful reports whether the first file should be rewritten.
func (o *Outbox) wasteful() bool {
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

// rewritten returns an error if a file could not be rewritten completely.
func (o *Outbox) rewritten(f *logFile) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil && f.pending > 0 {
		return fmt.Errorf("%d deliveries cannot be read back from %s", f.pending, o.path(f))
	}
	return o.err
}

// pieceSize is how much of a file is rewritten, in bytes, before entries that were stored in the
// meantime are written. A piece grows for larger records.
const pieceSize = 1 << 20

// rewrite appends the pending entries of a file to the log, piece by piece, so that a concurrent
// call to Store waits for one piece only. It reports whether the outbox was closed. Entries that
// cannot be read remain pending in the file.
func (o *Outbox) rewrite(from *logFile) (ended bool, err error) {
	f, err := os.Open(o.path(from))
	if err != nil {
		return false, err
	}
	defer f.Close()
	piece := make([]byte, pieceSize)
	for offset := int64(0); !ended; {
		n, err := f.ReadAt(piece, offset)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		read := o.renew(piece[:n], from)
		offset += int64(read)
		switch {
		case read > 0:
			ended, _ = o.write(false)
		case n < len(piece):
			return false, nil
		default:
			piece = make([]byte, 2*len(piece))
		}
	}
	return true, nil
}

// renew adds the pending entries of a piece of a file to the buffer, and returns how many bytes of
// the piece are complete records. It reads without holding the lock, which Store needs.
func (o *Outbox) renew(piece []byte, from *logFile) (read int) {
	var found []Entry
	for {
		body, rest, ok := from.marker.cutRecord(piece[read:])
		if !ok {
			break
		}
		read = len(piece) - len(rest)
		if kind, e, err := readRecord(body); err == nil && kind == accepted {
			found = append(found, e)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range found {
		if o.where[found[i].ID] == from.number {
			from.pending--
			o.add(&found[i])
		}
	}
	return read
}

// takeFinished removes files from the beginning of the log as long as none of their entries are
// pending, and returns their paths. The last file always stays. A file in the middle stays too,
// since it may record that entries of earlier files are done.
func (o *Outbox) takeFinished() (names []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.files) > 1 && o.files[0].pending == 0 {
		names = append(names, o.path(o.files[0]))
		o.files = slices.Clone(o.files[1:])
	}
	return names
}

// drop passes the finished files to the remover, without waiting for it.
func (o *Outbox) drop() {
	names := o.takeFinished()
	o.mu.Lock()
	o.finished = append(o.finished, names...)
	o.mu.Unlock()
	select {
	case o.unlisted <- struct{}{}:
	default: // the remover has already been signaled
	}
}

// remove is the goroutine of the remover, which removes files in order. Removing a large file can
// take as much disk time as storing a thousand entries.
func (o *Outbox) remove() {
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
