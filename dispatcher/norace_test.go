//go:build !race

package dispatcher

// raceDetector reports whether the race detector is on, so that every step costs ten times as much.
const raceDetector = false
