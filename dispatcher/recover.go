package dispatcher

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// openOutbox opens the store in a directory, which is made when there is none, and
// returns it with what was pending in it, the earliest due first. A damaged file is
// set aside under another name, once what can be read of it is safe elsewhere.
func openOutbox(dir string, log *slog.Logger) (*outbox, []stored, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("open the webhook store: %w", err)
	}
	lock, err := lockFile(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, nil, fmt.Errorf("open the webhook store %s: %w", dir, err)
	}
	o := &outbox{
		dir:      dir,
		lock:     lock,
		sync:     (*os.File).Sync,
		rotateAt: rotateAt,
		allowed:  spaceAllowed,
		where:    map[uint64]uint32{},
		bell:     make(chan struct{}, 1),
		ended:    make(chan struct{}),
		unlisted: make(chan struct{}, 1),
		removed:  make(chan struct{}),
	}
	pending, err := o.recover(log)
	if err != nil {
		return nil, nil, fmt.Errorf("open the webhook store %s: %w", dir, errors.Join(err, lock.Close()))
	}
	go o.remove()
	go o.commit()
	return o, pending, nil
}

// recovery is what reading the log of a store finds.
type recovery struct {
	pending map[uint64]stored
	damaged []*logFile
}

// recover reads the log, and begins a new file behind it: the end of the last one
// may be torn.
func (o *outbox) recover(log *slog.Logger) ([]stored, error) {
	files, err := o.list()
	if err != nil {
		return nil, err
	}
	found := recovery{pending: map[uint64]stored{}}
	next := uint32(1)
	for i, f := range files {
		if err := o.read(f, i == len(files)-1, &found, log); err != nil {
			return nil, err
		}
		next = f.number + 1
	}
	o.id = rand.Uint64()>>1 + 1 // none that was given before, whatever of that can be read: targets go by them
	for i := range o.files {    // numbers that are missing between, as after a damaged file
		if o.files[i].number != o.files[0].number+uint32(i) {
			found.damaged = slices.Clone(o.files)
			break
		}
	}
	o.files = append(o.files, newLogFile(next))
	if o.out, err = o.create(o.last()); err != nil {
		return nil, err
	}
	if len(found.damaged) > 0 {
		err = o.setAside(&found, log)
	} else {
		for _, name := range o.takeFinished() {
			err = errors.Join(err, os.Remove(name))
		}
	}
	pending := make([]stored, 0, len(found.pending))
	for _, s := range found.pending {
		pending = append(pending, s)
	}
	slices.SortFunc(pending, func(a, b stored) int { return a.due.Compare(b.due) })
	return pending, err
}

// list lists the files of the log.
func (o *outbox) list() (files []*logFile, err error) {
	entries, err := os.ReadDir(o.dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		var f logFile
		name, mark, _ := strings.Cut(strings.TrimSuffix(e.Name(), ".log"), "-")
		n, err := strconv.ParseUint(name, 16, 32)
		f.number = uint32(n)
		if f.marker, _ = hex.DecodeString(mark); err == nil && (mark == "" || len(f.marker) == markerSize) && f.name() == e.Name() {
			files = append(files, &f)
		}
	}
	slices.SortStableFunc(files, func(a, b *logFile) int { return cmp.Compare(a.number, b.number) })
	return files, nil
}

// read reads one file.
func (o *outbox) read(f *logFile, last bool, into *recovery, log *slog.Logger) error {
	data, err := os.ReadFile(o.path(f))
	if err != nil {
		return err
	}
	f.size = int64(len(data))
	o.files = append(o.files, f)
	end, lost := f.marker.scan(data, func(kind byte, s stored) { o.enter(kind, s, f, into) })
	rest := data[end:]
	switch {
	case len(rest) == 0:
	case last && f.marker.isTorn(rest):
		// The next time this file is not the last, and its end would be damage.
		if err := os.Truncate(o.path(f), int64(end)); err != nil {
			return err
		}
		f.size = int64(end)
		log.Warn("the webhook store ends in a record that is not whole, as after a crash: it is left out",
			"file", o.path(f), "bytes", len(rest))
	default:
		lost.add(f.marker, end, rest)
	}
	if lost.bytes > 0 {
		log.Error("the webhook store is damaged: records are lost",
			"file", o.path(f), "offset", lost.offset, "bytes", lost.bytes, "records", lost.records, "places", lost.places)
		into.damaged = append(into.damaged, f)
		o.lost += int64(lost.records)
	}
	return nil
}

// loss is what cannot be read of a file.
type loss struct {
	offset  int // of the first of it
	bytes   int
	records int // at least
	places  int
}

