//go:build race

package dispatcher

// raceDetector tells that every step costs ten times as much.
const raceDetector = true
