package files

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mockserver/internal/wording"
)

// withSubdirectories ends the name of a directory that is read with its subdirectories.
const withSubdirectories = "..."

// maxDirectories bounds how many directories one name stands for. All of them are listed
// again and again to see changes, and /... is a slip.
const maxDirectories = 1000

// Directory returns the directory that a name stands for, "conf" for "conf/...", and whether
// its subdirectories are read too.
func Directory(name string) (dir string, all bool) {
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

// IsListed reports whether a name stands for the files in a directory.
func IsListed(name string) bool {
	_, all := Directory(name)
	return all || isDirectory(name)
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// LeftOut is what of a directory is not read, though it may have been meant.
type LeftOut struct {
	Directory      string   // as it was given
	Subdirectories []string // "" where they are read
	Hidden         []string // files that would be read without the dot that they begin with
}

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

// List returns the paths of the files in a directory that are read, in byte order of their
// names, and with subdirectories in byte order of their paths. Reads reports whether a name
// is that of such a file. Files that a leading dot hides are left out, as are the parts of a
// mounted ConfigMap and the swap files of editors. A symbolic link may still turn out to
// lead to a directory.
func List(name string, reads func(name string) bool) ([]string, LeftOut, error) {
	dir, all := Directory(name)
	l := &lister{all: all, reads: reads, left: LeftOut{Directory: dir}}
	err := l.list(dir)
	for len(l.links) > 0 && err == nil {
		next := l.links[0]
		l.links = l.links[1:]
		err = l.list(next)
	}
	if all {
		slices.SortFunc(l.files, func(a, b string) int { return cmp.Compare(filepath.ToSlash(a), filepath.ToSlash(b)) })
	}
	return l.files, l.left, err
}

// lister collects the files of a directory.
type lister struct {
	all   bool // with those of its subdirectories
	reads func(name string) bool
	left  LeftOut
	files []string
	links []string      // to directories, which are listed after the directory itself
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
	case !e.IsDir() && l.reads(path):
		l.files = append(l.files, path)
	case e.IsDir() || link && isDirectory(path):
		l.left.Subdirectories = append(l.left.Subdirectories, e.Name())
	}
	return nil
}

// hide notes a hidden file that would be read if it were not hidden, unless it is a part of
// a mounted ConfigMap.
func (l *lister) hide(dir string, e fs.DirEntry) {
	if !e.IsDir() && !strings.HasPrefix(e.Name(), "..") && l.reads(e.Name()) {
		if path, err := filepath.Rel(l.left.Directory, filepath.Join(dir, e.Name())); err == nil {
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
