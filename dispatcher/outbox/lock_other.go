//go:build !unix

package outbox

import "os"

// lockFile opens the file. On this system nothing prevents another process from opening it too.
func lockFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
}
