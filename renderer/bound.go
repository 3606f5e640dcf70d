package renderer

import (
	"errors"
	"time"

	"mockserver/matcher"
	"mockserver/renderer/value"
)

// The reasons why rendering stops early: see matcher.Request.Stopped.
var (
	ErrTooLarge = value.ErrTooLarge
	ErrTooLong  = errors.New("the loops of a template have more than 20,000,000 iterations, or read as much")
	ErrLeft     = errors.New("the client left while a template was rendered")
)

// work limits the cost of the loops of a rendering, regardless of their output. Its unit is one
// iteration, or workUnit bytes that are read.
type work struct {
	done     int
	unlooked int // work since the last check, including written text
	looked   time.Time
}

const (
	workUnit = 64 // bytes
	maxWork  = 20_000_000
	// lookEvery is the amount of work between two checks, and leftEvery the time between two checks
	// of whether the client has left.
	lookEvery = 1 << 14
	leftEvery = 100 * time.Millisecond
)

// look returns why rendering must stop; nil if it may continue.
func (w *work) look(r *matcher.Request) error {
	w.unlooked = 0
	now := time.Now()
	switch {
	case w.done > maxWork:
		return ErrTooLong
	case w.looked.IsZero():
		w.looked = now // rendering has only begun
	case now.Sub(w.looked) >= leftEvery:
		if r.Left() {
			return ErrLeft
		}
		w.looked = time.Now()
	}
	return nil
}
