package config

import (
	"context"
	"crypto/sha256"
	"io"
	"io/fs"
	"os"
	"time"
)

// Watcher tells of changes to files.
//
// Files are polled rather than waited for, because bind mounts and network file
// systems send no events; symlinks are followed, so the swap of a mounted
// ConfigMap is seen. A change counts once the file has looked the same at two
// polls, for editors truncate first and write then; and only when what it holds
// differs. Appearing, disappearing and becoming unreadable are changes.
type Watcher struct {
	names func() []string
	files map[string]*watched
}

// NewWatcher looks at the files for the first time: changes count from now on.
// Make it before the files are read, so that no change is missed. It asks names
// at each poll, so that a change may bring other files.
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

// contentOf hashes a regular file; a pipe would block its reader.
func contentOf(name string, l look) content {
	if l.info == nil || !l.info.Mode().IsRegular() {
		return content{}
	}
	f, err := os.Open(name)
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

// step polls the files once and tells whether one has changed since it was last
// said to. A file not polled before is taken as it is.
func (w *Watcher) step(now time.Time) bool {
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
			f = &watched{last: l, known: l, read: now, holds: contentOf(name, l)}
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
	holds := contentOf(name, l)
	f.known, f.read = l, now
	if holds == f.holds {
		return false
	}
	f.holds = holds
	return true
}
