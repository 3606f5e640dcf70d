package bench

import (
	"fmt"
	"os"
	"path/filepath"
)

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
