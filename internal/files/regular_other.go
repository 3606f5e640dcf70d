//go:build !unix

package files

import "os"

// openFlags: opening a file does not wait here.
const openFlags = os.O_RDONLY
