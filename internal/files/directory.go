package files

import (
	"errors"
	"io/fs"
	"os"
	"slices"
)

// Look is what a file looks like from outside. A nil Info is a file that does not exist or
// cannot be asked. One that was Listed is there all the same, as a dangling link is.
type Look struct {
	Info   fs.FileInfo
	Listed bool
}

// LookAt looks at a file, or at what a link leads to.
func LookAt(name string) Look {
	info, err := os.Stat(name)
	if err != nil {
		return Look{}
	}
	return Look{Info: info}
}

// Same reports whether two looks show the same file, unchanged.
func (l Look) Same(m Look) bool {
	if l.Info == nil || m.Info == nil {
		return l.Info == nil && m.Info == nil && l.Listed == m.Listed
	}
	return os.SameFile(l.Info, m.Info) && l.Info.Size() == m.Info.Size() &&
		l.Info.Mode() == m.Info.Mode() && l.Info.ModTime().Equal(m.Info.ModTime())
}

// Member is a file of a directory, as it was read.
type Member struct {
	Path string
	Data []byte
	Err  error
	look Look // before it was read
}

// directoryTries bounds how often a directory is read that changes meanwhile.
const directoryTries = 5

// ReadDirectory reads the files that list names, all as of one time: when one of them came,
// went or changed meanwhile, as when a mounted ConfigMap is swapped, it begins anew. Of a
// directory that keeps changing it returns what it read last. The error is that of list.
func ReadDirectory(list func() ([]string, error), read func(path string) ([]byte, error)) ([]Member, error) {
	var members []Member
	for range directoryTries {
		paths, err := list()
		if err != nil {
			return nil, err
		}
		members = members[:0]
		for _, path := range paths {
			m := Member{Path: path, look: LookAt(path)}
			m.Data, m.Err = read(path)
			members = append(members, m)
		}
		if unchanged(list, members) {
			break
		}
	}
	return slices.DeleteFunc(members, func(m Member) bool { return errors.Is(m.Err, ErrDirectory) }), nil
}

// unchanged reports whether a directory and its files are still what was read.
func unchanged(list func() ([]string, error), members []Member) bool {
	paths, err := list()
	return err == nil && slices.EqualFunc(paths, members, func(path string, m Member) bool {
		return path == m.Path && LookAt(path).Same(m.look)
	})
}
