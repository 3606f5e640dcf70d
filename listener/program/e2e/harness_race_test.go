//go:build race

package e2e_test

// Race reports whether the tests and the program run with the race detector.
const Race = true