// add adds a part that no record can be read of. A record begins there, and others where
// their markers stand.
func (l *loss) add(m marker, offset int, part []byte) {
	if l.bytes == 0 {
		l.offset = offset
	}
	l.bytes += len(part)
	l.places++
	l.records++
	if len(m) > 0 {
		l.records += bytes.Count(part[1:], m)
	}
}

// scan takes the records of a file one after the other. Where none can be read it goes
// on with the next that can, which only a file with a marker tells for sure. It returns
// how much of the file was read, up to the end of the last record, and what was passed
// over.
//
// Each byte is summed twice at most: what begins with a marker and a sound head is as
// long as it says.
func (m marker) scan(log []byte, take func(kind byte, s stored)) (end int, passed loss) {
	for at := 0; ; {
		kind, s, size := m.readAt(log[at:])
		if size > 0 {
			if at > end {
				passed.add(m, end, log[end:at])
			}
			take(kind, s)
			at += size
			end = at
			continue
		}
		if len(m) == 0 || at == len(log) {
			return end, passed
		}
		next := bytes.Index(log[at+1:], m)
		if next < 0 {
			return end, passed
		}
		at += 1 + next
	}
}

// readAt reads the first record of a log, and returns its size, head included; 0 when no
// sound one stands there.
func (m marker) readAt(log []byte) (kind byte, s stored, size int) {
	body, rest, ok := m.cutRecord(log)
	if !ok {
		return 0, stored{}, 0
	}
	kind, s, err := readRecord(body)
	if err != nil {
		return 0, stored{}, 0
	}
	return kind, s, len(log) - len(rest)
}

// enter takes one record.
func (o *outbox) enter(kind byte, s stored, f *logFile, into *recovery) {
	if number, ok := o.where[s.id]; ok { // done, or written anew
		for _, before := range o.files {
			if before.number == number {
				before.pending--
			}
		}
		delete(o.where, s.id)
		delete(into.pending, s.id)
	}
	if kind != accepted {
		return
	}
	f.stored++
	f.pending++
	o.where[s.id] = f.number
	into.pending[s.id] = s
}

// isTorn reports whether the end of a log, which no record can be read of, is what is left
// of one whose writing was broken off: its beginning, or the zeros of a file whose length
// was written before its content. Anything else is taken for damage, which loses nothing.
func (m marker) isTorn(end []byte) bool {
	if len(m) == 0 { // its heads have no checksums
		follows, _ := recordFollows(end)
		return !follows
	}
	if len(end) < m.head() {
		return bytes.HasPrefix(end, m) || bytes.HasPrefix(m, end) || isZero(end)
	}
	n, ok := m.saidSize(end)
	return ok && n > len(end)-m.head() || isZero(end)
}

func isZero(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }

// recordFollows tells of a file without a marker whether a sound record stands behind the
// first byte, or may.
// What was torn may hold much that looks like the head of a record, so no more bytes
// are summed than maxSummed allows. What is not known then is taken for damage,
// which loses nothing. summed is how many there were, for tests.
func recordFollows(rest []byte) (follows bool, summed int) {
	var old marker
	for i := 1; i < len(rest); i++ {
		if len(rest) < i+old.head()+1 {
			break
		}
		if kind := rest[i+old.head()]; kind != accepted && kind != done {
			continue
		}
		size, ok := old.bodySize(rest[i:])
		if !ok {
			continue
		}
		if summed+size > maxSummed(len(rest)) {
			return true, summed
		}
		summed += size
		if _, _, ok := old.cutRecord(rest[i:]); ok {
			return true, summed
		}
	}
	return false, summed
}

// maxSummed is how many bytes are summed to tell what so many are.
func maxSummed(rest int) int { return max(16*rest, 64<<10) }

// setAside writes what could be read of damaged files anew and takes them out of
// the log, but not off the disk.
func (o *outbox) setAside(found *recovery, log *slog.Logger) error {
	for _, id := range slices.Sorted(maps.Keys(found.pending)) {
		s := found.pending[id]
		o.add(&s)
	}
	o.last().size = int64(len(o.buffer))
	if err := o.flush(o.buffer, true); err != nil {
		return err
	}
	o.buffer = nil
	for _, f := range o.files[:len(o.files)-1] {
		aside := o.path(f) + ".damaged"
		if err := os.Rename(o.path(f), aside); err != nil {
			return err
		}
		log.Error("a file of the webhook store was set aside", "file", aside)
	}
	o.files = o.files[len(o.files)-1:]
	return syncDir(o.dir)
}
