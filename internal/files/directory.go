package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Look contains the metadata of a file. Info is nil if the file does not exist or cannot be
// examined. If Listed is set, the directory lists the file anyway, as it does for a dangling link.
type Look struct {
	Info   fs.FileInfo
	Listed bool
}

// LookAt returns the metadata of a file, or of the target of a link.
func LookAt(name string) Look {
	info, _ := os.Stat(name) // nil after an error
	return Look{Info: info}
}

// Beside returns the path of a file. A relative name stands for the file in dir or, if only the
// working directory contains such a file, for the file there.
func Beside(dir, name string) string {
	path := filepath.FromSlash(name)
	if filepath.IsAbs(path) {
		return path
	}
	near := filepath.Join(dir, path)
	if LookAt(near).Info == nil && LookAt(path).Info != nil {
		return path
	}
	return near
}

// Same reports whether l and m show the same file, unchanged.
func (l Look) Same(m Look) bool {
	if l.Info == nil || m.Info == nil {
		return l.Info == nil && m.Info == nil && l.Listed == m.Listed
	}
	return Same(l.Info, m.Info) && l.Info.Mode() == m.Info.Mode()
}

// Same reports whether a and b show the same file with the same content, judged by its metadata.
func Same(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && changed(a).Equal(changed(b))
}

// Member is a file of a directory, as it was read.
type Member struct {
	Path string
	Data []byte
	Err  error
	look Look // metadata from before the file was read
}

// directoryTries is the maximum number of times that a directory is read if it changes during each
// read.
const directoryTries = 5

// ReadDirectory reads the files that list returns, all as of the same time: if a file was added,
// removed or changed in the meantime, as when a mounted ConfigMap is swapped, it starts again. If
// the directory keeps changing, it returns what it read last. The error comes from list.
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

// unchanged reports whether a directory and its files have not changed since they were read.
func unchanged(list func() ([]string, error), members []Member) bool {
	paths, err := list()
	return err == nil && slices.EqualFunc(paths, members, func(path string, m Member) bool {
		return path == m.Path && LookAt(path).Same(m.look)
	})
}
