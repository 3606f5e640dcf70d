//go:build !unix

package dispatcher

import "os"

// lockFile opens the file. That no other process has it open is not looked at here.
func lockFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
}
