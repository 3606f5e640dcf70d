//go:build !unix

package e2e_test

import "testing"

// MakePipe skips the test: this system has no named pipes in its file system.
func MakePipe(t *testing.T, _ string) { t.Skip("this system has no named pipes") }

const executable = ".exe"

// lock does nothing on this system: each package of a run may build the program again.
func lock(string) (unlock func(), err error) { return func() {}, nil }
