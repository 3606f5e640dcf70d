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

	"mockserver/internal/list"
	"mockserver/internal/wording"
)

// withSubdirectories is the suffix of the name of a directory that is read with its subdirectories.
const withSubdirectories = "..."

// maxDirectories is the maximum number of directories that one name includes. All of them are
// listed repeatedly to detect changes, and /... is most likely a typo.
const maxDirectories = 1000

// Directory returns the directory that a name refers to, "conf" for "conf/...", and whether its
// subdirectories are also read.
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

// IsListed reports whether a name refers to the files in a directory.
func IsListed(name string) bool {
	_, all := Directory(name)
	return all || isDirectory(name)
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// LeftOut contains the parts of a directory that are not read, although the user may expect them to
// be.
type LeftOut struct {
	Directory      string   // as given
	Subdirectories []string // empty if they are read
	Hidden         []string // files that would be read if their names did not begin with a dot
}

// String describes what was left out, in one line.
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

// firstOf lists the first few names, and how many more there are.
func firstOf(names []string) string {
	const most = 5
	shown := list.Map(names[:min(most, len(names))], wording.Label)
	if more := len(names) - len(shown); more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(shown, ", "), more)
	}
	return strings.Join(shown, ", ")
}

// List returns the paths of the files in a directory that are read, in byte order of their names,
// or, with subdirectories, in byte order of their paths. reads reports whether a file with a given
// name is read. Files hidden by a leading dot are omitted; they include the parts of a mounted
// ConfigMap and the swap files of editors. A symbolic link in the result may still lead to a
// directory.
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
	all   bool // include the files of its subdirectories
	reads func(name string) bool
	left  LeftOut
	files []string
	links []string      // links to directories, which are listed after the directory itself
	seen  []fs.FileInfo // the directories listed so far; each is listed only once, since links may form a cycle
}

func (l *lister) list(dir string) error {
	if l.all {
		switch again, err := l.again(dir); {
		case errors.Is(err, fs.ErrNotExist) && len(l.seen) > 0: // it was removed in the meantime
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

// entry processes a directory entry that is not hidden.
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

// hide records a hidden file that would be read if it were not hidden, unless it is part of a
// mounted ConfigMap.
func (l *lister) hide(dir string, e fs.DirEntry) {
	if !e.IsDir() && !strings.HasPrefix(e.Name(), "..") && l.reads(e.Name()) {
		if path, err := filepath.Rel(l.left.Directory, filepath.Join(dir, e.Name())); err == nil {
			l.left.Hidden = append(l.left.Hidden, path)
		}
	}
}

// again records a directory, and reports whether it has already been listed.
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
