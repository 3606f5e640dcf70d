//go:build !unix

package files

import "os"

// Lock opens a file, which it creates if necessary. On this system nothing prevents another process
// from also opening the file.
func Lock(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
}
