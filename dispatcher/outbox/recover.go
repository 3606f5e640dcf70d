package outbox

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
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mockserver/internal/files"
)

// Open opens the store in a directory, which it creates if necessary. It returns the store and the
// entries that were pending, the earliest due first. If a file is damaged or missing, all files are
// renamed and set aside, after everything that can be read from them is safe in a new file.
func Open(dir string, log *slog.Logger) (*Outbox, []Entry, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("open the webhook store: %w", err)
	}
	lock, err := files.Lock(filepath.Join(dir, "lock"))
	if errors.Is(err, files.ErrLocked) {
		err = ErrLocked
	}
	if err != nil {
		return nil, nil, fmt.Errorf("open the webhook store %s: %w", dir, err)
	}
	o := &Outbox{
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

// recovery is the result of reading the log.
type recovery struct {
	pending  map[uint64]Entry
	webhooks map[string][]byte // by content: most entries have the same
	damaged  bool
}

// recover reads the log and begins a new file, because the end of the last one may be incomplete.
func (o *Outbox) recover(log *slog.Logger) ([]Entry, error) {
	files, err := o.list()
	if err != nil {
		return nil, err
	}
	found := recovery{pending: map[uint64]Entry{}, webhooks: map[string][]byte{}}
	next := uint32(1)
	for i, f := range files {
		if err := o.read(f, i == len(files)-1, &found, log); err != nil {
			return nil, err
		}
		next = f.number + 1
	}
	// IDs must not be reused, even if the old ones can no longer be read, since targets see them.
	o.id = rand.Uint64()>>1 + 1
	for i, f := range o.files {
		if f.number != o.files[0].number+uint32(i) { // a file is missing, which counts as damage
			found.damaged = true
		}
	}
	o.files = append(o.files, newLogFile(next))
	if o.out, err = o.create(o.last()); err != nil {
		return nil, err
	}
	if found.damaged {
		err = o.setAside(&found, log)
	} else {
		for _, name := range o.takeFinished() {
			err = errors.Join(err, os.Remove(name))
		}
	}
	pending := slices.SortedFunc(maps.Values(found.pending), func(a, b Entry) int { return a.Due.Compare(b.Due) })
	return pending, err
}

// unmarked matches the name of a file in another format.
var unmarked = regexp.MustCompile(`^[0-9a-f]{8}\.log$`)

// list lists the files of the log.
func (o *Outbox) list() (files []*logFile, err error) {
	entries, err := os.ReadDir(o.dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if unmarked.MatchString(e.Name()) {
			return nil, fmt.Errorf("%s was written by an unknown version of this program; move it elsewhere", e.Name())
		}
		name, mark, _ := strings.Cut(strings.TrimSuffix(e.Name(), ".log"), "-")
		n, err := strconv.ParseUint(name, 16, 32)
		f := logFile{number: uint32(n)}
		if f.marker, _ = hex.DecodeString(mark); err == nil && len(f.marker) == markerSize && f.name() == e.Name() {
			files = append(files, &f)
		}
	}
	slices.SortStableFunc(files, func(a, b *logFile) int { return cmp.Compare(a.number, b.number) })
	return files, nil
}

// read reads one file, and logs what cannot be read. It removes an incomplete record at the end of
// the last file.
func (o *Outbox) read(f *logFile, last bool, into *recovery, log *slog.Logger) error {
	data, err := os.ReadFile(o.path(f))
	if err != nil {
		return err
	}
	f.size = int64(len(data))
	o.files = append(o.files, f)
	end, lost := f.marker.scan(data, func(kind byte, e Entry) { o.enter(kind, e, f, into) })
	rest := data[end:]
	switch {
	case len(rest) == 0:
	case last && f.marker.isTorn(rest):
		// At the next start this file will not be the last one, and an incomplete end would count
		// as damage.
		if err := os.Truncate(o.path(f), int64(end)); err != nil {
			return err
		}
		f.size = int64(end)
		log.Warn("the webhook store ends with an incomplete record, as after a crash; the record is skipped",
			"file", o.path(f), "bytes", len(rest))
	default:
		lost.add(f.marker, end, rest)
	}
	if lost.bytes > 0 {
		log.Error("the webhook store is damaged: records are lost",
			"file", o.path(f), "offset", lost.offset, "bytes", lost.bytes, "records", lost.records, "places", lost.places)
		into.damaged = true
		o.Lost += int64(lost.records)
	}
	return nil
}

// enter processes one record of a file.
func (o *Outbox) enter(kind byte, e Entry, f *logFile, into *recovery) {
	if number, ok := o.where[e.ID]; ok { // the entry is done, or was rewritten
		for _, before := range o.files {
			if before.number == number {
				before.pending--
			}
		}
		delete(o.where, e.ID)
		delete(into.pending, e.ID)
	}
	if kind != accepted {
		return
	}
	f.stored++
	f.pending++
	o.where[e.ID] = f.number
	e.Parts = bytes.Clone(e.Parts) // so that the content of the file does not stay in memory
	if into.webhooks[string(e.Webhook)] == nil {
		into.webhooks[string(e.Webhook)] = bytes.Clone(e.Webhook)
	}
	e.Webhook = into.webhooks[string(e.Webhook)]
	into.pending[e.ID] = e
}

// setAside rewrites the entries that could be read to a new file, and removes the old files from
// the log, but not from the disk.
func (o *Outbox) setAside(found *recovery, log *slog.Logger) error {
	for _, id := range slices.Sorted(maps.Keys(found.pending)) {
		e := found.pending[id]
		o.add(&e)
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
