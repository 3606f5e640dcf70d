package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// writeWhole writes a file so that a reader sees either all of it or its previous content.
func writeWhole(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// writable returns an error, before anything is measured, if a result could not be written to path;
// "" means no file.
func writable(path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file, so no result can be written to it", path)
	}
	dir := filepath.Dir(path)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("%s: directory %s does not exist", path, dir)
	}
	return nil
}
