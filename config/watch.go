package config

import (
	"context"
	"crypto/sha256"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"
)

// Watcher tells of changes to files.
//
// Files are polled rather than waited for, because bind mounts and network file
// systems send no events; symlinks are followed, so the swap of a mounted
// ConfigMap is seen. A change counts once the file has looked the same at two
// polls, for editors truncate first and write then; and only when what it holds
// differs. Appearing, disappearing and becoming unreadable are changes.
//
// Its methods may be called at the same time.
type Watcher struct {
	names func() []string
	mu    sync.Mutex // guards files, and keeps the looks at them apart
	files map[string]*watched
}

// NewWatcher looks at the files for the first time: changes count from now on.
// Make it before the files are read, so that no change is missed.
//
// It asks names at each look, so the set may change: from when a name is first
// seen in the set its changes count, and no longer than it stays there. A file
// that is missing or cannot be read may be named; that it comes is a change. Names
// is called by one goroutine at a time, that of Run or of a caller of Refresh; it
// must not call the watcher.
func NewWatcher(names func() []string) *Watcher {
	w := &Watcher{names: names}
	w.step(time.Now())
	return w
}

// Run polls every interval and calls changed after each change, until ctx ends.
func (w *Watcher) Run(ctx context.Context, interval time.Duration, changed func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if w.step(time.Now()) {
			changed()
		}
	}
}

// Refresh forgets the changes that have not been told yet: changes count from now
// on. It is for files that are about to be read for another reason than a change,
// so that they are not read a second time. Call it before they are read, so that
// what changes meanwhile is told. A change that Run is telling at the time, or has
// told, is not taken back.
func (w *Watcher) Refresh() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.files = nil
	w.look(time.Now())
}

// watched is one file.
type watched struct {
	last  look      // at the last poll
	known look      // when its content was read
	read  time.Time // when that was
	holds content
}

// look is what a file looks like from outside; a nil info is a file that is not
// there, or cannot be asked.
type look struct{ info fs.FileInfo }

// content is what a file holds: the hash of its bytes, or that there are none to
// be had.
type content struct {
	readable bool
	hash     [sha256.Size]byte
}

func (l look) same(m look) bool {
	if l.info == nil || m.info == nil {
		return l.info == nil && m.info == nil
	}
	return os.SameFile(l.info, m.info) && l.info.Size() == m.info.Size() &&
		l.info.Mode() == m.info.Mode() && l.info.ModTime().Equal(m.info.ModTime())
}

func lookAt(name string) look {
	info, err := os.Stat(name)
	if err != nil {
		return look{}
	}
	return look{info}
}

// contentOf hashes a regular file.
func contentOf(name string) content {
	f, _, err := OpenRegular(name)
	if err != nil {
		return content{}
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxFileSize+1)); err != nil {
		return content{}
	}
	c := content{readable: true}
	h.Sum(c.hash[:0])
	return c
}

// step is look, one at a time.
func (w *Watcher) step(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.look(now)
}

// look polls the files once and tells whether one has changed since it was last
// said to. A file not polled before is taken as it is.
func (w *Watcher) look(now time.Time) bool {
	names := w.names()
	polled := make(map[string]*watched, len(names))
	changed := false
	for _, name := range names {
		if polled[name] != nil {
			continue
		}
		l := lookAt(name)
		f := w.files[name]
		if f == nil {
			f = &watched{last: l, known: l, read: now, holds: contentOf(name)}
		} else if f.poll(name, l, now) {
			changed = true
		}
		polled[name] = f
	}
	w.files = polled
	return changed
}

// settling is how coarse a file system's times may be: a file that was read so
// soon after its time could be written again without looking different.
const settling = 2 * time.Second

// poll takes another look and tells whether the file holds something else.
func (f *watched) poll(name string, l look, now time.Time) bool {
	stable := l.same(f.last)
	f.last = l
	if !stable {
		return false
	}
	certain := l.info == nil || f.holds.readable && f.read.Sub(l.info.ModTime()).Abs() > settling
	if certain && l.same(f.known) {
		return false
	}
	holds := contentOf(name)
	f.known, f.read = l, now
	if holds == f.holds {
		return false
	}
	f.holds = holds
	return true
}
