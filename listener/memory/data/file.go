package data

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"mockserver/internal/files"
)

// look is the metadata of a file: what is known about the file without reading it.
type look struct{ info fs.FileInfo } // nil if there is no file

func (l look) same(m look) bool {
	if l.info == nil || m.info == nil {
		return l.info == m.info
	}
	return files.Same(l.info, m.info)
}

// still reports whether a file has not been written to for a while: it is then probably complete,
// and a later write would alter its modification time.
func (l look) still() bool { return l.info == nil || time.Since(l.info.ModTime()).Abs() > lookInterval }

// lookInterval is how often files are checked.
const lookInterval = 300 * time.Millisecond

// located returns the path of a file. A relative name stands for the file in dir or, if only the
// working directory contains such a file, for the file there.
func located(dir, file string) string {
	path := filepath.FromSlash(file)
	if filepath.IsAbs(path) {
		return path
	}
	beside := filepath.Join(dir, path)
	if _, err := os.Stat(beside); err != nil {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return beside
}
