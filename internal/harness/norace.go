//go:build !race

package harness

// Race reports whether the tests and the program run with the race detector.
const Race = false
