package files

import (
	"io/fs"
	"syscall"
	"time"
)

// changed returns when the content or the metadata of a file last changed, which no program can set
// back. It is zero where the system does not tell.
func changed(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return time.Time{}
}
