package imports

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"mockserver/config/imports/draft"
	"mockserver/internal/files"
)

// Name is the name of the configuration that Write writes.
const Name = "mocks.yml"

// Archive writes the configuration and its files as a ZIP archive.
func Archive(w io.Writer, d *draft.Draft) error {
	z := zip.NewWriter(w)
	for _, f := range append([]draft.File{{Name: Name, Write: d.Write}}, d.Files...) {
		entry, err := z.Create(f.Name)
		if err == nil {
			err = f.Content(entry)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return z.Close()
}

// Write writes the configuration and its files to a directory, which it creates. Without force, a
// file that exists is an error, and nothing is written.
func Write(d *draft.Draft, dir string, force bool) error {
	all := append([]draft.File{{Name: Name, Write: d.Write}}, d.Files...)
	for _, f := range all {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if !filepath.IsLocal(filepath.FromSlash(f.Name)) {
			return fmt.Errorf("%s: the name leads out of the directory", f.Name)
		}
		if _, err := os.Lstat(path); !force && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: already exists; --force overwrites it", path)
		}
	}
	for i := len(all) - 1; i >= 0; i-- { // the configuration comes last: it refers to the other files
		f := all[i]
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		err := os.MkdirAll(filepath.Dir(path), 0o777)
		if err == nil {
			err = files.Replace(path, false, f.Content)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, files.Bare(err))
		}
	}
	return nil
}
