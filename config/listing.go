package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mockserver/config/syntax"
	"mockserver/internal/wording"
)

// withSubdirectories ends the name of a directory that is read with its subdirectories.
const withSubdirectories = "..."

// maxDirectories bounds how many directories one name stands for: all of them are listed
// again and again to see changes, and /... is a slip.
const maxDirectories = 1000

// directoryIn is the directory that a name stands for, "conf" of "conf/...", and whether
// its subdirectories are read too.
func directoryIn(name string) (dir string, all bool) {
	dir, all = strings.CutSuffix(name, withSubdirectories)
	switch {
	case !all:
		return name, false
	case dir == "":
		return ".", true
	case !os.IsPathSeparator(dir[len(dir)-1]):
		return name, false
	}
	if parent := dir[:len(dir)-1]; parent != "" && !os.IsPathSeparator(parent[len(parent)-1]) && filepath.VolumeName(parent) != parent {
		dir = parent
	}
	return dir, true
}

// LeftOut is what of a directory is not read, though it looks as if it might have been meant.
type LeftOut struct {
	Directory      string   // as it was given
	Subdirectories []string // "" where they are read
	Hidden         []string // files that would be read without the dot that they begin with
}

// LeftOut says what was not read of the directories that the spec was read from.
func (s *Spec) LeftOut() []LeftOut { return s.leftOut }

// String is one line about it.
func (l LeftOut) String() string {
	var parts []string
	if n := len(l.Subdirectories); n > 0 {
		parts = append(parts, fmt.Sprintf("subdirectories %s (%s reads them)", firstOf(l.Subdirectories), filepath.Join(l.Directory, withSubdirectories)))
	}
	if n := len(l.Hidden); n > 0 {
		parts = append(parts, "hidden files "+firstOf(l.Hidden))
	}
	return l.Directory + ": " + strings.Join(parts, "; ")
}

// firstOf lists a few names, and how many more there are.
func firstOf(names []string) string {
	const most = 5
	shown := make([]string, 0, most)
	for _, name := range names[:min(most, len(names))] {
		shown = append(shown, wording.Label(name))
	}
	if more := len(names) - len(shown); more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(shown, ", "), more)
	}
	return strings.Join(shown, ", ")
}

// listDirectory returns the paths of the files in a directory that are read as
// configurations, in byte order of their names, for one with subdirectories of their
// paths seen from it: those with an extension that is read, unless they are hidden by a
// leading dot, as the parts of a mounted ConfigMap and the swap files of editors are. A
// symbolic link may still turn out to lead to a directory.
func listDirectory(name string) ([]string, error) {
	l, err := walk(name, false)
	return l.files, err
}

// leftOut is what listDirectory leaves out.
func leftOut(name string) LeftOut {
	l, _ := walk(name, true) // that it cannot be read was said
	return l.left
}

// walk goes through a directory; note has it find out what is left out.
func walk(name string, note bool) (*lister, error) {
	dir, all := directoryIn(name)
	l := &lister{all: all, note: note, left: LeftOut{Directory: dir}}
	err := l.list(dir)
	for len(l.links) > 0 && err == nil {
		next := l.links[0]
		l.links = l.links[1:]
		err = l.list(next)
	}
	if all {
		slices.SortFunc(l.files, func(a, b string) int { return cmp.Compare(filepath.ToSlash(a), filepath.ToSlash(b)) })
	}
	return l, err
}

// lister collects the files of a directory.
type lister struct {
	all   bool // with those of its subdirectories
	note  bool // left is wanted
	left  LeftOut
	files []string
	links []string      // to directories, which are listed behind what is there itself
	seen  []fs.FileInfo // the directories, each of which is listed once: links may go around
}

func (l *lister) list(dir string) error {
	if l.all {
		switch again, err := l.again(dir); {
		case errors.Is(err, fs.ErrNotExist) && len(l.seen) > 0: // it went meanwhile
			return nil
		case again || err != nil:
			return err
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name()[0] == '.' {
			l.hide(dir, e)
		} else if err := l.entry(filepath.Join(dir, e.Name()), e); err != nil {
			return err
		}
	}
	return nil
}

// entry takes what is in a directory and not hidden.
func (l *lister) entry(path string, e fs.DirEntry) error {
	link := e.Type()&fs.ModeSymlink != 0
	switch {
	case l.all && e.IsDir():
		return l.list(path)
	case l.all && link && isDirectory(path):
		l.links = append(l.links, path)
	case !e.IsDir() && syntax.Reads(path):
		l.files = append(l.files, path)
	case l.note && (e.IsDir() || link && isDirectory(path)):
		l.left.Subdirectories = append(l.left.Subdirectories, e.Name())
	}
	return nil
}

// hide notes a hidden file that would be read if it were not, unless it is a part of a
// mounted ConfigMap.
func (l *lister) hide(dir string, e fs.DirEntry) {
	if l.note && !e.IsDir() && !strings.HasPrefix(e.Name(), "..") && syntax.Reads(e.Name()) {
		path, err := filepath.Rel(l.left.Directory, filepath.Join(dir, e.Name()))
		if err == nil {
			l.left.Hidden = append(l.left.Hidden, path)
		}
	}
}

// again notes a directory, and reports whether it was listed already.
func (l *lister) again(dir string) (bool, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(l.seen, func(s fs.FileInfo) bool { return os.SameFile(s, info) }) {
		return true, nil
	}
	if len(l.seen) == maxDirectories {
		return false, &fs.PathError{Op: "list", Path: dir, Err: fmt.Errorf("there are more than %d directories", maxDirectories)}
	}
	l.seen = append(l.seen, info)
	return false, nil
}
