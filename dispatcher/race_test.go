//go:build race

package dispatcher

// raceDetector reports whether every step costs ten times as much.
const raceDetector = true
