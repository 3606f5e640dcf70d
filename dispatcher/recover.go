package dispatcher

import (
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
	numbers, err := o.numbers()
	if err != nil {
		return nil, err
	}
	found := recovery{pending: map[uint64]stored{}}
	next := uint32(1)
	for i, number := range numbers {
		if err := o.read(number, i == len(numbers)-1, &found, log); err != nil {
			return nil, err
		}
		next = number + 1
	}
	o.id = rand.Uint64()>>1 + 1 // none that was given before, whatever of that can be read: targets go by them
	for i := range o.files {    // numbers that are missing between, as after a damaged file
		if o.files[i].number != o.files[0].number+uint32(i) {
			found.damaged = slices.Clone(o.files)
			break
		}
	}
	if o.out, err = o.create(next); err != nil {
		return nil, err
	}
	o.files = append(o.files, &logFile{number: next})
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

// numbers lists the files of the log.
func (o *outbox) numbers() ([]uint32, error) {
	entries, err := os.ReadDir(o.dir)
	if err != nil {
		return nil, err
	}
	var numbers []uint32
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".log")
		if n, err := strconv.ParseUint(name, 16, 32); ok && err == nil && len(name) == 8 {
			numbers = append(numbers, uint32(n))
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// read reads one file.
func (o *outbox) read(number uint32, last bool, into *recovery, log *slog.Logger) error {
	data, err := os.ReadFile(o.path(number))
	if err != nil {
		return err
	}
	f := &logFile{number: number, size: int64(len(data))}
	o.files = append(o.files, f)
	rest := data
	for {
		body, after, ok := cutRecord(rest)
		if !ok {
			break
		}
		kind, s, err := readRecord(body)
		if err != nil {
			break
		}
		rest = after
		o.enter(kind, s, f, into)
	}
	switch {
	case len(rest) == 0:
	case last && isTorn(rest):
		// The next time this file is not the last, and its end would be damage.
		if err := os.Truncate(o.path(number), int64(len(data)-len(rest))); err != nil {
			return err
		}
		f.size -= int64(len(rest))
		log.Warn("the webhook store ends in a record that is not whole, as after a crash: it is left out",
			"file", o.path(number), "bytes", len(rest))
	default:
		log.Error("the webhook store is damaged: what is behind the damage in this file is lost",
			"file", o.path(number), "offset", len(data)-len(rest), "bytes", len(rest))
		into.damaged = append(into.damaged, f)
	}
	return nil
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

// isTorn tells whether what no record can be read of is the end of a log whose
// writing was broken off: no sound record follows.
func isTorn(rest []byte) bool {
	follows, _ := recordFollows(rest)
	return !follows
}

// recordFollows tells whether a sound record stands behind the first byte, or may.
// What was torn may hold much that looks like the head of a record, so no more bytes
// are summed than maxSummed allows. What is not known then is taken for damage,
// which loses nothing. summed is how many there were, for tests.
func recordFollows(rest []byte) (follows bool, summed int) {
	for i := 1; i < len(rest); i++ {
		if len(rest) < i+recordHead+1 {
			break
		}
		if kind := rest[i+recordHead]; kind != accepted && kind != done {
			continue
		}
		size, ok := bodySize(rest[i:])
		if !ok {
			continue
		}
		if summed+size > maxSummed(len(rest)) {
			return true, summed
		}
		summed += size
		if _, _, ok := cutRecord(rest[i:]); ok {
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
		aside := o.path(f.number) + ".damaged"
		if err := os.Rename(o.path(f.number), aside); err != nil {
			return err
		}
		log.Error("a file of the webhook store was set aside", "file", aside)
	}
	o.files = o.files[len(o.files)-1:]
	return syncDir(o.dir)
}
