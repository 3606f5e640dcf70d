//go:build !unix

package files

import "os"

// openFlags are the flags for opening a file. On this system opening a file does not block.
const openFlags = os.O_RDONLY
