//go:build !unix

package config

import "testing"

// makePipe skips the test: this system has no named pipes in its file system.
func makePipe(t *testing.T, _ string) { t.Skip("this system has no named pipes") }
