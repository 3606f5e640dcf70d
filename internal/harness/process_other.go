//go:build !unix

package harness

import "testing"

// MakePipe skips the test: this system has no named pipes in its file system.
func MakePipe(t *testing.T, _ string) { t.Skip("this system has no named pipes") }

// PeakMemory returns 0: the peak memory is unknown on this system.
func (*Process) PeakMemory() int64 { return 0 }

const executable = ".exe"

// lock does nothing on this system: each package of a run may build the program again.
func lock(string) (unlock func(), err error) { return func() {}, nil }
