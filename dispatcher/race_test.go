//go:build race

package dispatcher

// raceDetector reports whether the race detector is on. With it, every step takes ten times as
// long.
const raceDetector = true
