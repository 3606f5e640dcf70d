//go:build !unix

package harness

import "testing"

// MakePipe skips the test: the files here include no named pipes.
func MakePipe(t *testing.T, _ string) { t.Skip("no named pipes") }

// PeakMemory is not known here.
func (*Process) PeakMemory() int64 { return 0 }

const executable = ".exe"

// lock does nothing here: each package of a run may build the program once more.
func lock(string) (unlock func(), err error) { return func() {}, nil }
