// Package watch detects changes to the files of a configuration.
package watch

import (
	"context"
	"crypto/sha256"
	"io"
	"slices"
	"sync"
	"time"

	"mockserver/config/syntax"
	"mockserver/internal/files"
)

// Watcher reports changes to files, and to the files in directories.
//
// Files are polled rather than waited for, because bind mounts and network file systems send no
// events; symlinks are followed, so the swap of a mounted ConfigMap is seen. A change counts once
// the file has looked the same at two polls, because editors truncate a file before they write it,
// and only when its content differs. A file that appears, disappears or becomes unreadable also
// counts as changed.
//
// The methods of a Watcher are safe for concurrent use.
type Watcher struct {
	names func() []string
	disk  disk
	mu    sync.Mutex // guards files, and makes checks exclusive
	files map[string]*watched
	moved bool // some files looked different at the last poll
}

// disk contains the functions that access files.
type disk struct {
	look func(name string) files.Look
	list func(dir string) ([]string, error)
	hash func(name string) (hash [sha256.Size]byte, ok bool)
}

// New looks at the files for the first time: changes count from now on. Call New before the files
// are read, so that no change is missed.
//
// The watcher calls names at each look, so the set may change: changes to a file count while its
// name is in the set. A file may be missing or unreadable; its appearance is a change. A directory
// may be named, as for Load: it includes the files in it that Load reads, and is listed at each
// look, so that files that appear or disappear in it count as changes. names is called by one
// goroutine at a time, that of Run or of a caller of Look or Refresh; it must not call the watcher.
func New(names func() []string) *Watcher {
	w := unlooked(names)
	w.step(time.Now())
	return w
}

// unlooked does the same as New, without the first check.
func unlooked(names func() []string) *Watcher {
	return &Watcher{names: names, disk: disk{look: files.LookAt, list: list, hash: hashFile}}
}

// Run polls every interval, or after less than half of it if files have looked different, and calls
// changed after each change, until ctx is done.
func (w *Watcher) Run(ctx context.Context, interval time.Duration, changed func()) {
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if w.step(time.Now()) {
			changed()
		}
		if w.unsettled() {
			timer.Reset(interval * 2 / 5)
		} else {
			timer.Reset(interval)
		}
	}
}

// unsettled reports whether files looked different at the last poll.
func (w *Watcher) unsettled() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.moved
}

// Look checks the files now instead of at the next poll, and reports whether there was a change. It
// is called when the set has grown, so that changes to the new files count from now on.
func (w *Watcher) Look() bool { return w.step(time.Now()) }

// Refresh discards changes that have not been reported yet: changes count from now on. It is for
// files that are about to be read for a reason other than a change, so that they are not read
// twice. Refresh must be called before they are read, so that later changes are reported. A change
// that Run is reporting, or has reported, is not taken back.
func (w *Watcher) Refresh() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.files = nil
	w.look(time.Now())
}

// watched is one file or directory.
type watched struct {
	dir   string     // the given directory that contains it; "" for one that is given itself
	last  files.Look // its look at the last poll
	known files.Look // its look when its content was read
	read  time.Time  // when the content was read
	holds content
}

// content is the content of a file: the hash of its bytes, or the fact that they are not available.
// For a directory, content says whether the directory can be listed.
type content struct {
	there    bool
	readable bool
	hash     [sha256.Size]byte
}

// list returns the files of a directory that are read.
func list(dir string) ([]string, error) {
	paths, _, err := files.List(dir, syntax.Reads)
	return paths, err
}

// hashFile hashes a regular file.
func hashFile(name string) (hash [sha256.Size]byte, ok bool) {
	f, _, err := files.Open(name)
	if err != nil {
		return hash, false
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, files.MaxSize+1)); err != nil {
		return hash, false
	}
	h.Sum(hash[:0])
	return hash, true
}

func (w *Watcher) step(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.look(now)
}

// look polls the files once and reports whether one has changed since the last reported change. A
// file that was not polled before does not count as changed, unless it has appeared in a directory
// that was polled before.
func (w *Watcher) look(now time.Time) bool {
	p := poll{disk: w.disk, now: now, before: w.files, files: make(map[string]*watched, len(w.files))}
	names := w.names()
	for _, name := range names {
		p.named(name)
	}
	for name, f := range w.files {
		if p.files[name] == nil && f.dir != "" && slices.Contains(names, f.dir) {
			p.gone(name, f)
		}
	}
	w.files, w.moved = p.files, p.moved
	return p.changed
}

// poll is one check of all files.
type poll struct {
	disk    disk
	now     time.Time
	before  map[string]*watched
	files   map[string]*watched
	changed bool
	moved   bool // a file looks different from the last poll
}

// named polls a given file or directory.
func (p *poll) named(name string) {
	dir, _ := files.Directory(name)
	l := p.disk.look(dir)
	if l.Info == nil || !l.Info.IsDir() {
		p.file(name, l, p.hold(name, l), nil)
		return
	}
	paths, err := p.disk.list(name)
	seen := p.before[name] != nil
	p.file(name, l, func() content { return content{there: true, readable: err == nil} }, nil)
	for _, path := range paths {
		l := p.disk.look(path)
		l.Listed = true
		fresh := &watched{dir: name}
		if !seen {
			fresh = nil
		}
		p.file(path, l, p.hold(path, l), fresh)
		p.files[path].dir = name
	}
}

// gone polls a file that is no longer in its directory, until its disappearance has been reported.
func (p *poll) gone(name string, f *watched) {
	l := p.disk.look(name)
	p.file(name, l, p.hold(name, l), nil)
	if f.holds == (content{}) {
		delete(p.files, name)
	}
}

// file polls a file once. A file that was not polled before counts as unchanged, unless fresh is
// given: then it is compared with fresh.
func (p *poll) file(name string, l files.Look, hold func() content, fresh *watched) {
	if p.files[name] != nil {
		return
	}
	f := p.before[name]
	if f == nil {
		f = fresh
	}
	if f == nil {
		f = &watched{last: l, known: l, read: p.now, holds: hold()}
	} else {
		p.moved = p.moved || !l.Same(f.last)
		if f.poll(l, p.now, hold) {
			p.changed = true
		}
	}
	p.files[name] = f
}

// hold returns a function that reads a file.
func (p *poll) hold(name string, l files.Look) func() content {
	return func() content {
		c := content{there: l.Info != nil || l.Listed}
		c.hash, c.readable = p.disk.hash(name)
		return c
	}
}

// settling is the coarsest resolution of file times: a file that was read so soon after its
// modification time may be written again without looking different.
const settling = 2 * time.Second

// poll checks the file again and reports whether its content has changed.
func (f *watched) poll(l files.Look, now time.Time, hold func() content) bool {
	stable := l.Same(f.last)
	f.last = l
	if !stable {
		return false
	}
	certain := l.Info == nil || f.holds.readable && f.read.Sub(l.Info.ModTime()).Abs() > settling
	if certain && l.Same(f.known) {
		return false
	}
	holds := hold()
	f.known, f.read = l, now
	if holds == f.holds {
		return false
	}
	f.holds = holds
	return true
}
