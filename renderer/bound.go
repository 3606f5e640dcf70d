package renderer

import (
	"errors"
	"time"

	"mockserver/matcher"
)

// Why rendering stops before its end: see matcher.Request.Stopped.
var (
	ErrTooLarge = errors.New("a text that a template makes is larger than it may be")
	ErrTooLong  = errors.New("the loops of a template turn more than 20,000,000 times, or read as much")
	ErrLeft     = errors.New("the client left while a template was rendered")
)

// work bounds what the loops of a rendering cost, whatever they write. Its unit is a turn,
// or so many bytes that are read.
type work struct {
	done     int
	unlooked int // since was last looked whether to go on, with what was written
	looked   time.Time
}

const (
	workUnit = 64 // bytes
	maxWork  = 20_000_000
	// lookEvery is after how much work it is looked whether to go on, and leftEvery how
	// often the client is looked for.
	lookEvery = 1 << 14
	leftEvery = 100 * time.Millisecond
)

// spend counts a turn, or another step that reads so many bytes. Without loops, where
// there is no frame, each step is done once.
func (fr *frame) spend(bytes int, r *matcher.Request) {
	if fr == nil {
		return
	}
	units := 1 + bytes/workUnit
	fr.work.done += units
	fr.work.unlooked += units
	if fr.work.unlooked >= lookEvery && r.Stopped == nil {
		r.Stopped = fr.work.look(r)
	}
}

// look says why rendering is not to go on; nil lets it.
func (w *work) look(r *matcher.Request) error {
	w.unlooked = 0
	now := time.Now()
	switch {
	case w.done > maxWork:
		return ErrTooLong
	case w.looked.IsZero():
		w.looked = now // it has only begun
	case now.Sub(w.looked) >= leftEvery:
		if r.Left() {
			return ErrLeft
		}
		w.looked = time.Now()
	}
	return nil
}

// most is how large a text may become that is rendered for r, in bytes.
func most(r *matcher.Request) int {
	if r.MaxText > 0 {
		return r.MaxText
	}
	return matcher.DefaultMaxText
}
